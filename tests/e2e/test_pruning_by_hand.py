"""Pruning and Heads in a real browser: pruning by keys, by a click in a chart, and by selecting points.

Links restore the state.

pytest tests/e2e/test_pruning_by_hand.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from app.state import session
from studies import store
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser


def pruned(page: Page) -> int:
    """Returns the number of tiles in the grid that are displayed as pruned."""
    return page.get_by_role("gridcell", name=re.compile(", pruned")).count()


def test_the_slider_prunes_and_restores_heads(visit):
    """The slider works by keyboard, the prediction changes, undo restores it, and a link opens the same state."""
    page = visit(page="pruning", model="stories-softmax", order="alone.all")
    slider = page.get_by_role("slider", name=re.compile("Heads left"))
    expect(slider).to_have_value("32")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    page.wait_for_function("location.search.includes('plan=')")
    expect(page.get_by_text("26 of 32 heads are left.", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(6)
    expect(page.get_by_text(re.compile(r"\d → \d")).first).to_be_visible()
    link = query(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("32 of 32 heads are left.", exact=True)).to_be_visible()
    again = visit(**link)
    expect(again.get_by_text("26 of 32 heads are left.", exact=True)).to_be_visible()
    expect(again.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(6)


# JavaScript: records [position of the slider, position of the mark in the chart] in every frame
WATCH = """slider => {
    const hosts = [...document.querySelectorAll('*')].filter(element => element.shadowRoot);
    const mark = () => hosts.map(host => host.shadowRoot.querySelector('[data-part="figure"] [data-x]')).find(Boolean);
    globalThis.shownPlaces = [];
    const look = () => {
        shownPlaces.push([slider.getAttribute('aria-valuetext'), mark()?.dataset.x].map(Number));
        requestAnimationFrame(look);
    };
    look();
}"""


def test_quick_presses_lose_nothing(visit):
    """Sixteen key presses without a pause prune sixteen heads, in one undo step.

    The slider never moves back when responses to earlier presses arrive, and the mark in the chart moves with the
    slider.
    """
    page = visit(page="pruning", model="translation-softmax", order="alone.all", text="The dog sleeps.")
    slider = page.get_by_role("slider", name=re.compile("Heads left"))
    expect(page.locator('[data-part="figure"] [role="application"]').first).to_be_visible()
    slider.focus()
    slider.evaluate(WATCH)
    for _ in range(16):
        page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("56 of 72 heads are left.", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(16)
    page.wait_for_timeout(1500)  # time for late responses
    expect(slider).to_have_attribute("aria-valuetext", "56")
    assert pruned(page) == 16
    places = page.evaluate("shownPlaces")
    assert all(slider == mark for slider, mark in places)
    assert places == sorted(places, reverse=True) and len({slider for slider, _ in places}) > 2
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("72 of 72 heads are left.", exact=True)).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(0)


def test_other_heads_are_other_places(visit):
    """If another set of heads is selected while slider positions are still being sent, they apply to the old set."""
    page = visit(page="pruning", model="translation-softmax", order="alone.all", text="The dog sleeps.")
    slider = page.get_by_role("slider", name=re.compile("Heads left, of 72"))
    encoder = page.get_by_role("radio", name="Encoder")
    slider.evaluate("""(slider, encoder) => {
        for (const value of [71, 56]) {
            slider.value = value;
            slider.dispatchEvent(new Event('input'));
        }
        encoder.click();
    }""", encoder.element_handle())
    its = page.get_by_role("slider", name=re.compile("Heads left, of 24"))
    expect(its).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(16)
    gone = page.get_by_role("gridcell", name=re.compile("^Encoder.*, pruned")).count()
    expect(its).to_have_attribute("aria-valuetext", str(24 - gone))
    expect(page.locator("[data-part=figure] .plot[data-x]").first).to_have_attribute("data-x", str(24 - gone))
    its.press("Home")
    expect(page.get_by_role("gridcell", name=re.compile("^Encoder.*, pruned"))).to_have_count(24)
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(24 + 16 - gone)


def test_a_drag_with_the_pointer(visit):
    """A drag is one undo step, even if another drag follows quickly.

    The back and forward buttons of the browser go through the same steps.
    """
    page = visit(page="pruning", model="stories-softmax", order="alone.all")
    slider = page.get_by_role("slider", name=re.compile("Heads left"))
    for key, left in (("PageDown", None), ("Home", 0), ("PageUp", None), ("End", 32)):
        slider.press(key)
        if left is not None:
            expect(slider).to_have_attribute("aria-valuetext", str(left))
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(0)
    box = slider.bounding_box()
    assert box
    y, places = box["y"] + box["height"] / 2, []
    for start, end in ((1, 0.75), (0.75, 0.25)):
        page.mouse.move(box["x"] + 8 + start * (box["width"] - 16), y)
        page.mouse.down()
        for step in range(1, 21):
            page.mouse.move(box["x"] + 8 + (start + (end - start) * step / 20) * (box["width"] - 16), y)
        page.mouse.up()
        places.append(int(slider.get_attribute("aria-valuetext") or ""))
        expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(32 - places[-1])
        assert slider.bounding_box() == box  # nothing above the slider comes or goes during a drag
    assert abs(places[0] - 24) <= 1 and abs(places[1] - 8) <= 1
    for does, left in (("Undo", places[0]), ("Undo", 32), ("Redo", places[0]), ("Redo", places[1])):
        page.get_by_role("button", name=does).click()
        expect(slider).to_have_attribute("aria-valuetext", str(left))
    page.go_back()
    expect(slider).to_have_attribute("aria-valuetext", str(places[0]))
    page.go_forward()
    expect(slider).to_have_attribute("aria-valuetext", str(places[1]))
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(32 - places[1])


def test_a_click_in_the_chart(visit):
    """A click at a number of heads prunes to this number. The arrow keys, Home and End change the number."""
    page = visit(page="pruning", model="stories-softmax", order="alone.all")
    chart = page.get_by_role("application").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    chart.click(position={"x": 0.3 * box["width"], "y": 150})
    page.wait_for_function("location.search.includes('plan=')")
    slider = page.get_by_role("slider", name=re.compile("Heads left"))
    expect(slider).not_to_have_value("32")
    left = int(slider.input_value())
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(32 - left)
    chart.focus()
    page.keyboard.press("Home")
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(32)


def test_another_order_keeps_the_number(visit):
    page = visit(page="pruning", model="stories-softmax", order="random.all", plan="self-0.0g0")
    expect(page.get_by_text(re.compile("31 of 32 heads are left[^.]"))).to_be_visible()
    slider = page.get_by_role("slider", name=re.compile("Heads left"))
    slider.focus()
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("30 of 32 heads are left.", exact=True)).to_be_visible()
    page.wait_for_function("new URLSearchParams(location.search).get('plan') !== 'self-0.0g0'")
    before = query(page)["plan"]
    page.locator(f".st-key-{session.ORDER}").get_by_role("combobox").click()
    page.get_by_role("option", name="Confidence").click()
    page.wait_for_function("before => new URLSearchParams(location.search).get('plan') !== before", arg=before)
    expect(page.get_by_text("30 of 32 heads are left.", exact=True)).to_be_visible()
    assert query(page)["order"] == "confidence.all"


# the names in the list of picked heads
CHIPS = f".st-key-{session.PICKED.replace(' ', '-')} .react-aria-ComboBox [data-tag]"


def test_a_click_selects_a_head_and_a_lasso_picks_heads(visit):
    """A click on a point selects the head of this point.

    The lasso and the rectangle pick all heads inside, which can then be pruned.
    """
    page = visit(page="heads", model="stories-softmax", show="loss.confidence.corpus")
    plot = page.locator(".js-plotly-plot")
    plot.locator(".points path").nth(9).click(force=True)
    expect(page.get_by_role("gridcell", name=re.compile("^layer 2, head 2,"))).to_have_attribute(
        "aria-selected", "true")
    chips = page.locator(CHIPS)
    losses = store.read("stories-softmax", "heads")["kinds"]["self"]["loss"]
    least, most = min(map(min, losses)), max(map(max, losses))
    middle = least + 0.4 * (most - least)  # the axis has a margin of 6% at both ends
    inside = sum(loss > middle for row in losses for loss in row)
    assert 0 < inside < 32
    left = (0.06 + 0.4) / 1.12
    for tool, corners, count in (
            ("Lasso Select", [(0.01, 0.01), (0.99, 0.01), (0.99, 0.99), (0.01, 0.99), (0.01, 0.01)], 32),
            ("Box Select", [(left, 0.01), (0.99, 0.99)], inside)):
        page.locator(f'.modebar-btn[data-title="{tool}"]').click()
        expect(page.locator(f'.modebar-btn[data-title="{tool}"].active')).to_be_visible()
        drag = plot.locator(".nsewdrag").first.bounding_box()
        assert drag
        places = [(drag["x"] + x * drag["width"], drag["y"] + y * drag["height"]) for x, y in corners]
        page.mouse.move(*places[0])
        page.mouse.down()
        for place in places[1:]:
            page.mouse.move(*place, steps=6)
        page.mouse.up()
        expect(chips).to_have_count(count)
    page.locator(".st-key-picked").get_by_role("button", name="Prune").click()
    expect(page.get_by_role("gridcell", name=re.compile(", pruned"))).to_have_count(inside)


def test_heads_are_picked_by_keys(visit):
    """The list of picked heads works by keyboard, and the chart shows the same heads."""
    page = visit(page="heads", model="stories-softmax")
    page.get_by_label("Picked heads").last.focus()
    for key in ("1", ".", "3", "Enter"):
        page.keyboard.press(key)
    chips = page.locator(CHIPS)
    expect(chips).to_have_text(re.compile("^1.3"))
    page.keyboard.press("Escape")  # closes the list
    prune = page.locator(".st-key-picked").get_by_role("button", name="Prune")
    expect(prune).to_be_enabled()  # the server enables it for the picked head
    prune.press("Enter")
    expect(page.get_by_role("gridcell", name=re.compile("^layer 1, head 3, pruned"))).to_have_count(1)


@pytest.mark.parametrize("width", [390, 768, 1920])
def test_it_fits_the_window(visit, width: int):
    page = visit(page="pruning", model="stories-softmax")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(500)
    ends = page.locator("[data-testid=stColumn], canvas, svg").evaluate_all(
        "all => all.map(its => its.getBoundingClientRect().right)")
    assert max(ends) <= width


def test_roles_and_their_sentences(visit):
    """The filter shows the badges of one role only. For the selected head its role is displayed with example sentences.
    """
    page = visit(page="heads", model="stories-softmax")
    pill = page.get_by_role("radio", name=re.compile("verb → object"))
    pill.click()
    page.wait_for_function("location.search.includes('obj+down')")
    tile = page.get_by_role("gridcell", name=re.compile("verb → object")).first
    tile.click()
    expect(page.get_by_text(re.compile("the best fixed distance")).first).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_meaning_of_the_marks_below_the_tiles_is_in_view(visit, language: str):
    page = visit(page="heads", model="stories-selective", lang=language)
    page.set_viewport_size({"width": 1280, "height": 800})
    key = page.get_by_text(re.compile("S↑ .*O↓ ")).first
    expect(key).to_be_in_viewport(ratio=1)
