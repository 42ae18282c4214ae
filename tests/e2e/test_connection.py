"""A lost connection in a real browser: the page reports it, keeps the edits, and sends them when it is back."""

import re
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser import Server, running
from tests.e2e.app_page import ACTIVE, query, text_box, tile

pytestmark = pytest.mark.browser

STATE = {"model": "assignment-selective", "text": "a=1; b=2; a=?"}
BACK = 90_000  # timeout in ms after the connection is back: Streamlit doubles the time between its attempts


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yields a separate server that a test may kill."""
    with running(Server()) as server:
        yield server


@pytest.fixture
def page(browser: Browser, server: Server) -> Iterator[Page]:
    page = browser.new_context(bypass_csp=True, viewport={"width": 1280, "height": 900}).new_page()
    page.goto(f"{server.address}/?{urlencode(STATE)}")
    tile(page, 0, 0).wait_for(timeout=60_000)
    yield page
    page.context.close()


def prune(page: Page, layer: int, head: int) -> None:
    tile(page, layer, head).click()
    page.keyboard.press("p")


def pruned(page: Page) -> Locator:
    return page.locator(".tile.pruned")


def lost(page: Page) -> Locator:
    return page.get_by_role("status").filter(has_text=re.compile("^No connection"))


def has_both(page: Page) -> None:
    """Waits until the address contains both pruned heads, and checks that all parts of the page show them."""
    page.wait_for_function("new URLSearchParams(location.search).get('plan') === 'self-0.0g0-1.1g0'", timeout=BACK)
    expect(lost(page)).to_have_count(0)
    expect(pruned(page)).to_have_count(2)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.locator(".answer .line")).to_contain_text("was")


def test_what_is_done_without_a_connection_is_sent_when_it_returns(page: Page):
    page.context.set_offline(True)
    prune(page, 0, 0)
    expect(lost(page)).to_be_visible()
    expect(page.get_by_role("button", name="Theme and type size")).to_be_in_viewport(ratio=1)
    prune(page, 1, 1)
    expect(pruned(page)).to_have_count(2)
    # the tiles show the edits; address and numbers are those of the state before, and the numbers are marked as old
    assert "plan" not in query(page)
    expect(page.locator(".old .answer .line")).not_to_contain_text("was")
    page.context.set_offline(False)
    has_both(page)


def test_without_the_route_the_events_go_through_streamlit(page: Page):
    page.route("**/events", lambda route: route.abort())
    prune(page, 0, 0)
    prune(page, 1, 1)
    has_both(page)
    page.unroute("**/events")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(pruned(page)).to_have_count(1)


def test_what_is_done_before_the_server_has_restarted_is_done_afterwards(page: Page, server: Server):
    prune(page, 0, 0)
    page.wait_for_function("location.search.includes('plan=self-0.0g0')")
    server.stop(kill=True)
    prune(page, 1, 1)
    expect(lost(page)).to_be_visible()
    server.start()
    has_both(page)


def test_typing_goes_on_while_the_server_is_away(browser: Browser, server: Server):
    """The server is killed and started again while the visitor types: the text is whole, and no click is needed."""
    context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    attempts: list[str] = []
    page.on("requestfailed", lambda request: attempts.append(request.url) if "/_stcore/" in request.url else None)
    page.goto(f"{server.address}/?{urlencode({'model': 'stories-softmax', 'text': 'The'})}")
    box = text_box(page)
    box.wait_for(timeout=60_000)
    text = "The"

    def type_more(letters: str, delay: int = 40) -> None:
        nonlocal text
        text += letters
        page.keyboard.type(letters, delay=delay)
        assert box.input_value() == text
        assert page.evaluate(f"{ACTIVE}.matches('input')")

    box.click()
    page.keyboard.press("End")
    type_more(" old dog")
    page.wait_for_function("new URLSearchParams(location.search).get('text') === 'The old dog'", timeout=BACK)
    server.stop(kill=True)
    type_more(" ran")
    expect(lost(page)).to_be_visible()
    while len(attempts) < 16:  # Streamlit's dialog opened at the sixth failed attempt, which makes two requests
        type_more(" on and", delay=120)
    expect(page.get_by_role("dialog")).to_have_count(0)
    server.start()
    for digit in range(20):  # while the page gets a new session
        type_more(f" to {digit}", delay=60)
    type_more(".")
    page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=text, timeout=BACK)
    expect(box).to_have_value(text)
    expect(lost(page)).to_have_count(0)
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    expect(page.get_by_role("dialog")).to_have_count(0)
    context.close()
