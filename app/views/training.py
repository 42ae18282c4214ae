"""The page Training (app/training/)."""

from app.training.page import answer as ANSWER  # noqa: N812  # the function for the events route, as in lab.py
from app.training.page import page as page

__all__ = ["ANSWER", "page"]
