"""Starts one app for all browser tests; each test gets its own browser profile."""

from collections.abc import Callable, Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page

from app.state.lab_state import DEFAULT_MODEL
from tests.browser import serve

SCREEN = {"width": 1440, "height": 900}
PHONE = ("Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Mobile "
         "Safari/537.36")  # the identification of a phone's browser


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    with serve() as address:
        yield address


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Returns visit(**state), which opens a link in a new browser profile and waits until the Lab is drawn.
    visit(phone=True) uses the screen of a phone, and visit(first=True) opens the address without parameters. At the end
    the test fails if a page logged an error, opened a dialog, or sent a request to another host."""
    contexts, complaints = [], []

    def open_page(phone: bool = False, dark: bool = False, wait: bool = True, first: bool = False,
                  **state: str) -> Page:
        # the content security policy is bypassed, because it forbids the evaluation that Playwright's wait_for_function
        # needs
        context = browser.new_context(
            bypass_csp=True, viewport={"width": 390, "height": 844} if phone else SCREEN,
            has_touch=phone, user_agent=PHONE if phone else None, color_scheme="dark" if dark else "light",
            permissions=["clipboard-read", "clipboard-write"])
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"console: {m.text}") if m.type == "error" else None)
        page.on("pageerror", lambda e: complaints.append(f"page: {e}"))
        page.on("dialog", lambda d: (complaints.append(f"dialog: {d.message}"), d.dismiss()))
        ours = (address, "data:", "blob:", address.replace("http", "ws"))
        page.on("request", lambda r: None if r.url.startswith(ours) else complaints.append(f"asked {r.url}"))
        page.goto(address if first else f"{address}/?{urlencode(state or {'model': DEFAULT_MODEL})}")
        if wait and not first:
            page.locator('[data-part="lab"] .tile').first.wait_for(timeout=60_000)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not complaints
