"""Lessons, Explore and Compare in large type, on a projector of 1280 by 800 and of 1920 by 1080 pixels.

    pytest tests/e2e/test_large_type.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import Place
from tests.e2e.test_lessons_done import panel, tile

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
READ = [".instruction .text", ".ask", ".choice", ".task", ".heads .buttons button", ".buttons button", ".gate",
        ".word bdi", ".answer", ".rows .label", ".rows .numbers", ".peek"]


def in_large_type(visit: Callable[..., Page], place: Place, size: tuple[int, int], lang: str = "en") -> Page:
    """Opens a step after its task, with the right answer."""
    step = lesson_files.step_at(place)
    answer = {"say": "abcd"[step.question.right]} if step.question else {}
    page = visit(wait=False, **{"page": "explore", **step.opens, **step.does}, **answer, lesson=str(place), teach="1",
                 lang=lang)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    panel(page).locator("h3").wait_for(timeout=60_000)
    page.get_by_role("gridcell").first.wait_for(timeout=60_000)
    page.wait_for_timeout(600)
    return page


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", PROJECTORS, ids=str)
@pytest.mark.parametrize("place", ["gates.3", "constant.4", "translation.3", "writers.3"])
def test_the_buttons_of_a_step_and_their_effect_are_on_one_screen(place: str, size: tuple[int, int], lang: str,
                                                                  visit: Callable[..., Page]):
    page = in_large_type(visit, Place.parse(place), size, lang)
    rows = page.locator('[data-part="effect"] .rows')
    foot = page.locator(".peek:visible")
    if foot.count():
        expect(foot).to_be_in_viewport(ratio=1)
    else:
        expect(rows).to_be_in_viewport(ratio=0.25)
    bottom = foot.bounding_box()["y"] if foot.count() else size[1]
    needed = [*page.locator('[data-part="heads"] .buttons button').all(),
              *page.locator('[data-part="heads"] [data-scope="all"]').all(), panel(page).locator(".ask"),
              panel(page).locator(".forth")]
    if place.startswith("translation"):
        needed.append(page.locator('[data-part="written"]'))
    assert len(needed) >= 5
    for element in needed:
        box = element.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= bottom or element.evaluate("its => Boolean(its.closest('.lesson'))")
        expect(element).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", PROJECTORS, ids=str)
@pytest.mark.parametrize("place", ["gates.1", "gates.3", "constant.4"])
def test_the_answer_and_three_rivals_are_on_the_screen_of_a_step(place: str, size: tuple[int, int], lang: str,
                                                                 visit: Callable[..., Page]):
    page = in_large_type(visit, Place.parse(place), size, lang)
    effect = page.locator('[data-part="effect"]')
    for element in (effect.locator(".answer bdi"), *(effect.locator(".row").nth(i) for i in range(4))):
        expect(element).to_be_in_viewport(ratio=0.99)
    expect(page.locator(".peek")).to_be_hidden()  # nothing covers the words at the foot
    expect(page.locator("[role=tab][data-name=difference]")).to_have_count(0)


@pytest.mark.parametrize("size", PROJECTORS, ids=str)
def test_the_whole_matrix_is_on_one_screen_with_the_lesson(size: tuple[int, int], visit: Callable[..., Page]):
    page = in_large_type(visit, Place("constant", 1), size)
    matrix = page.locator('[data-part="head_map"] canvas').first
    foot = page.locator(".peek:visible")
    box = matrix.bounding_box()
    assert box["y"] + box["height"] <= (foot.bounding_box()["y"] if foot.count() else size[1])
    assert box["x"] >= (lesson := panel(page).bounding_box())["x"] + lesson["width"]
    expect(tile(page, 1, 2)).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("size", PROJECTORS, ids=str)
@pytest.mark.parametrize("place", ["gates.3", "translation.3"])
def test_what_the_class_reads_is_large(place: str, size: tuple[int, int], lang: str, visit: Callable[..., Page]):
    page = in_large_type(visit, Place.parse(place), size, lang)
    panel(page).locator(".fold").click()  # shows the text, which is folded after the answer
    sizes = page.evaluate(SIZES, READ)
    assert len(sizes) > 12
    assert not [found for found in sizes if found[1] < LEAST[size[0]] - 0.1]


def test_the_text_is_folded_once_the_question_is_answered(visit: Callable[..., Page]):
    page = visit(lesson="gates.2", teach="1")
    text, fold = panel(page).locator(".text"), panel(page).locator(".fold")
    expect(text).to_be_visible()
    expect(fold).to_be_hidden()
    panel(page).locator(".choice").first.click()
    expect(text).to_be_hidden()
    fold.click()
    expect(text).to_be_visible()
    expect(fold).to_have_attribute("aria-expanded", "true")


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("place", ["constant.1", "translation.3", "gates.6", "selective.5"])
def test_a_long_step_needs_no_scrolling_in_its_card(place: str, lang: str, visit: Callable[..., Page]):
    """Before the class guesses and when the task is done; what the next action needs is on the screen."""
    size = (1280, 800)
    over = "its => its.scrollHeight - its.clientHeight"
    page = visit(lesson=place, teach="1", lang=lang)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    card = panel(page).locator("section.lesson")
    page.wait_for_timeout(600)
    assert card.evaluate(over) <= 1
    for element in (card.locator(".ask"), *card.locator(".choice").all(), card.locator(".show")):
        expect(element).to_be_in_viewport(ratio=0.99)
    if place == "gates.6":  # the task comes before the answer
        expect(card.locator(".task")).to_be_in_viewport(ratio=0.99)
    if card.locator(".fold").is_visible():  # a text for which there is no room can be opened
        card.locator(".fold").click()
        expect(card.locator(".text")).to_be_visible()
    else:
        expect(card.locator(".text")).to_be_in_viewport(ratio=0.99)
    page = in_large_type(visit, Place.parse(place), size, lang)
    card = panel(page).locator("section.lesson")
    assert card.evaluate(over) <= 1
    expect(card.locator(".choice.right")).to_be_in_viewport(ratio=0.99)
    expect(card.locator(".because")).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("place", ["constant.1", "selective.1"])
def test_the_text_of_a_first_step_is_not_folded(place: str, visit: Callable[..., Page]):
    page = visit(lesson=place, teach="1")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.wait_for_timeout(600)
    expect(panel(page).locator(".text")).to_be_in_viewport(ratio=0.99)
    expect(panel(page).locator(".ask")).to_be_in_viewport(ratio=0.99)


def test_the_task_of_a_long_step_comes_with_the_guess(visit: Callable[..., Page]):
    page = visit(lesson="constant.1", teach="1")
    page.set_viewport_size({"width": 1280, "height": 800})
    task = panel(page).locator(".task")
    expect(task).to_be_hidden()
    panel(page).locator(".choice").first.click()
    expect(task).to_be_in_viewport(ratio=0.99)
    expect(panel(page).locator(".choice")).to_have_count(3)


def test_the_focus_goes_to_the_heading_when_its_element_is_hidden(visit: Callable[..., Page]):
    page = visit(lesson="constant.1", teach="1")
    page.set_viewport_size({"width": 1280, "height": 1600})
    stop = panel(page).locator(".stops a").nth(1)
    expect(stop).to_be_visible()
    stop.focus()
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(stop).to_be_hidden()
    expect(panel(page).locator("h3")).to_be_focused()
    show = panel(page).locator(".show")
    show.focus()
    page.keyboard.press("Enter")
    expect(show).to_be_hidden()
    expect(panel(page).locator("h3")).to_be_focused()
    expect(panel(page).locator(".because")).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("size", PROJECTORS, ids=str)
def test_undo_reset_link_and_pages_stay_in_large_type(size: tuple[int, int], visit: Callable[..., Page]):
    page = visit(lesson="gates.2", teach="1")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    for name in ("Undo", "Reset", "Copy link"):
        expect(page.get_by_role("button", name=name)).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("link", name="Results")).to_be_in_viewport(ratio=1)
    assert page.locator(".st-key-header").bounding_box()["height"] < 50


def test_a_lesson_is_marked_as_a_part_of_the_page_lessons(visit: Callable[..., Page]):
    page = visit(lesson="gates.2")
    expect(page.locator("nav a[aria-current]")).to_have_text("Lessons")
    page.get_by_role("link", name="Length").click()
    page.get_by_role("link", name="Lessons").click()
    expect(page.get_by_role("button", name="Show the first page again")).to_be_visible()
    page = visit(page="explore")
    expect(page.locator("nav a[aria-current]")).to_have_text("Explore")


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
    page.get_by_role("option", name="By layer").click()
    page.wait_for_function("location.search.includes('open=layers')")
    page.locator('[data-part="lens"]').wait_for()
    expect(page.locator(".st-key-sections input")).to_have_value("Explain: By layer")


def test_large_type_stays_when_a_lesson_is_left(visit: Callable[..., Page]):
    page = visit(lesson="gates.2", teach="1")
    page.get_by_role("button", name="Leave the lesson").click()
    expect(panel(page)).to_have_count(0)
    expect(page.locator("html[data-large]:not([data-teach])")).to_have_count(1)
    expect(page.locator(".st-key-model")).to_be_visible()


@pytest.mark.parametrize("teach", ["0", "1"])
@pytest.mark.parametrize("place", ["translation.3", "constant.4"])
def test_the_answer_and_its_heading_are_not_cut(place: str, teach: str, visit: Callable[..., Page]):
    step = lesson_files.step_at(Place.parse(place))
    page = visit(**{"page": "explore", **step.opens, **step.does}, lesson=place, teach=teach,
                 say="abcd"[step.question.right] if step.question else "x")
    page.set_viewport_size({"width": 1280, "height": 800})
    effect = page.locator('[data-part="effect"]')
    expect(effect.locator(".answer bdi")).not_to_be_empty()
    page.wait_for_timeout(500)
    for element in (effect.locator(".answer bdi"), effect.locator(".head h2")):
        assert element.evaluate("its => its.scrollWidth - its.clientWidth") <= 1
        assert element.evaluate("its => its.scrollHeight - its.clientHeight") <= 8


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
