"""The Lab (app/lab/)."""

from app.lab.page import answer as answer
from app.lab.page import page as page
