"""Several heads selected by mouse, saved states, and the progress of lessons after a reload, in Chromium.

pytest tests/e2e/test_selecting.py
"""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.app.test_lessons import PLACES

STATE = {"page": "explore", "model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}


def tile(page: Page, layer: int, head: int) -> Locator:
    return page.locator(f'[data-scope="head"][data-layer="{layer}"][data-head="{head}"]')


def selected(page: Page) -> set[tuple[int, int]]:
    found = page.locator('[data-scope="head"][aria-selected="true"]')
    return {(int(its.get_attribute("data-layer")), int(its.get_attribute("data-head"))) for its in found.all()}


def test_heads_are_added_removed_and_boxed_and_pruned_together(visit: Callable[..., Page]):
    page = visit(**STATE)
    tile(page, 0, 1).click()
    tile(page, 2, 3).click(modifiers=["ControlOrMeta"])
    expect(tile(page, 2, 3)).to_have_attribute("aria-selected", "true")
    assert selected(page) == {(0, 1), (2, 3)}
    page.wait_for_function("location.search.includes('at=0.1.and.2.3')")
    tile(page, 2, 3).click(modifiers=["ControlOrMeta"])
    assert selected(page) == {(0, 1)}
    tile(page, 1, 2).click(modifiers=["Shift"])
    assert selected(page) == {(0, 1), (0, 2), (1, 1), (1, 2)}
    tile(page, 1, 0).hover()
    page.mouse.down()
    tile(page, 1, 1).hover()
    tile(page, 2, 1).hover()
    page.mouse.up()
    assert selected(page) == {(1, 0), (1, 1), (2, 0), (2, 1)}
    page.keyboard.press("p")
    page.wait_for_function("decodeURIComponent(location.search).includes('plan=self-1.0~1g0-2.0~1g0')")
    tile(page, 0, 0).click()  # after a drag, a click selects as usual
    assert selected(page) == {(0, 0)}


def test_a_state_is_saved_under_a_name_and_opened_again(visit: Callable[..., Page]):
    page = visit(**STATE, plan="self-1.1g0")
    menu = page.get_by_role("button", name="Saved states")
    menu.click()
    page.get_by_role("menuitem", name="Save this state…").click()
    page.get_by_role("textbox", name="Name of the state").fill("without one")
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Reset", exact=True).click()
    page.wait_for_function("!location.search.includes('plan=')")
    menu.click()
    page.get_by_role("menuitem", name="Open: without one").click()
    page.wait_for_function("location.search.includes('plan=self-1.1g0')")


def test_progress_in_lessons_survives_a_reload(visit: Callable[..., Page]):
    place = PLACES[0]
    page = visit(wait=False, lesson=str(place))
    page.locator('.tile[data-layer="1"][data-head="2"]').click()
    page.locator(".choice").first.click()
    expect(page.locator(".task.done")).to_be_visible()
    page.reload()
    page.goto(page.url.split("?")[0] + "?page=lessons")
    expect(page.get_by_text(f"1 of {sum(its.lesson == place.lesson for its in PLACES)} steps done")).to_be_visible()
