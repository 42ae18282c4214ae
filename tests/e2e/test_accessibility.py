"""WCAG 2.2 AA, checked by axe-core on every page, in both themes and all languages: there is no violation.

pytest tests/e2e/test_accessibility.py
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from app.state.lab_state import PAGES, START
from app.texts import LANGUAGES
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

SOURCE = Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

# violations inside Streamlit's own elements: rule -> (start of each selector, reason why it is accepted)
KNOWN: dict[str, tuple[tuple[str, ...], str]] = {}

STATES = {
    "explore": {"model": "stories-selective", "plan": "self-0.0~3c-1.2g0", "open": "entropy"},
    "compare": {"model": "assignment-softmax", "with": "assignment-selective assignment-random", "plan": "self-0.0c"},
    "length": {"model": "masked-softmax", "with": "masked-gau-relu2"},
}


def violations(page: Page) -> list[str]:
    """Returns the violations that axe finds on the page, one line per violation."""
    page.evaluate(SOURCE.read_text("utf-8"))
    found = page.evaluate("tags => axe.run(document, {runOnly: {type: 'tag', values: tags}})", TAGS)
    lines = []
    for rule in found["violations"]:
        starts, _why = KNOWN.get(rule["id"], ((), ""))
        for node in rule["nodes"]:
            target = " ".join(part if isinstance(part, str) else " >> ".join(part) for part in node["target"])
            if not any(start in target for start in starts):
                lines.append(f"{rule['id']} ({rule['impact']}): {target}: {node['failureSummary']}"[:600])
    return lines


def test_axe_finds_a_known_violation(visit):
    """A page with a known mistake has a violation, so the tests of the pages can fail."""
    page = visit()
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\"><button></button>')")
    found = "\n".join(violations(page))
    assert "image-alt" in found and "button-name" in found


# each page in each language, with alternating themes: texts and colours are independent, and axe takes seconds per
# page
PAIRS = [(name, language, (place + index) % 2 == 1)
         for place, name in enumerate(PAGES) for index, language in enumerate(LANGUAGES)]


@pytest.mark.parametrize(("name", "language", "dark"), PAIRS)
def test_no_violation(visit, name: str, language: str, dark: bool):
    state = STATES.get(name, {}) | {"page": name, "lang": language}
    page = visit(dark=dark, wait=False, **state)
    shown = ".st-key-start" if name == START else "nav a[aria-current], .st-key-bar"
    page.locator(shown).first.wait_for(timeout=30_000)
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    page.wait_for_timeout(1500)
    assert page.evaluate("document.documentElement.lang") == language
    assert not violations(page)


@pytest.mark.parametrize("size", [(1280, 800), (1920, 1080)], ids=str)
def test_no_violation_in_large_type(visit, size: tuple[int, int]):
    page = visit(wait=False, lesson="constant.1", teach="1", say="a")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.locator(".because").wait_for()
    page.wait_for_timeout(1000)
    assert not violations(page)


@pytest.mark.parametrize("dark", [False, True])
def test_no_violation_where_tokens_are_forgotten(visit, dark: bool):
    text = "x=1; y=3; x=7; y=5; x=?"
    page = visit(dark=dark, model="assignment-selective", text=text, at="1.0", view="mask", **{"as": "matrix"})
    page.locator(".strip .gone").first.wait_for()
    assert not violations(page)
    page.get_by_role("slider", name="Token step").press("Home")
    page.locator(".strip .later").first.wait_for()
    page.wait_for_timeout(300)
    assert not violations(page)


def test_no_violation_on_a_phone_and_with_a_menu_open(visit):
    page = visit(phone=True, model="stories-selective")
    page.get_by_role("button", name="Download").first.click()
    assert not violations(page)


def test_letters_can_be_kept_to_the_grid(visit):
    """Shortcuts of single letters can be limited to the grid (WCAG 2.1.4), which axe does not check."""
    page = visit(model="assignment-selective")
    box = page.get_by_label("on the whole page")
    page.get_by_role("button", name="Reset", exact=True).focus()
    page.keyboard.press("p")
    page.wait_for_url("**plan=*")
    page.keyboard.press("r")
    page.wait_for_function("!location.search.includes('plan=')")
    box.uncheck()
    page.get_by_role("button", name="Reset", exact=True).focus()
    page.keyboard.press("p")
    page.wait_for_timeout(500)
    assert "plan" not in query(page)
    page.reload()
    page.locator(".tile").first.wait_for()
    expect(box).not_to_be_checked()  # after a reload the setting is the same, because the browser stores it
    page.locator(".tile").first.click()
    page.keyboard.press("p")
    page.wait_for_url("**plan=*")
    box.check()


CROSS = "element => getComputedStyle(element, '::before').backgroundImage"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_states_stay_visible_in_high_contrast(browser, address, scheme):
    """With forced colours, browsers remove backgrounds and shadows. Each state of a head must still look different."""
    context = browser.new_context(forced_colors="active", color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{address}/?" + urlencode({"model": "stories-softmax", "text": "Once upon a time",
                                           "plan": "self-0.0c-0.3g0.5-1.2g0", "as": "matrix", "open": ""}))
    tiles = page.get_by_role("gridcell")
    tiles.first.wait_for(timeout=60_000)
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    chosen, other = (tiles.nth(i).evaluate("its => getComputedStyle(its).outlineStyle") for i in (0, 1))
    assert (chosen, other) == ("solid", "none")
    pruned, live = (page.get_by_role("gridcell", name=name, exact=True).locator(".map")
                    for name in ("layer 2, head 3, pruned", "layer 2, head 4, live"))
    assert "linear-gradient" in pruned.evaluate(CROSS)
    assert "linear-gradient" not in live.evaluate(CROSS)
    foot = page.get_by_role("gridcell", name="layer 1, head 4, gate 0.5").locator(".foot i")
    for one, two in ((page.get_by_role("button", name="Constant", exact=True),
                      page.get_by_role("button", name="Prune", exact=True)),
                     (foot, foot.locator("xpath=..")),
                     (page.locator(".key i.before"), page.locator(".key i.after")),
                     (page.locator(".bars i.before").first, page.locator(".bars i.after").first)):
        first, second = (its.first.evaluate("its => getComputedStyle(its).backgroundColor") for its in (one, two))
        assert first != second, (one, two)
    assert "gradient" in page.locator(".legend .bar").first.evaluate("its => getComputedStyle(its).backgroundImage")
    context.close()
