"""The Lab, the start page and the page for teachers in large type, on projectors of 1280x800 and 1920x1080 pixels."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import Place
from tests.e2e.app_page import answered, linked, tile

pytestmark = pytest.mark.browser

PROJECTORS = [(1280, 800), (1920, 1080)]
LEAST = 18  # px on the screen
SIZE = "its => parseFloat(getComputedStyle(its).fontSize) * its.currentCSSZoom"


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("model", ["stories-selective", "translation-softmax"])
def test_words_tiles_and_answer_are_large_and_on_one_screen(model: str, lang: str, visit: Callable[..., Page]):
    page = visit(teach="1", model=model, lang=lang)
    for size in PROJECTORS:
        page.set_viewport_size({"width": size[0], "height": size[1]})
        answered(page)
        needed = [page.locator(".answer .word"), page.locator(".tile").first, page.locator(".tile").last,
                  *page.locator(".bottom .words .word").all()]
        assert len(needed) > 12
        for element in needed:
            expect(element).to_be_in_viewport(ratio=0.9)
        for element in (page.locator(".answer .word"), page.locator(".bottom .words .word").first,
                        page.locator(".side .segment button span").first, page.locator(".things button").first):
            assert element.evaluate(SIZE) >= LEAST - 0.1, element
        assert page.locator("[data-testid=stMain]").evaluate("its => its.scrollWidth - its.clientWidth") == 0


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


def test_the_start_page_is_larger_and_needs_no_scrolling(visit: Callable[..., Page]):
    pages = [visit(page="start", teach=teach, wait=False) for teach in ("", "1")]
    for button in ("Switch this head off", "Switch the whole layer off"):
        for size in PROJECTORS:
            for page in pages:
                page.set_viewport_size({"width": size[0], "height": size[1]})
                expect(page.get_by_role("button", name=button)).to_be_in_viewport(ratio=1, timeout=60_000)
                expect(page.locator(".ways")).to_be_in_viewport(ratio=1)
                answered(page)
            for part in ("h1", ".says", ".buttons button", ".word", ".slot"):
                usual, large = (page.locator(f".start {part}").last.evaluate(SIZE) for page in pages)
                assert large >= 1.24 * usual, part
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
