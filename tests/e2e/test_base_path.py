"""The app below a base path in a real browser: library, text box, events and health check."""

import urllib.request
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import serve
from tests.e2e.app_page import text_box

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve(STREAMLIT_SERVER_BASE_URL_PATH="lab") as its:
        yield f"{its}/lab"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def type_letter(page: Page, address: str) -> None:
    page.goto(f"{address}/?model=assignment-selective&text=a%3D1%3B+a%3D%3F")
    page.locator(".tile").first.wait_for(timeout=60_000)
    text_box(page).press("End")
    page.keyboard.press(";")
    page.wait_for_function("new URLSearchParams(location.search).get('text') === 'a=1; a=?;'")


def test_a_letter_is_answered_by_the_route_below_the_path(page: Page, address: str):
    asked: list[tuple[str, int]] = []
    page.on("response", lambda answer: asked.append((answer.url.removeprefix(address), answer.status)))
    type_letter(page, address)
    assert page.url.startswith(f"{address}/?")
    assert [status for url, status in asked if url.startswith("/lab/visits/") and url.endswith("/events")] == [200]
    assert [status for url, status in asked if url.startswith("/lab/library/")] == [200]  # preload and import share it
    with urllib.request.urlopen(f"{address}/healthz") as answer:
        assert answer.read() == b"ready\n"


def test_a_page_that_cannot_import_the_library_receives_it_from_streamlit(page: Page, address: str):
    page.route("**/lab/library/*", lambda route: route.abort())
    type_letter(page, address)
    expect(page.locator(".tile")).to_have_count(12)
