"""Helpers for the tests of the whole app: its address and its text box."""

from __future__ import annotations

from urllib.parse import parse_qs, urlparse

from playwright.sync_api import Page


def query(page: Page) -> dict[str, str]:
    """Returns the parameters of the page's address."""
    return {key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()}


def type_text(page: Page, text: str, delay: int = 15) -> None:
    """Replaces the text in the box by typing, with `delay` ms between letters."""
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.press("Control+a")
    box.press_sequentially(text, delay=delay)
