"""Explore and Compare in large type, on a projector of 1280 by 800 and of 1920 by 1080 pixels.

    pytest tests/e2e/test_large_type.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import Place

pytestmark = pytest.mark.browser

PROJECTORS = [(1280, 800), (1920, 1080)]
LANGUAGES = ("en", "zh")
LEAST = {1280: 24, 1920: 28}  # px on the screen
# Returns [text, size in px on the screen] of every element with text of its own in the parts of a page.
SIZES = """parts => {
    const found = [];
    const walk = root => {
        for (const element of root.querySelectorAll('*')) {
            if (element.shadowRoot) walk(element.shadowRoot);
            if (![...element.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
            if (!element.checkVisibility() || !parts.some(part => element.closest(part))) continue;
            found.push([element.innerText, parseFloat(getComputedStyle(element).fontSize) * element.currentCSSZoom]);
        }
    };
    walk(document);
    return found;
}"""

PAIR = {"page": "compare", "model": "assignment-softmax", "with": "assignment-random", "text": "x=1; x=7; y=3; x=?"}
LAB = {"explore": [".buttons button", ".gate", ".word bdi", ".answer", ".rows .label", ".rows .numbers", ".tabs.forms",
                   ".tabs button", ".scope", ".first"],
       "compare": [".buttons button", ".gate", "td", "th b", "[data-testid=stMarkdownContainer] h5", "button p"]}


def on_a_projector(visit: Callable[..., Page], size: tuple[int, int], **state: str) -> Page:
    """Opens a page of the lab in large type."""
    page = visit(teach="1", **state)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.wait_for_timeout(800)
    return page


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", PROJECTORS, ids=str)
@pytest.mark.parametrize("state", [{"page": "explore"}, PAIR], ids=lambda state: state["page"])
def test_explore_and_compare_are_large_too(state: dict[str, str], size: tuple[int, int], lang: str,
                                           visit: Callable[..., Page]):
    page = on_a_projector(visit, size, **state, lang=lang)
    sizes = page.evaluate(SIZES, LAB[state["page"]])
    assert len(sizes) > 12
    assert not [found for found in sizes if found[1] < LEAST[size[0]] - 0.1]
    assert page.locator("[data-testid=stMain]").evaluate("its => its.scrollWidth - its.clientWidth") == 0
    for tab in page.locator(".tabs button").all():
        assert tab.evaluate("its => its.scrollWidth - its.clientWidth") <= 1


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", PROJECTORS, ids=str)
@pytest.mark.parametrize("model", ["stories-selective", "translation-softmax"])
def test_heads_buttons_and_answer_of_explore_are_on_one_screen(model: str, size: tuple[int, int], lang: str,
                                                               visit: Callable[..., Page]):
    page = on_a_projector(visit, size, page="explore", model=model, lang=lang)
    needed = [*page.locator('[data-part="heads"] .buttons button').all(), page.locator(".answer bdi"),
              page.get_by_role("gridcell").first, page.get_by_role("gridcell").last,
              page.locator('[data-part="effect"] .row').nth(2)]
    if model == "stories-selective":
        needed += page.locator(".word").all()
    assert len(needed) >= 7
    for element in needed:
        expect(element).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_effect_is_on_the_screen_and_the_tiles_are_not_tiny(lang: str, visit: Callable[..., Page]):
    page = on_a_projector(visit, (1280, 800), page="explore", model="stories-softmax", plan="self-1.2g0", lang=lang)
    facts = page.locator('[data-part="effect"] .facts')
    expect(facts).to_contain_text("→")
    expect(facts).to_be_in_viewport(ratio=0.95)
    expect(page.locator('[data-part="effect"] .row:visible').last).to_be_in_viewport(ratio=1)
    assert page.get_by_role("gridcell").first.locator("canvas").bounding_box()["width"] >= 27


def test_large_type_is_a_setting_of_the_page_and_of_its_link(visit: Callable[..., Page]):
    page = visit(page="explore")
    letter = page.locator(".word bdi").last
    large = "its => parseFloat(getComputedStyle(its).fontSize) * its.currentCSSZoom"
    usual = letter.evaluate(large)
    page.get_by_role("button", name="Theme and type size").click()
    choice = page.get_by_role("menuitemcheckbox", name="Large type")
    expect(choice).to_have_attribute("aria-checked", "false")
    choice.click()
    page.wait_for_function("new URLSearchParams(location.search).get('teach') === '1'")
    expect(page.locator("html[data-large]")).to_have_count(1)
    expect(page.locator(".st-key-sections input")).to_be_visible()
    assert letter.evaluate(large) >= 1.4 * usual
    page.get_by_role("link", name="Compare").click()
    page.get_by_role("table").first.wait_for()
    expect(page.locator("html[data-large]")).to_have_count(1)
    assert "teach=1" in page.url
    page.get_by_role("button", name="Theme and type size").click()
    expect(choice).to_have_attribute("aria-checked", "true")
    choice.click()
    expect(page.locator("html[data-large]")).to_have_count(0)
    page.wait_for_function("!location.search.includes('teach')")


def test_a_section_is_chosen_in_large_type(visit: Callable[..., Page]):
    page = on_a_projector(visit, (1280, 800), page="explore")
    page.locator(".st-key-sections input").click()
    page.get_by_role("option", name="Contributions").click()
    page.wait_for_function("location.search.includes('open=writers')")
    page.locator('[data-part="contributions"]').wait_for()
    expect(page.locator(".st-key-sections input")).to_have_value("Explain: Contributions")


def test_the_answers_of_the_page_for_teachers_are_folded_except_in_print(visit: Callable[..., Page]):
    page = visit(wait=False, page="teachers")
    question = lesson_files.step_at(Place("gates", 2)).question
    assert question is not None
    answer = page.locator(".st-key-teachers details").first.locator("li, p").last
    page.locator(".st-key-teachers details").first.wait_for(timeout=60_000)
    expect(page.locator(".st-key-teachers details[open]")).to_have_count(0)
    seen = "its => its.checkVisibility({ contentVisibilityAuto: true }) && its.getBoundingClientRect().height > 5"
    assert not answer.evaluate(seen)
    page.emulate_media(media="print")
    assert answer.evaluate(seen)
    expect(answer).to_contain_text(question.because.replace("*", "")[:12])


@pytest.mark.parametrize("size", PROJECTORS, ids=str)
def test_the_button_of_the_start_page_is_in_view(size: tuple[int, int], visit: Callable[..., Page]):
    page = visit(page="start", teach="1", wait=False)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(page.get_by_role("button", name="Switch this head off")).to_be_in_viewport(ratio=1, timeout=60_000)
