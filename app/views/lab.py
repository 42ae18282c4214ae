"""The Lab (app/lab/)."""

from app.lab.page import answer as ANSWER  # noqa: N812  # the function for the events route
from app.lab.page import page as page

__all__ = ["ANSWER", "page"]
