"""The Lab, the start page and the page for teachers on laptops, on projectors in large type, and on a phone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app.state import lessons
from app.state.lessons import Place
from tests.e2e.app_page import answer, answered, linked, tile

pytestmark = pytest.mark.browser

PROJECTORS = [(1280, 800), (1920, 1080)]
LEAST = 18  # px on the screen
SIZE = "its => parseFloat(getComputedStyle(its).fontSize) * its.currentCSSZoom"


@pytest.mark.parametrize("state", [
    *({"model": model} for model in ("stories-softmax", "translation-softmax", "summary-softmax", "masked-gau-relu2")),
    *({"model": model, "lang": lang, "teach": "1"} for model in ("stories-selective", "translation-softmax")
      for lang in ("en", "zh"))], ids=lambda state: "-".join(state.values()))
def test_words_tiles_answer_and_buttons_are_on_one_screen(state: dict[str, str], visit: Callable[..., Page]):
    """In large type the letters are large, too, and every word is in view."""
    page, is_large = visit(**state), "teach" in state
    tiles, words = page.locator(".tile"), page.locator(".bottom .words")
    for size in PROJECTORS if is_large else [*PROJECTORS, (1440, 900)]:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        answered(page)
        for part in (tiles.first, tiles.last, answer(page), *(words.locator(".word").all() if is_large else (
                words.last, page.locator(".side h2"), page.locator(".side .segment")))):
            expect(part).to_be_in_viewport(ratio=0.9 if is_large else 0.99)
        for part in (answer(page), words.locator(".word"), page.locator(".side .segment button span"),
                     page.locator(".things button")) if is_large else ():
            assert part.first.evaluate(SIZE) >= LEAST - 0.1, part
        assert page.locator("[data-testid=stMain]").evaluate("its => its.scrollWidth - its.clientWidth") == 0
        assert box(tiles.last)["bottom"] <= box(words.last)["y"]  # the tiles stand above the words


def test_large_type_is_a_setting_of_the_page_and_of_its_link(visit: Callable[..., Page]):
    page = visit(model="stories-softmax")
    page.set_viewport_size({"width": 1280, "height": 800})
    letter = page.locator(".words .word").last
    usual = letter.evaluate(SIZE)
    page.get_by_role("button", name="Theme and type size").click()
    choice = page.get_by_role("menuitemcheckbox", name="Large type")
    expect(choice).to_have_attribute("aria-checked", "false")
    choice.click()
    linked(page, "teach", "1")
    expect(page.locator("html[data-large]")).to_have_count(1)
    assert letter.evaluate(SIZE) >= 1.2 * usual
    for needed in (page.locator(".lead"), *page.locator(".legend .switch").all(),
                   *page.locator(".side .segment button").all()):
        expect(needed).to_be_in_viewport(ratio=0.9)
    page.get_by_role("link", name="Guide").first.click()
    linked(page, "page", "about")
    expect(page.locator("html[data-large]")).to_have_count(1)
    assert "teach=1" in page.url
    page.get_by_role("button", name="Theme and type size").click()
    expect(choice).to_have_attribute("aria-checked", "true")
    choice.click()
    expect(page.locator("html[data-large]")).to_have_count(0)
    linked(page, "teach", None)


def test_the_answers_of_the_page_for_teachers_are_folded_except_in_print(visit: Callable[..., Page]):
    page = visit(wait=False, page="teachers")
    question = lessons.step_at(Place("gates", 2)).question
    assert question is not None
    answer = page.locator(".st-key-teachers details").first.locator("li, p").last
    page.locator(".st-key-teachers details").first.wait_for(timeout=60_000)
    expect(page.locator(".st-key-teachers details[open]")).to_have_count(0)
    seen = "its => its.checkVisibility({ contentVisibilityAuto: true }) && its.getBoundingClientRect().height > 5"
    assert not answer.evaluate(seen)
    page.emulate_media(media="print")
    assert answer.evaluate(seen)
    expect(answer).to_contain_text(question.because.replace("*", "")[:12])


def test_the_start_page_is_larger_and_needs_no_scrolling(visit: Callable[..., Page]):
    pages = [visit(page="start", teach=teach, wait=False) for teach in ("", "1")]
    for button in ("Switch this head off", "Switch the whole layer off"):
        for size in PROJECTORS:
            for page in pages:
                page.set_viewport_size({"width": size[0], "height": size[1]})
                expect(page.get_by_role("button", name=button)).to_be_in_viewport(ratio=1, timeout=60_000)
                expect(page.locator(".ways")).to_be_in_viewport(ratio=1)
                answered(page)
            for part in ("h1", ".about", ".says", ".word", ".slot", ".buttons button"):
                usual, large = (page.locator(f".start {part}").last.evaluate(SIZE) for page in pages)
                assert large >= 1.24 * usual, part
                assert usual >= 24 or size[0] < 1920 or part == ".buttons button", part
        for page in pages:
            page.get_by_role("button", name=button).click()


def test_the_tools_of_the_lab_work_in_large_type(visit: Callable[..., Page]):
    page = visit(teach="1", model="stories-selective")
    page.set_viewport_size({"width": 1280, "height": 800})
    page.locator('.tools [data-key="head.why"]').click()
    linked(page, "lab", "head.why")
    expect(page.locator(".view .drawing.why")).not_to_be_empty()
    tile(page, 1, 2).click()
    page.keyboard.press("p")
    linked(page, "plan", "self-1.2g0")
    expect(page.locator(".answer .big")).to_contain_text("was")


def box(element: Locator) -> dict[str, float]:
    found = element.bounding_box()
    return {**found, "right": found["x"] + found["width"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_places_buttons_and_menus_fit_a_finger_and_the_window(visit: Callable[..., Page], language: str):
    page = visit(phone=True, model="stories-selective", lang=language)
    places = page.locator(".tabs a")
    expect(places).to_have_count(6)
    expect(page.locator(".languages button")).to_be_visible()
    buttons = page.locator(".right > .find, .languages button, .right .with-menu > button:visible")
    for one in [*map(box, places.all()), *map(box, buttons.all())]:
        assert one["height"] >= 44 and one["x"] >= 0 and one["right"] <= 390
    assert box(page.locator(".phone-bar"))["bottom"] <= box(places.first)["y"] + 1
    for button in page.locator(".lead .with-menu > button, .with-menu.more > button").all():
        button.tap()
        menu = page.locator('[role="menu"]:visible')
        assert box(menu)["x"] >= 0 and box(menu)["right"] <= 390
        page.keyboard.press("Escape")
    places.nth(5).tap()
    linked(page, "page", "about")
    expect(places.nth(5)).to_have_attribute("aria-current", "page")


@pytest.mark.parametrize("model", ["stories-softmax-wide", "translation-softmax"])
def test_tiles_are_as_large_as_a_finger_and_right_of_the_names(visit: Callable[..., Page], model: str):
    page = visit(phone=True, model=model)
    for width in (390, 320):
        page.set_viewport_size({"width": width, "height": 844})
        answered(page)
        for name, tiles in zip(page.locator(".layer-name").all(), page.locator(".tiles").all(), strict=True):
            words = name.locator("small, .short").first.evaluate("""its => {
                const range = document.createRange(); range.selectNodeContents(its);
                return range.getBoundingClientRect().right }""")
            inside = [box(its) for its in tiles.locator(".tile").all()]
            assert words <= inside[0]["x"] + 2 and inside[-1]["right"] <= width - 14
            assert min(its["width"] for its in inside) >= 24 and all(
                left["right"] <= right["x"] + 0.5 or left["bottom"] <= right["y"]
                for left, right in zip(inside, inside[1:], strict=False))


def test_a_finger_selects_swipes_and_slides(visit: Callable[..., Page]):
    page = visit(phone=True, model="stories-selective", text="Once upon a time")
    tile(page, 1, 2).tap()
    linked(page, "at", "1.2")
    expect(page.locator(".phone-bar .button:visible")).to_contain_text("L2·H3")
    slider = page.get_by_role("slider", name="Gate")
    slider.scroll_into_view_if_needed()
    slider.fill("0.5")
    linked(page, "plan", "self-1.2g0.5")
    page.get_by_role("group", name="The text").locator(".word").nth(2).tap()
    expect(page.get_by_role("group", name="The text").locator(".word").nth(2)).to_have_attribute(
        "aria-pressed", "true")
    page.get_by_role("button", name="Find a tool").tap()
    palette = page.get_by_role("dialog", name="All tools")
    expect(palette.get_by_role("combobox")).to_be_in_viewport(ratio=1)
    palette.get_by_role("option", name="Where do all heads look").tap()
    linked(page, "lab", "all.mean~2")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_start_page_says_what_the_app_is_and_its_button_is_in_view(visit: Callable[..., Page]):
    page = visit(phone=True, first=True)
    shown = page.locator('[data-part="start"]')
    expect(shown.locator("h1")).to_contain_text("look at", timeout=20_000)
    expect(shown.locator(".buttons button")).to_be_in_viewport(ratio=1)
