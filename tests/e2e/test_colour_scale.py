"""The colour scale of maps and thumbnails in Chromium: square root or linear, in the link and in the colour bar.

pytest tests/e2e/test_colour_scale.py
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_explore import query

pytestmark = pytest.mark.browser

STATE = {"model": "assignment-softmax", "text": "x=1; y=3; x=7; y=5; x=?", "at": "1.2", "as": "matrix"}
# the sum of the three channels of every pixel of the first canvas that the locator finds
SUM = """element => {
  const canvas = element.matches('canvas') ? element : element.querySelector('canvas');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.reduce((sum, value, i) => sum + (i % 4 === 3 ? 0 : value), 0);
}"""


def ticks(page: Page) -> list[str]:
    return page.locator(".legend .tick").all_inner_texts()


@pytest.mark.parametrize("dark", [False, True])
def test_the_linear_scale_is_in_the_thumbnails_the_map_the_bar_and_the_link(visit, dark: bool):
    page = visit(dark=dark, **STATE)
    tile = page.get_by_role("gridcell").nth(10).locator("canvas")
    large = page.locator('[data-part="head_map"] .plot')
    before = tile.evaluate(SUM), large.evaluate(SUM), ticks(page)
    choice = page.get_by_label("Colour scale")
    expect(choice).to_have_value("root")
    choice.select_option("linear")
    page.wait_for_function("location.search.includes('shade=linear')")
    expect(page.locator(".legend .tick").nth(3)).to_have_text("0.75")
    assert "0.01" in before[2] and "0.01" not in ticks(page)
    page.wait_for_function("([canvas, old]) => {"
                           f"const sum = {SUM}; return sum(canvas) !== old;"
                           "}", arg=[tile.element_handle(), before[0]])
    # small weights are nearer to the page's background on the linear scale
    sign = -1 if dark else 1
    assert sign * (tile.evaluate(SUM) - before[0]) > 0
    assert sign * (large.evaluate(SUM) - before[1]) > 0
    page.reload()
    expect(page.get_by_label("Colour scale")).to_have_value("linear", timeout=60_000)
    expect(page.locator(".legend .tick").nth(3)).to_have_text("0.75")


def test_the_words_have_the_scale_too_and_undo_keeps_the_experiment(visit):
    page = visit(**{**STATE, "as": "words", "plan": "self-0.1c"})
    tinted = page.locator(".words .word").nth(3)
    before = tinted.evaluate("word => getComputedStyle(word).getPropertyValue('--tint')")
    choice = page.get_by_label("Colour scale")
    choice.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_function("location.search.includes('shade=linear')")
    page.wait_for_function("([word, old]) => getComputedStyle(word).getPropertyValue('--tint') !== old",
                           arg=[tinted.element_handle(), before])
    assert query(page)["plan"] == "self-0.1c"
    page.get_by_label("Colour scale").hover()
    expect(page.get_by_role("tooltip")).to_contain_text("On the linear scale")


@pytest.mark.parametrize("teach", ["0", "1"])
@pytest.mark.parametrize("width", [390, 1024, 1280, 1920])
@pytest.mark.parametrize("view", ["mask", "used"])
def test_the_labels_at_the_ends_of_the_bar_are_whole(visit, view: str, width: int, teach: str):
    page = visit(model="stories-selective", view=view, teach=teach)
    page.set_viewport_size({"width": width, "height": 900})
    ends = page.locator(".legend .tick").all()
    expect(page.locator(".legend .tick").last).to_have_text("100%" if view == "mask" else "1")
    panel = page.locator('[data-part="head_map"]').bounding_box()
    for end in (ends[0], ends[-1]):
        box = end.bounding_box()
        assert box["x"] >= panel["x"] - 0.5
        assert box["x"] + box["width"] <= panel["x"] + panel["width"] + 0.5
