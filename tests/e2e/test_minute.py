"""First and later visits in a real browser: the first minute, leaving it and beginning again, and coming back."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app import texts

pytestmark = pytest.mark.browser

ASKS = ("Press a word in the text.", "Press a tile: each is one head.",
        "Press a question about this head.", "Prune this head.",
        "Press the name of a layer, then prune it.", "Undo all changes.",
        "Write a text, or choose an example.")


SIZES = [(1440, 900), (1280, 800), (390, 844)]
PICTURE = ".tile, .words .word, .answer .line, .options li"


def expect_apart(card: Locator, target: Locator) -> None:
    """Waits until card and target are in the window, and the card covers neither the target nor the picture."""
    card.page.wait_for_function("""([card, target, picture]) => {
        const box = element => element.getBoundingClientRect();
        const one = box(card);
        const isApart = other => one.right <= other.left || other.right <= one.left || one.bottom <= other.top
            || other.bottom <= one.top;
        const parts = [...card.getRootNode().querySelectorAll(picture)].filter(part => part.checkVisibility());
        return parts.length > 50 && [target, ...parts].map(box).every(isApart) && [card, target].map(box).every(
            its => its.top >= 0 && its.bottom <= innerHeight && its.left >= 0 && its.right <= innerWidth);
    }""", arg=[card.element_handle(), target.element_handle(), PICTURE])


@pytest.mark.parametrize("language", texts.LANGUAGES)
@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_first_minute_waits_for_each_step(visit: Callable[..., Page], width: int, height: int, language: str):
    page = visit(phone=width == 390, page="start", lang=language, wait=False)
    page.set_viewport_size({"width": width, "height": height})
    page.locator(".ways button").last.click()
    card, target = page.locator(".minute"), page.locator(".pointed")
    for number, ask in enumerate(ASKS, 1):
        expect(card).to_contain_text(f"{number} / {len(ASKS)}")
        expect(card.locator(".ask")).to_have_text(
            ask if language == "en" else texts.catalogue(language)[ask].string)
        assert (card.locator(".says").inner_text() != "") is (number > 1)
        expect(target).to_have_count(1)
        expect_apart(card, target)
        expect(page.get_by_role("status").filter(has_text=card.locator(".ask").inner_text())).to_have_count(1)
        if number == len(ASKS):
            target.locator("input").fill("Once upon a time there was a king. He")
            continue
        name = target.inner_text()
        target.click()
        if number == 5:  # the name of the layer, then the button that prunes
            expect(target).not_to_have_text(name)
            expect_apart(card, target)
            target.click()
    expect(card.locator(".ask")).to_have_text("")
    expect(target).to_have_count(0)
    card.get_by_role("button").click()
    expect(card).to_be_hidden()
    page.locator(".brand").click()
    page.locator(".ways button").last.click()
    page.locator(".words .word").first.wait_for()
    expect(card).to_be_hidden()  # once for each browser


def test_the_first_minute_can_be_left_and_begun_again(visit: Callable[..., Page]):
    page = visit(page="lab", wait=False)
    page.locator(".words .word").first.wait_for()
    card = page.locator(".minute")
    expect(card).to_be_hidden()  # a link opens a state
    page.goto(f"{page.url.split('?')[0]}?page=start")
    page.locator(".ways button").first.click()
    page.locator(".lesson h1").wait_for()
    expect(card).to_be_hidden()
    page.goto(f"{page.url.split('?')[0]}?page=about#keys")
    page.get_by_role("button", name="Begin the first minute").click()
    expect(card).to_contain_text("1 / 7")
    box = page.get_by_role("textbox", name="Text for the model")
    box.fill("")
    box.press("Enter")
    page.wait_for_function("location.search.includes('text=') && location.hash === ''")
    page.locator(".word.looks").focus()
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()
    expect(box).not_to_have_value("")  # an example in place of an empty text
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_a_visitor_comes_back_to_where_they_were(visit: Callable[..., Page]):
    page = visit(page="lab", text="Tom had a dog", plan="self-2.4g0", wait=False)
    page.locator(".words .word").first.wait_for()
    page.goto(page.url.split("?")[0])
    expect(page.get_by_role("textbox", name="Text for the model")).to_have_value("Tom had a dog")
    expect(page.locator(".tile.pruned")).to_have_count(1)
    page.locator(".brand").click()
    page.locator(".ways button").last.wait_for()
    page.wait_for_function("location.search.includes('page=start')")
    page.goto(page.url.split("?")[0])
    page.locator(".ways button").last.wait_for()  # the start page was where they were
