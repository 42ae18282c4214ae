"""The queue of events in a real browser: no edit is lost, and values are marked as old until they are recomputed."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.app_page import answer, linked, text_box, tile, type_text

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
LOOKUP = {"model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}
EVENTS = "**/lab/visits/*/events"


class Slow:
    """Holds back the requests to the events route until the test releases them, in their order."""

    def __init__(self, page: Page) -> None:
        """Starts to hold back."""
        self.page = page
        self.held: list[Route] = []
        self.is_over = False
        page.route(EVENTS, lambda route: route.continue_() if self.is_over else self.held.append(route))

    def wait(self) -> None:
        """Waits until the page has sent a request."""
        for _ in range(500):
            if self.held:
                return
            self.page.wait_for_timeout(20)
        raise AssertionError("no request within 10 s")

    def release(self) -> None:
        """Passes the oldest request on to the server."""
        self.wait()
        self.held.pop(0).continue_()

    def end(self) -> None:
        """Passes all requests on and holds back no more."""
        self.is_over = True
        while self.held:
            self.release()


def lab(page: Page):
    return page.locator('[data-part="lab"]')


def test_forty_quick_keys_arrive_while_the_server_is_slow(visit: Visit):
    page = visit(model="stories-softmax")
    slow = Slow(page)
    tile(page, 0, 0).click()
    for layer in range(4):
        for head in range(8):
            page.keyboard.press("c" if head % 2 else "p")
            if head < 7:
                page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        if layer < 3:
            page.keyboard.press("ArrowUp")
    expect(page.locator(".tile.constant")).to_have_count(16)  # shown before the server has responded
    expect(page.locator(".tile.pruned")).to_have_count(16)
    expect(lab(page)).to_have_attribute("aria-busy", "true")
    slow.end()
    linked(page, "plan", "-".join(["self", *(f"{layer}.{head}{'c' if head % 2 else 'g0'}"
                                             for layer in range(4) for head in range(8))]))
    expect(page.locator(".tile.constant")).to_have_count(16)


def test_rapid_keys_end_where_they_began(visit: Visit):
    page = visit(model="stories-softmax", at="1.1")
    tile(page, 0, 0).click()
    for _ in range(11):  # P on a pruned head restores it, so that an odd number of presses prunes
        for key in ("c", "ArrowRight", "p", "ArrowUp", "r", "ArrowLeft", "ArrowDown", "r"):
            page.keyboard.press(key)
    linked(page, "plan", "self-0.1g0")
    expect(tile(page, 0, 0)).to_be_focused()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_old_numbers_are_marked_until_the_newest_are_there(visit: Visit):
    page = visit(**LOOKUP)
    before = lab(page).bounding_box()
    page.locator('.layer-name[data-layer="0"]').click()
    linked(page, "at", "0.0.row")
    slow = Slow(page)
    page.keyboard.press("p")
    slow.wait()
    expect(page.locator(".cell.awaited")).to_have_count(4)
    expect(lab(page)).to_have_class(re.compile("dimmed"))
    expect(answer(page)).to_have_text("7")
    page.keyboard.press("r")
    slow.release()  # the answer of the pruned layer, which is not the newest question
    expect(answer(page)).to_have_text("3")
    expect(lab(page)).to_have_attribute("aria-busy", "true")
    expect(lab(page)).to_have_class(re.compile("dimmed"))
    slow.end()
    linked(page, "plan", None)
    expect(lab(page)).not_to_have_class(re.compile("old|dimmed"))
    expect(page.locator(".cell.awaited")).to_have_count(0)
    expect(answer(page)).to_have_text("7")
    assert lab(page).bounding_box() == before
    slow = Slow(page)
    type_text(page, "q=4; q=8; q=?")
    slow.wait()
    expect(lab(page)).to_have_attribute("aria-busy", "true")
    text_box(page).press_sequentially(" ")  # typed while the response is held back
    slow.end()
    expect(text_box(page)).to_have_value("q=4; q=8; q=? ")
    linked(page, "text", "q=4; q=8; q=? ")
    expect(answer(page)).to_have_text("8")
    expect(lab(page)).not_to_have_class(re.compile("old|dimmed"))


@pytest.mark.parametrize("undo", ["z", "Control+z", "Undo"])
def test_what_is_undone_was_done_before_however_slow_the_server_is(visit: Visit, undo: str):
    """Undo applies after the edits that precede it, even before Python has reported that there is a change."""
    page = visit(**LOOKUP)
    slow = Slow(page)
    tile(page, 0, 0).click()
    page.keyboard.press("c")
    page.keyboard.press("p")
    for _edit in range(2):
        if undo == "Undo":
            page.get_by_role("button", name=undo, exact=True).click(force=True)  # looks disabled until Python reports
        else:
            page.keyboard.press(undo)
    slow.end()
    linked(page, "plan", None)
    expect(page.locator(".tile:is(.pruned, .constant)")).to_have_count(0)
