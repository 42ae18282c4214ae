"""The page Findings (app/findings/). Links name it `results`."""

from app.findings.page import answer as ANSWER  # noqa: N812  # the function for the events route, as in lab.py
from app.findings.page import page as page

__all__ = ["ANSWER", "page"]
