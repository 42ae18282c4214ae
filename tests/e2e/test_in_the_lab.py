"""The Lab in a real browser: typing and pruning change the answer, every state has a link, and its tools work."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import (
    ACTIVE,
    answer,
    answered,
    linked,
    query,
    state_button,
    tab_to,
    text_box,
    tile,
    type_text,
    view,
)

pytestmark = pytest.mark.browser

Visit = Callable[..., Page]
LOOKUP = {"model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}
STORY = {"model": "stories-softmax", "text": "The girl was sad because"}


def open_tool(page: Page, key: str) -> None:
    page.locator(f'.tools [data-key="{key}"]').click()
    expect(page.locator(f'.tools [data-key="{key}"]')).to_have_attribute("aria-pressed", "true")


def test_typing_is_answered_without_enter(visit: Visit):
    page = visit(**LOOKUP)
    expect(answer(page)).to_have_text("7")
    type_text(page, "q=4; q=8; q=?")
    expect(answer(page)).to_have_text("8")
    expect(page.locator(".field-row .notes")).to_contain_text("6 tokens")
    linked(page, "text", "q=4; q=8; q=?")
    expect(text_box(page)).to_be_focused()


def test_the_slider_over_a_training_changes_the_weights(visit: Visit):
    page = visit(model="assignment-softmax", text="y=7; x=1; x=3; z=5; x=?")
    expect(answer(page)).to_have_text("3")
    slider, shown = page.get_by_role("slider", name="Training step"), page.get_by_role("button", name="training")
    expect(slider).to_be_hidden()
    shown.click()
    expect(shown).to_have_attribute("aria-pressed", "true")
    slider.press("Home")
    linked(page, "step", "1")
    expect(page.locator(".lead")).to_contain_text("Softmax · step 1 ")
    expect(slider).to_have_attribute("aria-valuetext", "Trained for 1 step:")
    slider.press("z")
    linked(page, "step", None)
    expect(slider).to_have_attribute("aria-valuetext", re.compile("^The released model"))
    expect(answer(page)).to_have_text("3")


def test_buttons_keys_and_the_slider_change_the_computation(visit: Visit):
    page = visit(**LOOKUP)
    caption = page.locator(".caption")
    expect(caption).to_contain_text("Layer 1, head 1 gives")
    tile(page, 0, 1).click()
    expect(tile(page, 0, 1)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".side h2")).to_have_text("Layer 1, head 2 is")
    looked = caption.inner_text()
    for press, name, plan in (
            (lambda: page.keyboard.press("c"), "Layer 1, head 2, constant", "self-0.1c"),
            (lambda: state_button(page, "Pruned").click(), "Layer 1, head 2, pruned", "self-0.1cg0"),
            (lambda: state_button(page, "Live").click(), "Layer 1, head 2, live", None),
            (lambda: page.keyboard.press("p"), "Layer 1, head 2, pruned", "self-0.1g0"),
            (lambda: page.keyboard.press("r"), "Layer 1, head 2, live", None),
            (lambda: state_button(page, "Constant").click(), "Layer 1, head 2, constant", "self-0.1c")):
        press()
        expect(page.get_by_role("button", name=name, exact=True)).to_be_visible()
        linked(page, "plan", plan)
        expect(page.locator(".side .segment [aria-pressed=true]")).to_have_text(
            {"live": "Live", "constant": "Constant", "pruned": "Pruned"}[name.rpartition(" ")[2]])
    expect(caption).not_to_have_text(looked)
    state_button(page, "Live").click()
    slider = page.get_by_role("slider", name="Gate")
    slider.focus()
    for _ in range(12):
        slider.press("ArrowLeft")
    expect(tile(page, 0, 1)).to_have_accessible_name("Layer 1, head 2, gate 0.40")
    linked(page, "plan", "self-0.1g0.4")


def test_a_layer_and_all_heads_change_at_once_and_cost_the_answer(visit: Visit):
    page = visit(**LOOKUP)
    layer = page.locator('.layer-name[data-layer="0"]')
    layer.click()
    linked(page, "at", "0.0.row")
    expect(layer).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("p")
    expect(answer(page)).to_have_text("3")
    expect(page.locator(".answer .line")).to_contain_text("rank 3")  # the rank of this token before
    linked(page, "plan", "self-0.0~3g0")
    page.get_by_role("button", name="Undo all changes").click()
    expect(answer(page)).to_have_text("7")
    page.get_by_role("tab", name="All heads").click()
    state_button(page, "Constant").click()
    linked(page, "plan", "self-0.0~3c-1.0~3c-2.0~3c")
    expect(answer(page)).not_to_have_text("7")


def test_heads_are_added_removed_and_boxed_and_pruned_together(visit: Visit):
    page = visit(**LOOKUP)

    def selected(*heads: str) -> None:
        expect(page.locator(".tile.on")).to_have_count(len(heads))
        assert {f"{its['layer']}.{its['head']}" for its in page.locator(".tile.on").evaluate_all(
            "all => all.map(its => ({ ...its.dataset }))")} == set(heads)

    tile(page, 0, 1).click()
    tile(page, 2, 3).click(modifiers=["ControlOrMeta"])
    linked(page, "at", "0.1.and.2.3")
    selected("0.1", "2.3")
    tile(page, 2, 3).click(modifiers=["ControlOrMeta"])
    selected("0.1")
    tile(page, 1, 2).click(modifiers=["Shift"])
    selected("0.1", "0.2", "1.1", "1.2")
    page.keyboard.press("p")
    linked(page, "plan", "self-0.1~2g0-1.1~2g0")
    expect(page.locator(".side h2")).to_contain_text("are")


def test_undo_redo_back_forward_and_reset(visit: Visit):
    page = visit(**LOOKUP)
    undo, redo = (page.get_by_role("button", name=name, exact=True) for name in ("Undo", "Redo"))
    expect(undo).to_be_disabled()
    tile(page, 1, 1).click()
    page.keyboard.press("p")
    page.keyboard.press("Control+z")  # at once, even before Python has reported that there is a change to undo
    linked(page, "plan", None)
    expect(tile(page, 1, 1)).not_to_have_class(re.compile("pruned"))
    expect(redo).to_be_enabled()
    for step, is_constant in ((lambda: page.keyboard.press("c"), True), (lambda: page.go_back(), False),
                              (lambda: page.go_forward(), True), (undo.click, False), (redo.click, True),
                              (lambda: page.keyboard.press("z"), False), (lambda: page.keyboard.press("Shift+Z"), True),
                              (page.get_by_role("button", name="Undo all changes").click, False)):
        step()
        linked(page, "plan", "self-1.1c" if is_constant else None)
        expect(page.locator(".tile.constant")).to_have_count(int(is_constant))


def test_the_lab_by_keyboard_alone(visit: Visit):
    page = visit(**LOOKUP)
    stops = []
    for _press in range(60):  # of tiles, words and tabs only one is a stop of the Tab key
        page.keyboard.press("Tab")
        stops.append(page.evaluate(f"{ACTIVE}?.className || {ACTIVE}?.role || ''"))
        assert not page.evaluate(f"""{ACTIVE}.dataset.testid === 'stMain' ||
            Boolean({ACTIVE}.closest('[data-testid="stHeaderActionElements"]'))""")
        if "every" in stops[-1]:
            break
    assert "every" in stops[-1]
    for name in ("tile", "word", "tab"):
        assert sum(name in stop.split() for stop in stops) == 1, (name, stops)
    tab_to(page, ".tile", back=True)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowUp")
    expect(tile(page, 1, 1)).to_be_focused()
    page.keyboard.press("c")
    page.keyboard.press("-")
    expect(tile(page, 1, 1)).to_have_accessible_name("Layer 2, head 2, constant, gate 0.90")
    linked(page, "plan", "self-1.1cg0.9")
    page.keyboard.press("/")
    search = page.get_by_role("combobox", name="Search tools")
    expect(search).to_be_focused()
    page.keyboard.type("entropy p")  # `p` is no shortcut in the dialog
    expect(page.get_by_role("option")).not_to_have_count(0)
    page.keyboard.press("Control+a")
    page.keyboard.type("pruning order")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tab", name="All heads")).to_have_attribute("aria-selected", "true")
    expect(page.get_by_role("heading", name=re.compile("How many heads can go"))).to_be_visible()
    page.keyboard.press("?")
    expect(search).to_be_focused()
    page.keyboard.press("Escape")
    expect(search).to_be_hidden()
    tab_to(page, '[role="tab"]', back=True)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Word")).to_be_focused()
    assert query(page)["plan"] == "self-1.1cg0.9"


def test_the_scores_of_all_heads_are_scaled_by_log_n(visit: Visit):
    page = visit(model="stories-softmax", lab="all.scale")
    share = page.locator(".answer .big").text_content()
    view(page).get_by_role("button", name="log n").click()
    linked(page, "plan", "scale-logn9")  # the suggested base is half of the 19 tokens
    expect(page.locator(".answer .big")).not_to_have_text(share)
    base = view(page).get_by_label("base")
    base.fill("64")
    base.press("Enter")
    linked(page, "plan", "scale-logn64")
    expect(view(page)).to_contain_text("multiplies the scores by")


def test_a_continuation_streams_and_stops(visit: Visit):
    page = visit(**STORY, plan="self-0.0~7g0")
    page.get_by_role("tab", name="Answer").click()
    open_tool(page, "answer.cont")
    written, stop = view(page).locator(".written"), view(page).get_by_role("button", name="Stop", exact=True)
    expect(stop).to_be_visible(timeout=20_000)
    expect(view(page)).to_contain_text("With your changes")
    expect(written).to_have_count(2)
    expect(written.first).to_contain_text(re.compile(r"because \S+ \S+ \S+"))
    # an event between: its answer comes while the text is still being written
    page.get_by_role("group", name="The text").locator(".word").nth(2).click()
    page.wait_for_function("location.search.includes('answer.cont%7E2')")
    stop.click()
    expect(view(page).get_by_role("button", name="Continue the text")).to_be_visible(timeout=10_000)
    length = len(written.first.inner_text())
    view(page).get_by_role("button", name="By chance").click()
    view(page).get_by_role("button", name="Another seed").click()
    expect(stop).to_be_visible()
    linked(page, "draw", "0.8-0.95-2")
    page.wait_for_function("""before => [...document.querySelectorAll('*')].map(its =>
        its.shadowRoot?.querySelector('.written')).find(Boolean).innerText.length > before""", arg=length + 40)
    stop.click()


def test_the_gate_of_different_heads_is_their_mean(visit: Visit):
    for plan in ("self-0.0~3g0", "self-3.0~3g0"):
        page = visit(**STORY, plan=plan, lab="layer.mean", at=f"{plan[5]}.0")
        expect(page.get_by_role("slider", name="Gate")).to_have_value("0.5")


def test_another_model_keeps_what_fits_and_one_more_stands_beside_it(visit: Visit):
    page = visit(model="stories-selective", text="a cat", plan="self-1.1c")
    page.locator(".lead").get_by_role("button", name="Selective").click()
    page.get_by_role("menuitemradio", name=re.compile("^Dense Synthesizer Next word")).click()
    linked(page, "model", "stories-dense")
    expect(page.locator(".lead")).to_contain_text("Dense Synthesizer")
    expect(tile(page, 1, 1)).to_have_accessible_name("Layer 2, head 2, constant")
    expect(text_box(page)).to_have_value("a cat")
    page.get_by_role("tab", name="All heads").click()
    open_tool(page, "all.second")
    view(page).locator(".texts button").first.click()
    expect(view(page).locator("tbody tr")).to_have_count(2)
    expect(view(page).locator("figure")).to_have_count(2)
    other = query(page)["with"]
    view(page).locator("figure").last.get_by_role("button", name="L3·H4").click()
    linked(page, "at", "2.3")
    page.get_by_role("tab", name="All heads").click()
    view(page).get_by_role("button", name="✕").click()
    linked(page, "with", None)
    assert other.startswith("stories-")


def test_a_press_on_the_curve_prunes_in_its_order(visit: Visit):
    page = visit(**LOOKUP, lab="all.order")
    curve = view(page).get_by_role("img")
    box = curve.bounding_box()
    expect(view(page)).to_contain_text("now 12 of 12")
    curve.click(position={"x": box["width"] / 2, "y": box["height"] / 2})
    expect(view(page)).not_to_contain_text("now 12 of 12")
    answered(page)
    left = int(re.search(r"now (\d+) of 12", view(page).inner_text())[1])
    expect(page.locator(".tile.pruned")).to_have_count(12 - left)
    assert 3 <= left <= 9 and query(page)["plan"].startswith("self-")


def test_a_head_is_patched_from_a_second_text(visit: Visit):
    page = visit(**STORY, lab="head.carry", at="2.3")
    expect(answer(page)).to_have_text("she")
    field = view(page).get_by_role("textbox", name="Second text")
    expect(field).to_have_value(STORY["text"])
    field.fill("The boy was sad because")
    field.press("Enter")
    expect(view(page).get_by_role("listitem").first).to_contain_text("L3·H4")
    share = page.locator(".answer .big").text_content()
    view(page).get_by_role("button", name="Keep this head's value from the second text").click()
    linked(page, "plan", "self-2.3p")
    expect(tile(page, 2, 3)).to_have_accessible_name("Layer 3, head 4, patched")
    expect(page.locator(".answer .big")).not_to_have_text(share)
    other = visit(**query(page))
    expect(other.locator(".answer .big")).to_have_text(page.locator(".answer .big").text_content())
    other.keyboard.press("r")
    linked(other, "plan", None)


def test_a_typed_translation_is_read_in_place_of_the_models_own(visit: Visit):
    page = visit(model="translation-softmax", text="I don't have a dog.", lab="answer.own")
    field = view(page).get_by_role("textbox", name="Your text")
    field.press_sequentially("Ich habe Hund nicht.")
    field.press("Enter")
    linked(page, "write", "Ich habe Hund nicht.")
    expect(page.locator(".words").last).to_contain_text("nicht")
    expect(view(page).get_by_role("row").nth(3)).to_contain_text("keinen")
    view(page).get_by_role("button", name="The model's own").click()
    linked(page, "write", None)
    expect(page.locator(".words").last).not_to_contain_text("nicht")


def test_written_words_name_the_unmodified_model_while_another_text_is_written(visit: Visit):
    page = visit(model="translation-softmax", text="A dog runs.", plan="cross-0.0~7g0-1.0~7g0")
    expect(page.locator(".steps small")).not_to_be_empty()
    page.get_by_role("button", name="Undo all changes").click()
    linked(page, "plan", None)
    expect(page.locator(".steps small")).to_be_empty()


def test_a_word_of_a_masked_model_is_hidden(visit: Visit):
    page = visit(model="masked-softmax", lab="word.hide")
    word = view(page).get_by_role("button", name="little", exact=True)
    word.click()
    page.wait_for_function("new URLSearchParams(location.search).get('text')?.includes('[little]')")
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_role("group", name="The text").locator(".word.slot")).to_have_count(2)  # one from the example
    expect(text_box(page)).to_have_value(re.compile(r"\[little\]"))
    expect(answer(page)).to_have_text("little")


def test_several_questions_are_shown_one_at_a_time(visit: Visit):
    page = visit(model="assignment-selective", text="k=4; m=9; k=?; k=2; m=?; k=?")
    expect(answer(page)).to_have_text("2")
    page.get_by_role("group", name="The text").locator(".word", has_text="m=?").click()
    expect(answer(page)).to_have_text("9")
    linked(page, "ask", "1")
    page.reload()
    expect(answer(page)).to_have_text("9")


def test_on_a_phone_answer_and_text_are_in_view(visit: Visit):
    page = visit(phone=True, model="stories-selective", text="Once upon a time")
    bar = page.locator(".phone-bar")
    expect(bar).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("group", name="The text").locator(".word").last).to_be_in_viewport(ratio=1)
    before = bar.locator("small").inner_text()
    bar.get_by_role("button", name="Prune L1·H1").tap()
    linked(page, "plan", "self-0.0g0")
    expect(bar.locator("small")).to_have_text(re.compile("was " + re.escape(before)))
    bar.get_by_role("button", name="Restore").tap()
    linked(page, "plan", None)
