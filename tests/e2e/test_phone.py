"""The app on a phone: places that a finger can hit, menus inside the window, the start page."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.app_page import answered, linked, tile

pytestmark = pytest.mark.browser


def box(element: Locator) -> dict[str, float]:
    """Returns the bounding box with `right` and `bottom`."""
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
