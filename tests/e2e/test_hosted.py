"""Tests that a host loses no state: after restarts, with fast typing, and with late events."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import Server, running
from tests.e2e.app_page import answer, linked, query, text_box, tile, type_text

pytestmark = pytest.mark.browser

MODEL = {"model": "assignment-selective"}
BACK = 40_000  # timeout in ms; without other load it takes seconds


@pytest.fixture
def mortal() -> Iterator[Server]:
    """Yields a separate server that the test may kill."""
    with running(Server()) as server:
        yield server


def test_after_a_restart_every_page_shows_the_state_of_its_address(browser: Browser, mortal: Server):
    contexts = [browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900}) for _ in range(2)]
    one, two = (context.new_page() for context in contexts)
    for page in (one, two):
        page.goto(f"{mortal.address}/?model=assignment-selective&text=a%3D1%3B+a%3D%3F&plan=self-1.0g0")
        expect(tile(page, 1, 0)).to_have_class(re.compile("pruned"), timeout=30_000)
    type_text(one, "q=4; q=8; q=?", delay=5)
    linked(one, "text", "q=4; q=8; q=?")
    tile(one, 1, 2).click()
    one.keyboard.press("p")
    linked(one, "plan", "self-1.0g0-1.2g0")
    two.get_by_role("tab", name="All heads").click()
    two.locator('.tools [data-key="all.find"]').click()
    linked(two, "lab", "all.find")
    tile(two, 2, 1).click()
    two.keyboard.press("c")
    linked(two, "plan", "self-1.0g0-2.1c")
    before = [query(page) for page in (one, two)]
    visits = [page.evaluate("attentionLabVisit") for page in (one, two)]

    mortal.stop(kill=True)
    one.wait_for_timeout(1000)
    mortal.start()

    for page, visit in zip((one, two), visits, strict=True):  # waits until each page has a new session
        page.wait_for_function("visit => attentionLabVisit !== visit", arg=visit, timeout=BACK)
    expect(text_box(one)).to_have_value("q=4; q=8; q=?", timeout=BACK)
    for page, chosen, name in ((one, tile(one, 1, 2), "pruned"), (two, tile(two, 2, 1), "constant")):
        expect(chosen).to_have_class(re.compile(name), timeout=BACK)
        expect(chosen).to_have_attribute("aria-pressed", "true")
        expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled(timeout=BACK)
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    assert [query(page) for page in (one, two)] == before
    # the session continues after the restart
    tile(one, 0, 0).click()
    one.keyboard.press("p")
    linked(one, "plan", "self-0.0g0-1.0g0-1.2g0")
    one.get_by_role("button", name="Undo", exact=True).click()
    linked(one, "plan", "self-1.0g0-1.2g0")
    for context in contexts:
        context.close()


def test_what_is_typed_and_the_page_that_is_left_for_both_arrive(visit):
    page = visit(**MODEL)
    for i in range(6):
        text = f"q={i}; q={(i + 3) % 10}; q=?"
        type_text(page, text, delay=5)
        page.get_by_role("link", name="Guide", exact=True).first.click()
        page.wait_for_function("""text => { const query = new URLSearchParams(location.search);
            return query.get('text') === text && query.get('page') === 'about'; }""", arg=text)
        page.get_by_role("link", name="Lab", exact=True).first.click()
        expect(text_box(page)).to_have_value(text)
        expect(answer(page)).to_have_text(str((i + 3) % 10))
    expect(page.locator(".tile")).to_have_count(12)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_heads_clicked_right_after_a_link_raise_nothing(visit):
    page = visit(**MODEL)
    for name, key in (("Guide", "about"), ("Training", "training"), ("Findings", "results"), ("Models", "yours")):
        page.evaluate("""name => {
            const roots = [...document.querySelectorAll('*')].map(its => its.shadowRoot).filter(Boolean);
            const all = selector => roots.flatMap(root => [...root.querySelectorAll(selector)]);
            const tiles = all('.tile');
            all('.places a').find(a => a.textContent === name).click();
            tiles[4].click();
            setTimeout(() => tiles[7].click(), 30);
            setTimeout(() => tiles[9].click(), 120); }""", name)
        page.wait_for_function("key => new URLSearchParams(location.search).get('page') === key", arg=key)
        page.wait_for_timeout(400)
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
        page.get_by_role("link", name="Lab", exact=True).first.click()
        expect(page.locator(".tile")).to_have_count(12)
        expect(page.locator(".tile.on")).to_have_count(1)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_a_link_that_streamlit_does_not_pass_on_opens_all_the_same(visit):
    """A link with more than 1,000 parameters opens, although Streamlit passes on an empty address for it."""
    page = visit(text="a=1; a=?", **MODEL, **{f"x{i}": "" for i in range(1001)})
    expect(text_box(page)).to_have_value("a=1; a=?")
    expect(page.locator(".tile")).to_have_count(12)
    page.wait_for_function("!location.search.includes('x1000')")
    assert query(page)["text"] == "a=1; a=?"
