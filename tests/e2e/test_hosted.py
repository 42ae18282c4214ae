"""Tests that a host loses no state: after restarts, with fast typing, and with late events.

pytest tests/e2e/test_hosted.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.browser import Server
from tests.e2e.app_page import query, type_text
from tests.e2e.components_page import ROOT, named

pytestmark = pytest.mark.browser

MODEL = {"model": "assignment-selective"}
BACK = 40_000  # timeout in ms; without other load it takes seconds


@pytest.fixture
def mortal() -> Iterator[Server]:
    """Yields a separate server that the test may kill."""
    server = Server()
    try:
        server.start()
        yield server
    finally:
        server.stop()


def test_after_a_restart_every_page_shows_the_state_of_its_address(browser: Browser, mortal: Server):
    contexts = [browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900}) for _ in range(2)]
    one, two = (context.new_page() for context in contexts)
    for page in (one, two):
        page.goto(f"{mortal.address}/?model=assignment-selective&text=a%3D1%3B+a%3D%3F&plan=self-1.0g0")
        named(page, "layer 2, head 1, pruned").wait_for(timeout=30_000)
    type_text(one, "q=4; q=8; q=?", delay=5)
    one.wait_for_function("location.search.includes('q%3D8')")
    named(one, "layer 2, head 3, live").click()
    one.keyboard.press("p")
    one.wait_for_function("location.search.includes('plan=self-1.0g0-1.2g0')")
    two.get_by_role("link", name="Compare").click()
    two.wait_for_function("location.search.includes('page=compare')")
    named(two, "layer 3, head 2, live").first.click()
    two.keyboard.press("c")
    two.wait_for_function("location.search.includes('plan=self-1.0g0-2.1c')")
    before = [query(page) for page in (one, two)]
    visits = [page.evaluate("attentionLabVisit") for page in (one, two)]

    mortal.stop(kill=True)
    one.wait_for_timeout(1000)
    mortal.start()

    for page, visit in zip((one, two), visits, strict=True):  # waits until each page has a new session
        page.wait_for_function("visit => attentionLabVisit !== visit", arg=visit, timeout=BACK)
    expect(one.get_by_label("Text", exact=True)).to_have_value("q=4; q=8; q=?", timeout=BACK)
    expect(named(one, "layer 2, head 3, pruned")).to_have_attribute("aria-selected", "true", timeout=BACK)
    expect(named(two, "layer 3, head 2, constant").first).to_be_visible(timeout=BACK)
    for page, its in zip((one, two), before, strict=True):
        expect(page.get_by_role("button", name="Undo", exact=True)).to_be_disabled(timeout=BACK)
        page.wait_for_timeout(500)
        assert query(page) == its
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    # the session continues after the restart
    named(one, "layer 1, head 1, live").click()
    one.keyboard.press("p")
    one.wait_for_function("location.search.includes('plan=self-0.0g0-1.0g0-1.2g0')")
    one.get_by_role("button", name="Undo", exact=True).click()
    expect(named(one, "layer 1, head 1, live")).to_be_visible()
    for context in contexts:
        context.close()


def test_what_is_typed_and_the_page_that_is_left_for_both_arrive(visit):
    page = visit(**MODEL)
    for i in range(10):
        text, name = f"q={i}; q={(i + 3) % 10}; q=?", ("Length", "Explore", "Compare", "Explore")[i % 4]
        type_text(page, text, delay=5)
        page.get_by_role("link", name=name, exact=True).click()
        page.wait_for_function("""([text, page]) => { const query = new URLSearchParams(location.search);
            return query.get('text') === text && query.get('page') === page; }""",
                               arg=[text, None if name == "Explore" else name.lower()])
        expect(page.get_by_label("Text", exact=True)).to_have_value(text)
        if name == "Explore":
            expect(page.locator(".row.right")).to_contain_text(str((i + 3) % 10))
    expect(page.get_by_role("gridcell")).to_have_count(12)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_heads_clicked_right_after_a_link_raise_nothing(visit):
    page = visit(**MODEL)
    for name in ("About", "Compare", "Length", "Results", "Your model"):  # pages with each of the two headers
        page.evaluate(f"""name => {{ {ROOT}
            const tiles = root('heads').querySelectorAll('.tile');
            [...root('navigation').querySelectorAll('a')].find(a => a.textContent === name).click();
            tiles[4].click();
            setTimeout(() => tiles[7].click(), 30);
            setTimeout(() => tiles[9].click(), 120); }}""", name)
        page.wait_for_function("key => new URLSearchParams(location.search).get('page') === key",
                               arg={"Your model": "yours"}.get(name, name.lower()))
        page.wait_for_timeout(400)
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
        page.go_back()
        page.wait_for_function("!location.search.includes('page=')")  # waits for Explore, because Compare has heads too
        expect(page.get_by_role("gridcell")).to_have_count(12)
        expect(page.locator('[role="gridcell"][aria-selected="true"]')).to_have_count(1)
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_a_link_that_streamlit_does_not_pass_on_opens_all_the_same(visit):
    """A link with more than 1,000 parameters opens, although Streamlit passes on an empty address for it."""
    page = visit(text="a=1; a=?", **MODEL, **{f"x{i}": "" for i in range(1001)})
    expect(page.get_by_label("Text", exact=True)).to_have_value("a=1; a=?")
    expect(page.get_by_role("gridcell")).to_have_count(12)
    page.wait_for_function("!location.search.includes('x1000')")
    assert query(page)["text"] == "a=1; a=?"


def test_forty_four_quick_edits_end_in_the_right_address(visit):
    page = visit(model="stories-softmax")
    expect(page.get_by_role("gridcell")).to_have_count(32)
    # edits every second head of each layer, twice over the whole grid, one edit every 25 ms
    page.evaluate(f"""() => {{ {ROOT}
        const buttons = [...root('heads').querySelectorAll('.buttons button')];
        const prune = buttons.find(button => button.textContent.trim() === 'Prune');
        const live = buttons.find(button => button.textContent.trim() === 'Live');
        const tiles = [...root('heads').querySelectorAll('.tile')];
        const steps = [];
        for (let i = 0; i < 32; i += 1) steps.push([tiles[i], prune]);
        for (let i = 1; i < 32; i += 2) steps.push([tiles[i], live]);
        steps.forEach(([tile, button], i) => setTimeout(() => {{ tile.click(); button.click(); }}, 25 * i)); }}""")
    plan = "-".join(f"{layer}.{head}g0" for layer in range(4) for head in range(0, 8, 2))
    page.wait_for_function("plan => new URLSearchParams(location.search).get('plan') === plan", arg=f"self-{plan}")
    expect(page.get_by_role("gridcell", name=re.compile("pruned$"))).to_have_count(16)
    expect(page.locator(".board")).to_have_attribute("aria-busy", "false")
    page.reload()
    expect(page.get_by_role("gridcell", name=re.compile("pruned$"))).to_have_count(16)
