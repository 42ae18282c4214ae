"""The picture of all statements in Chromium: its rows and its table lead to the details of a statement.

pytest tests/e2e/test_all_statements.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from studies.claims import KEYS, OPEN, Statement, read
from tests.e2e.test_accessibility import violations
from tests.e2e.test_explore import query

pytestmark = pytest.mark.browser

CLAIMS = {claim.key: claim.statements for claim in read()}
FIRST, OTHER = (next(its for its in CLAIMS[key] if its.verdict.word != OPEN) for key in (KEYS[0], KEYS[-1]))
FOLDED = next(its for key in reversed(KEYS) for its in CLAIMS[key] if its.verdict.word == OPEN)
INCONCLUSIVE = sum(its.verdict.word == OPEN for statements in CLAIMS.values() for its in statements)
ALL = sum(map(len, CLAIMS.values())) - INCONCLUSIVE  # in the first picture; the others are folded


def picture(page: Page, is_folded: bool = False) -> Locator:
    """Returns the drawn picture, which is the first chart of the page, or that of the inconclusive statements."""
    plot = page.locator('[data-part="figure"] .plot').nth(1 if is_folded else 0)
    plot.locator("svg").wait_for(timeout=60_000)
    return plot


def unfold(page: Page) -> None:
    """Opens the group of the inconclusive statements below the picture, which is closed at first."""
    picture(page)
    title = page.locator("summary").filter(has_text=re.compile(f"[:：] ?{INCONCLUSIVE}$")).first
    expect(page.locator("details").filter(has=title).first).not_to_have_attribute("open", "")
    title.click()
    picture(page, is_folded=True)
    page.wait_for_function("""() => {  // the group has its full height, so that no row moves
        const now = document.querySelector('[data-testid=stMain]').scrollHeight;
        const before = globalThis.heightBefore;
        globalThis.heightBefore = now;
        return now === before;
    }""", polling=400)


def row(page: Page, statement: Statement) -> Locator:
    """Returns the text of a statement in the picture, whose end can be cut off."""
    shown = picture(page, statement.verdict.word == OPEN)
    return shown.locator("svg text").filter(has_text=statement.text[:24]).first


def expect_details(page: Page, statement: Statement) -> None:
    """Expects that the statement is at the top of the screen, with its details unfolded and in focus."""
    heading = page.locator(f"#{statement.key}")
    expect(heading).to_be_in_viewport()
    box = page.locator(f'[class*="st-key-claim-"][class*="-{statement.key}"]')
    expect(box.locator("details").first).to_have_attribute("open", "")
    expect(box.locator("summary")).to_be_focused()


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_a_click_on_a_row_shows_the_details_of_its_statement(visit, phone: bool):
    page = visit(page="results", wait=False, phone=phone)
    assert picture(page).locator("svg .mark-symbol path[aria-roledescription=point]").count() == ALL
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    # the tap reaches the rectangle of the row, through the gap between two lines of text
    row(page, OTHER).click(force=phone)  # of a claim that is not shown yet
    expect_details(page, OTHER)
    assert query(page)["claim"] == KEYS[-1]
    row(page, FIRST).click(force=phone)
    expect_details(page, FIRST)
    assert "claim" not in query(page)  # the first claim is the default


def test_a_click_on_an_inconclusive_statement_opens_its_group(visit):
    page = visit(page="results", wait=False)
    unfold(page)
    row(page, FOLDED).click(force=True)  # its center is between two lines of text
    expect_details(page, FOLDED)
    assert query(page)["claim"] == KEYS[-1]


@pytest.mark.parametrize("statement", [FOLDED, OTHER], ids=["folded", "open"])
def test_a_link_to_one_statement_opens_it(visit, address: str, statement: Statement):
    page = visit(page="results", wait=False)
    page.goto(f"{address}/?page=results&claim={KEYS[-1]}#{statement.key}")
    page.locator(f"#{statement.key}").wait_for(timeout=60_000)
    expect_details(page, statement)


# Returns the faults of the picture: pairs of overlapping texts, cut texts, and right edges of texts beyond the picture.
FAULTS = """plot => {
    const edge = plot.querySelector('svg').getBoundingClientRect().right;
    const texts = [...plot.querySelectorAll('.role-mark text')].filter(text => text.textContent).map(text => {
        const { left, right, top, bottom } = text.getBoundingClientRect();
        return { text: text.textContent, left, right, top: top + 2, bottom: bottom - 2 };
    });
    const meet = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom &&
        other.top < one.bottom;
    return [texts.length, [...texts.flatMap((one, at) => texts.slice(at + 1).filter(other => meet(one, other))
        .map(other => [one.text, other.text])), ...texts.filter(({ text }) => text.includes('…')).map(one => one.text),
        ...texts.filter(({ right }) => right > edge).map(({ text, right }) => [text, right])]];
}"""


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [390, 1024, 1280, 1920])
def test_no_text_and_no_number_of_the_picture_is_cut(visit, width: int, language: str):
    page = visit(page="results", wait=False, phone=width == 390, lang=language)
    page.set_viewport_size({"width": width, "height": 800})
    unfold(page)
    for plot, least in ((picture(page), ALL), (picture(page, is_folded=True), INCONCLUSIVE)):
        page.wait_for_timeout(500)
        count, faults = plot.evaluate(FAULTS)
        assert not faults
        # the wide picture has the verdict's word, the statement and both numbers, the narrow one word and statement
        assert count > (4 if width >= 1280 else 2) * least


def test_the_table_of_the_picture_leads_to_a_statement_by_keyboard(visit):
    page = visit(page="results", wait=False)
    picture(page)
    page.get_by_role("button", name="Table: The verdicts on", exact=False).focus()
    page.keyboard.press("Enter")
    buttons = page.locator("table.sentences button")
    expect(buttons).to_have_count(ALL)
    buttons.filter(has_text=OTHER.text).focus()
    page.keyboard.press("Enter")
    expect_details(page, OTHER)


@pytest.mark.parametrize(("language", "dark"), [("en", True), ("zh", False)])
def test_no_violation_with_the_table_on_a_phone(visit, language: str, dark: bool):
    page = visit(page="results", lang=language, wait=False, phone=True, dark=dark)
    picture(page)
    page.locator('[data-part="figure"] .switch').first.click()
    expect(page.locator("table.sentences button")).to_have_count(ALL)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert not violations(page)
