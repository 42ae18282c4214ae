"""Links in a real browser: they restore the whole state, and visitors never affect each other."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import answer, linked, query, text_box, tile, type_text

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
LOOKUP = {"model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}


def test_a_link_restores_everything_in_another_browser(visit: Visit):
    first = visit(**LOOKUP)
    type_text(first, "a=1; b=2; a=5; a=?")
    linked(first, "text", "a=1; b=2; a=5; a=?")
    tile(first, 1, 2).click()
    first.keyboard.press("p")
    tile(first, 2, 1).click()
    first.keyboard.press("c")
    first.get_by_role("button", name="contributions", exact=True).click()
    first.get_by_role("group", name="The text").locator(".word").nth(4).click()
    first.get_by_role("tab", name="All heads").click()
    first.locator('.tools [data-key="all.find"]').click()
    first.get_by_role("button", name="Keep this figure below").click()
    expect(first.locator(".pins figure")).to_have_count(1)
    expect(first.locator(".pins .drawing.find")).not_to_be_empty()
    linked(first, "plan", "self-1.2g0-2.1c")
    assert {"at", "lab"} <= query(first).keys()
    second = visit(**query(first))
    expect(second.locator(".pins .drawing.find")).not_to_be_empty()
    shown = [page.locator('[data-part="lab"]').aria_snapshot() for page in (first, second)]
    assert shown[0] == shown[1] and "pruned" in shown[0]
    assert query(second) == query(first)


def test_two_visitors_never_affect_each_other(visit: Visit):
    one, two = visit(**LOOKUP), visit(**LOOKUP)
    tile(one, 0, 1).click()
    one.keyboard.press("p")
    type_text(two, "b=6; b=?")
    linked(one, "plan", "self-0.1g0")
    linked(two, "text", "b=6; b=?")
    expect(two.locator(".tile.pruned")).to_have_count(0)
    expect(text_box(one)).to_have_value(LOOKUP["text"])
    expect(answer(two)).to_have_text("6")


def test_embedded_there_is_the_work_and_a_line_that_leads_to_the_lab(visit: Visit):
    page = visit(embed="true", model="stories-softmax", plan="self-0.0c")
    expect(page.get_by_role("navigation")).to_have_count(0)
    line = page.get_by_role("link", name=re.compile("Open this in Attention Lab"))
    tile(page, 1, 2).click()
    page.keyboard.press("p")
    linked(page, "plan", "self-0.0c-1.2g0")
    assert "embed=true" in page.url
    expect(line).to_have_attribute("href", re.compile("1.2g0"))
    assert "embed" not in line.get_attribute("href")
