"""Explore in a real browser: typing and pruning change the prediction, and every state has a link.

pytest tests/e2e/test_explore.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import query, type_text
from tests.e2e.components_page import named

pytestmark = pytest.mark.browser

SELECTIVE = {"model": "assignment-selective"}


def cell(page: Page, layer: int, head: int):
    return page.get_by_role("gridcell", name=re.compile(rf"^layer {layer}, head {head},"))


def test_typing_answers_without_enter(visit):
    page = visit(**SELECTIVE)
    type_text(page, "q=4; q=8; q=?")
    expect(page.get_by_text("8 tokens")).not_to_be_visible()
    expect(page.get_by_text(re.compile(r"^6 tokens"))).to_be_visible()
    right = page.locator(".row.right")
    expect(right).to_contain_text("8")
    assert query(page)["text"] == "q=4; q=8; q=?"


def test_heads_are_a_grid_for_assistive_technology(visit):
    page = visit()
    expect(page.get_by_role("grid", name="Heads")).to_be_visible()
    expect(page.get_by_role("gridcell")).to_have_count(32)
    expect(named(page, "layer 1, head 1, live")).to_have_attribute("aria-selected", "true")


def test_a_click_a_key_and_the_slider_change_the_computation(visit):
    page = visit(**SELECTIVE)
    cell(page, 1, 1).click()
    page.keyboard.press("c")
    expect(named(page, "layer 1, head 1, constant")).to_be_visible()
    page.wait_for_function("location.search.includes('plan=self-0.0c')")
    expect(page.locator(".facts")).to_contain_text(re.compile(r"KL divergence .+? model\s*<?[0-9.]+ nats"))
    page.get_by_role("button", name="Prune", exact=True).click()
    expect(named(page, "layer 1, head 1, pruned")).to_be_visible()
    page.wait_for_function("location.search.includes('plan=self-0.0cg0')")
    page.get_by_role("button", name="Live", exact=True).click()
    expect(named(page, "layer 1, head 1, live")).to_be_visible()
    slider = page.get_by_role("slider", name="Gate")
    slider.focus()
    for _ in range(12):
        slider.press("ArrowLeft")
    expect(named(page, "layer 1, head 1, gate 0.40")).to_be_visible()
    page.wait_for_function("location.search.includes('plan=self-0.0g0.4')")


@pytest.mark.parametrize(("button", "plan"), [
    ("All heads of layer 2", "self-1.0~3c"), ("Head 3 of all layers", "self-0.2c-1.2c-2.2c"),
    ("All heads", "self-0.0~3c-1.0~3c-2.0~3c")])
def test_rows_columns_and_all_at_once(visit, button, plan):
    page = visit(**SELECTIVE)
    page.get_by_role("button", name=button, exact=True).click()
    page.get_by_role("button", name="Constant", exact=True).click()
    page.wait_for_function("plan => new URLSearchParams(location.search).get('plan') === plan", arg=plan)


def test_all_heads_constant_costs_the_answer(visit):
    page = visit(text="y=7; x=1; x=3; z=5; x=?", **SELECTIVE)
    right = page.locator(".row.right")
    expect(right).to_contain_text("3")
    page.get_by_role("button", name="All heads", exact=True).click()
    page.get_by_role("button", name="Constant", exact=True).click()
    expect(page.get_by_text(re.compile(r"worse")).first).to_be_visible()


def test_link_restores_everything_in_another_browser(visit):
    first = visit(**SELECTIVE)
    type_text(first, "a=1; b=2; a=5; a=?")
    cell(first, 2, 3).click()
    first.keyboard.press("p")
    first.get_by_role("tab", name="Mask F").click()
    first.wait_for_function("location.search.includes('view=mask') && location.search.includes('plan=')")
    first.get_by_role("button", name="Copy link").click()
    link = first.evaluate("navigator.clipboard.readText()")
    assert link == first.url
    second = visit(**query(first))
    expect(second.get_by_label("Text", exact=True)).to_have_value("a=1; b=2; a=5; a=?")
    expect(named(second, "layer 2, head 3, pruned")).to_have_attribute("aria-selected", "true")
    expect(second.get_by_role("tab", name="Mask F")).to_have_attribute("aria-selected", "true")


def test_what_was_just_done_can_be_undone_at_once(visit):
    """An edit can be undone at once, even before Python has reported that there is an edit to undo."""
    page = visit(**SELECTIVE)
    cell(page, 2, 2).click()
    page.keyboard.press("p")
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name="Redo", exact=True)).to_be_enabled()
    expect(named(page, "layer 2, head 2, live")).to_be_visible()
    page.wait_for_function("!location.search.includes('plan=')")


def test_back_forward_undo_redo_and_reset(visit):
    page = visit(**SELECTIVE)
    undo, redo = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    expect(undo).to_be_disabled()
    cell(page, 2, 2).click()
    page.keyboard.press("c")
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    page.wait_for_function("location.search.includes('plan=self-1.1c')")
    page.go_back()
    expect(named(page, "layer 2, head 2, live")).to_be_visible()
    page.go_forward()
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    undo.click()
    expect(named(page, "layer 2, head 2, live")).to_be_visible()
    redo.click()
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    page.get_by_role("button", name="Reset", exact=True).click()
    expect(named(page, "layer 2, head 2, live")).to_be_visible()
    page.wait_for_function("!location.search.includes('plan=')")


def test_explore_by_keyboard(visit):
    page = visit(**SELECTIVE)
    for _ in range(40):
        page.keyboard.press("Tab")
        inside = page.evaluate("""() => { let e = document.activeElement;
            while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement; return e?.getAttribute('role'); }""")
        if inside == "gridcell":
            break
    assert inside == "gridcell"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("c")
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    page.keyboard.press("-")
    expect(named(page, "layer 2, head 2, constant, gate 0.90")).to_be_visible()
    page.keyboard.press("r")
    expect(named(page, "layer 2, head 2, live")).to_be_visible()


def test_scale_of_log_n(visit):
    page = visit(model="stories-softmax")
    page.get_by_role("radio", name="log n").check()
    page.wait_for_function("location.search.includes('scale-logn9')")  # the suggested base is 9, half of the 19 tokens
    expect(page.locator('.scale .note')).to_contain_text("multiplies the scores by 1.34 at the last of 19 tokens")
    page.get_by_label("Base length").fill("64")
    page.get_by_label("Base length").press("Enter")
    page.wait_for_function("location.search.includes('scale-logn64')")
    page.locator(".st-key-sections input").click()
    page.get_by_role("option", name="See: Entropy").click()
    expect(page.get_by_text("Entropy against n")).to_be_visible()


def test_f_grows_token_by_token(visit):
    page = visit(text="y=7; x=1; x=3; z=5; x=?", view="mask", **{"as": "matrix"}, **SELECTIVE)
    step = page.get_by_role("slider", name="Token step")
    step.focus()
    step.press("Home")
    expect(step).to_have_value("0")
    page.get_by_role("button", name=re.compile("^Play")).click()
    expect(step).not_to_have_value("0", timeout=5000)


def test_continuation_streams_and_stops(visit):
    page = visit(model="stories-softmax", plan="self-0.0~7g0")
    page.get_by_role("button", name="Continue the text").click()
    expect(page.get_by_text(re.compile(r"^Unmodified(?: \(\d+ s left\))?$"))).to_be_visible(timeout=20_000)
    expect(page.get_by_text("With your changes", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"^…\S*.{4,}"))).to_have_count(2, timeout=20_000)
    stop = page.get_by_role("button", name="Stop", exact=True)
    if stop.is_visible():
        stop.click()
    expect(page.get_by_role("button", name="Continue the text")).to_be_visible(timeout=10_000)


def test_a_click_while_the_continuation_streams(visit):
    page = visit(model="stories-softmax", text="Once upon a time", plan="self-0.1c")
    page.get_by_role("button", name="Continue the text").click()
    page.get_by_role("button", name="Stop", exact=True).wait_for()
    cell(page, 3, 4).click()
    expect(page.get_by_text("Layer 3, head 4").first).to_be_visible()
    expect(page.get_by_role("button", name="Continue the text")).to_be_visible(timeout=60_000)
    text = page.get_by_text(re.compile(r"^…")).first.inner_text()
    assert len(text.split()) > 12
    expect(page.locator(".st-key-sections input")).to_have_value("See: Head")


def test_what_is_written_does_not_push_the_page_about(visit):
    """While text is generated up to the model's limit, the height of the page does not change.

    At the end both continuations are scrolled to the position where they begin to differ.
    """
    page = visit(model="stories-softmax", text="Once upon a time", draw="0.9-0.95-3", plan="self-0.1c")
    work = page.locator(".st-key-work")
    page.locator('[data-part="effect"][data-drawn]').wait_for()
    page.wait_for_timeout(1000)  # waits until all elements have their final height
    before = work.bounding_box()["height"]
    page.get_by_role("button", name="Continue the text").click()
    # "Unmodified" replaces the remaining time
    expect(page.get_by_text("Unmodified", exact=True)).to_be_visible(timeout=90_000)
    expect(page.get_by_role("button", name="Continue the text")).to_be_visible()
    expect(page.get_by_text("Unmodified", exact=True)).to_be_in_viewport()
    written = page.get_by_text(re.compile(r"^…"))
    assert written.count() == 2 and len(written.first.inner_text().split()) > 30
    assert work.bounding_box()["height"] == before
    scrolled = page.evaluate("""() => [...document.querySelectorAll('[data-testid="stText"]')].slice(-2).map(box => {
        for (let node = box; node; node = node.parentElement)
            if (node.scrollHeight > node.clientHeight + 1 && getComputedStyle(node).overflowY === 'auto')
                return node.scrollTop;
        return null; })""")
    assert scrolled == [0, 0]


def test_several_questions_are_shown_one_at_a_time(visit):
    page = visit(text="k=4; m=9; k=?; k=2; m=?; k=?", **SELECTIVE)
    expect(page.locator(".row.right")).to_contain_text("2")
    page.get_by_role("button", name="Previous prediction").click()
    expect(page.locator(".row.right")).to_contain_text("9")
    page.wait_for_function("location.search.includes('ask=1')")
    page.reload()
    expect(page.locator(".row.right")).to_contain_text("9")


def test_rapid_keys_do_not_lose_the_connection(visit):
    page = visit()
    cell(page, 1, 1).click()
    for _ in range(12):
        for key in ("c", "ArrowRight", "p", "ArrowDown", "r", "ArrowLeft", "ArrowUp"):
            page.keyboard.press(key)
    expect(named(page, "layer 1, head 1, live")).to_be_visible()
    page.wait_for_function("location.search.includes('at=') === false || !location.search.includes('at=1')")
    assert page.get_by_role("dialog").count() == 0


def test_two_visitors_never_affect_each_other(visit):
    one, two = visit(**SELECTIVE), visit(**SELECTIVE)
    cell(one, 1, 2).click()
    one.keyboard.press("p")
    type_text(two, "b=6; b=?")
    expect(named(one, "layer 1, head 2, pruned")).to_be_visible()
    expect(named(two, "layer 1, head 2, live")).to_be_visible()
    expect(one.get_by_label("Text", exact=True)).not_to_have_value("b=6; b=?")


def test_switching_model_keeps_what_fits(visit):
    page = visit(text="a cat", plan="self-1.1c")
    page.get_by_role("button", name=re.compile("^Model: Next word, Selective")).click()
    page.get_by_role("dialog").get_by_role("link", name=re.compile("^Softmax Each word")).click()
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    page.wait_for_function("location.search.includes('model=stories-softmax')")
    expect(page.get_by_label("Text", exact=True)).to_have_value("a cat")


def test_phone_width_shows_everything_without_sideways_scrolling(visit):
    page = visit(phone=True)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    boxes = page.get_by_role("gridcell").all()
    assert all(box.bounding_box()["x"] + box.bounding_box()["width"] <= 390 for box in boxes)


@pytest.mark.parametrize("state", [{"model": "stories-softmax"}, {"model": "stories-selective"}],
                         ids=["softmax", "selective"])
def test_the_first_change_brings_the_views_and_moves_no_word(visit, state):
    page = visit(page="explore", **state)
    views = page.get_by_role("tablist", name="View of the head")
    mask = ["Mask F"] if state["model"] == "stories-selective" else []
    expect(views.get_by_role("tab")).to_have_text(["Used", *mask] if mask else [])
    word = page.locator(".word").first
    word.wait_for()
    top = word.bounding_box()["y"]
    page.get_by_role("button", name="Prune", exact=True).click()
    both = ["Used", "Computed", "After − before", "Constant", "C − computed", *mask]
    expect(views.get_by_role("tab")).to_have_text(both)
    assert abs(word.bounding_box()["y"] - top) <= 1
    expect(page.get_by_text("This head is pruned: its output is multiplied by 0.")).to_be_visible()
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(views.get_by_role("tab")).to_have_count(len(["Used", *mask]) if mask else 0)


def test_main_work_fits_one_screen(visit):
    page = visit(plan="self-1.1c", **SELECTIVE)
    for part in (page.get_by_role("grid"), page.get_by_role("slider", name="Gate"),
                 page.locator("[role=tab][data-name=difference]")):
        box = part.bounding_box()
        assert box["y"] + box["height"] <= 900


def test_about_keeps_the_state(visit):
    page = visit(plan="self-1.1c", **SELECTIVE)
    page.get_by_role("link", name="About").click()
    expect(page.get_by_text("TinyStories").first).to_be_visible()
    page.get_by_role("link", name="Lab", exact=True).click()
    page.wait_for_function("location.search.includes('page=lab') && location.search.includes('plan=self-1.1c')")
    expect(page.locator('[data-part="lab"] .tile').first).to_be_visible()


def test_a_model_is_chosen_by_task_and_by_what_people_call_it(visit):
    page = visit(text="A red ball", plan="self-1.1c")
    chooser = page.get_by_role("button", name=re.compile("^Model: Next word, Selective"))
    chooser.click()
    dialog = page.get_by_role("dialog", name="Choose a model")
    expect(dialog.get_by_role("link", name=re.compile("^Selective Softmax"))).to_be_focused()
    assert "stories-" not in dialog.inner_text()
    dialog.get_by_role("tab", name="Variables").click()
    expect(dialog.get_by_role("link")).to_have_count(4)
    dialog.get_by_role("link", name=re.compile("^Softmax")).click()
    page.wait_for_function("location.search.includes('model=assignment-softmax')")
    expect(page.get_by_label("Text", exact=True)).to_have_value("y=7; x=1; x=3; z=5; x=?")
    page.keyboard.press("p")  # all dialogs are closed, and the constant head of the link is selected
    expect(named(page, "layer 2, head 2, pruned")).to_be_visible()
    page.get_by_role("button", name=re.compile("^Model: Variables, Softmax")).press("Enter")
    dialog.get_by_role("tab", name="Variables").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("p")  # a shortcut of the head grid, which must have no effect in the dialog
    dialog.get_by_role("link", name=re.compile("^Softmax Each word")).click()
    page.wait_for_function("location.search.includes('model=stories-softmax')")
    expect(page.get_by_label("Text", exact=True)).to_have_value("A red ball")
    expect(named(page, "layer 2, head 2, constant")).to_be_visible()
    expect(page.get_by_role("gridcell", name=re.compile("pruned"))).to_have_count(0)


def test_the_first_screen_shows_the_sentence_and_what_its_last_word_looks_at(visit):
    page = visit()
    expect(page.locator(".words .word")).to_have_count(19)
    expect(page.locator(".words .now")).to_have_text(re.compile("^day"))
    expect(page.locator(".readout .first")).to_contain_text("“day” attends to ")
    page.get_by_role("tab", name="Matrix").click()
    page.wait_for_function("location.search.includes('as=matrix')")
    page.reload()
    expect(page.locator(".plot")).to_be_visible()


@pytest.mark.parametrize("phone", [False, True])
def test_a_click_and_its_effect_are_visible_on_one_screen(visit, phone):
    page = visit(phone=phone)
    if not phone:
        page.set_viewport_size({"width": 853, "height": 800})  # a screen of 1280 px at 150%
    page.wait_for_timeout(300)
    press = page.get_by_role("button", name="Constant", exact=True)
    effect = page.locator('[data-part="effect"] .answer')
    assert effect.bounding_box()["y"] - press.bounding_box()["y"] < 300
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_one_can_type_and_watch_entropy_on_one_screen(visit):
    page = visit(model="stories-softmax", open="entropy")
    box = page.get_by_label("Text", exact=True).bounding_box()
    chart = page.locator('[data-part="figure"]').first
    chart.wait_for()
    assert box["y"] >= 0
    assert chart.bounding_box()["y"] + 250 < 900
    expect(page.locator(".words")).to_have_count(0)


def test_no_stop_of_the_tab_key_is_useless(visit):
    page = visit()
    page.get_by_label("Text", exact=True).wait_for()
    useless = 0
    for _ in range(34):
        page.keyboard.press("Tab")
        useless += page.evaluate("""() => { const e = document.activeElement;
            return e.dataset.testid === 'stMain' || e.getAttribute('aria-label') === 'Link to heading'
                || e.closest('[data-testid="stHeaderActionElements"]') ? 1 : 0; }""")
    assert not useless


def test_another_seed_writes_on_and_moves_nothing_else(visit):
    """A new seed replaces the continuation, and elements on the page do not move.

    If the text cannot be continued, the button is disabled.
    """
    page = visit(text="The little dog")
    box, another = page.get_by_label("Text", exact=True), page.get_by_role("button", name="Another seed")
    before = box.bounding_box()
    another.click()
    expect(page.locator(".st-key-goes-on")).to_contain_text("Unmodified")
    # the generation has ended
    expect(page.get_by_role("button", name="Continue the text")).to_be_visible(timeout=30_000)
    assert box.bounding_box() == before
    box.fill("")
    expect(another).to_be_disabled()


def test_mask_f_and_log_n_are_explained_without_a_tip(visit):
    page = visit(model="stories-selective", view="mask")
    expect(page.locator('[data-part="head_map"] .note')).to_contain_text("voted to hide a word")
    expect(page.get_by_role("radio", name="log n: sharper in longer texts")).to_be_visible()
