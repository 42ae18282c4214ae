"""The text box in a real browser: each key, undo, composed characters, height, long texts, screen readers.

pytest tests/e2e/test_text_box.py
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, Page, expect

from app.state.lab_state import MAX_TEXT
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

STATE = {"model": "assignment-selective", "text": "a=1; a=?"}


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Text", exact=True)


def read(page: Page, text: str) -> None:
    """Waits until the address contains the text, which means that Python has responded to it."""
    page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=text)


def test_each_key_is_answered_by_the_route_without_a_run_of_the_script(visit):
    page = visit(**STATE)
    events = []
    page.on("request", lambda request: events.append(request.url) if request.url.endswith("/events") else None)
    page.evaluate("""() => { globalThis.runs = 0;
        new MutationObserver(() => { runs += 1; }).observe(document.querySelector('[data-testid="stApp"]'),
            { attributes: true, attributeFilter: ['data-test-script-state'] }); }""")
    box(page).press("End")
    for number, key in enumerate("; b=2", 1):
        box(page).press(key)
        read(page, "a=1; a=?" + "; b=2"[:number])
    assert len(events) >= 5 and page.evaluate("runs") == 0


def test_the_box_has_an_undo_of_its_own(visit):
    page = visit(**STATE)
    box(page).press("End")
    for key in "; c=4":
        box(page).press(key)
    read(page, "a=1; a=?; c=4")
    for _ in range(5):
        box(page).press("Control+z")
    read(page, "a=1; a=?")
    expect(box(page)).to_have_value("a=1; a=?")
    page.get_by_role("gridcell").nth(3).click()
    page.keyboard.press("Control+z")  # outside the box, the same key undoes the last change in the app
    page.get_by_role("button", name="Redo", exact=True).click()
    expect(box(page)).to_have_value(query(page)["text"])


def test_characters_that_an_input_method_composes_are_sent_when_they_are_complete(visit):
    page = visit(model="stories-softmax", text="The cat ")
    bodies = []
    page.on("request", lambda request: bodies.append(request.post_data) if request.url.endswith("/events") else None)
    session = page.context.new_cdp_session(page)
    box(page).press("End")
    for letters in ("n", "ni", "nih", "nihao"):
        session.send("Input.imeSetComposition", {"text": letters, "selectionStart": len(letters),
                                                 "selectionEnd": len(letters)})
        page.wait_for_timeout(50)
    assert not any("nih" in body for body in bodies)
    session.send("Input.insertText", {"text": "你好"})
    read(page, "The cat 你好")
    expect(box(page)).to_have_value("The cat 你好")
    assert not any("nih" in body for body in bodies)


@pytest.mark.parametrize(("length", "kept"), [(100_000, 100_000), (MAX_TEXT + 10, MAX_TEXT)])
def test_a_long_text_that_is_pasted_is_cut_with_a_message(length: int, kept: int, visit):
    page = visit(model="stories-softmax", text="The cat")
    page.evaluate("text => navigator.clipboard.writeText(text)", "word " * (length // 5))
    box(page).press("Control+a")
    box(page).press("Control+v")
    notice = page.locator('[data-part="notice"]')
    expect(notice).to_contain_text("left out", timeout=20_000)
    if kept < length:
        expect(notice).to_contain_text(f"{length:,} characters; the first {kept:,} were kept")
    assert len(box(page).input_value()) == kept


def test_what_is_typed_meanwhile_stays_and_the_selection_too(visit):
    page = visit(**STATE)
    box(page).evaluate("element => { element.focus(); element.setSelectionRange(2, 3); }")
    page.keyboard.type("7")
    read(page, "a=7; a=?")
    assert box(page).evaluate("element => [element.selectionStart, element.value]") == [3, "a=7; a=?"]


def test_the_box_is_named_described_and_not_corrected(visit):
    page = visit(**STATE)
    expect(box(page)).to_have_attribute("spellcheck", "false")
    expect(box(page)).to_have_attribute("dir", "auto")
    expect(box(page)).to_have_attribute("translate", "no")
    expect(box(page)).to_have_accessible_description(f"At most {MAX_TEXT:,} characters")
    box(page).fill("")
    expect(box(page)).to_have_attribute("placeholder", "a=1; a=?")


STORY = "Once upon a time there was a little dragon who was afraid of the dark. One day the dragon met a girl"
MODEL = "stories-softmax"
# Returns whether the box scrolls, and its height on the screen.
HEIGHT = "its => [its.scrollHeight > its.clientHeight, its.getBoundingClientRect().height]"


@pytest.mark.parametrize(("width", "state"), [
    (390, {"page": "explore"}), (390, {"page": "compare"}), (768, {"page": "explore"}),
    (1280, {"page": "explore", "teach": "1"})], ids=str)
def test_the_whole_text_is_visible(width: int, state: dict[str, str], visit):
    page = visit(**{"model": MODEL, "text": STORY} | state)
    page.set_viewport_size({"width": width, "height": 800})
    page.wait_for_timeout(300)
    scrolls, height = box(page).evaluate(HEIGHT)
    assert not scrolls and height < 0.2 * 800
    box(page).fill("a")
    assert box(page).evaluate(HEIGHT)[1] < height


def test_the_box_grows_by_lines_and_then_scrolls(visit):
    page = visit(model=MODEL, text="The cat")
    line = box(page).evaluate("its => parseFloat(getComputedStyle(its).lineHeight)")
    _scrolls, least = box(page).evaluate(HEIGHT)
    heights = set()
    for count in range(0, 200, 4):
        box(page).fill("The cat " + "sat " * count)
        heights.add(round((box(page).evaluate(HEIGHT)[1] - least) / line, 2))
    assert heights == {0, 1, 2, 3}
    box(page).fill("The cat " + "sat " * 1000)
    scrolls, height = box(page).evaluate(HEIGHT)
    assert scrolls and height == pytest.approx(least + 3 * line)
    box(page).fill("")
    assert box(page).evaluate(HEIGHT) == [False, least]


def test_neither_the_enter_key_nor_a_pasted_text_inserts_line_breaks(visit):
    page = visit(model=MODEL, text="The cat ")
    box(page).press("End")
    box(page).press("Enter")
    box(page).press("Shift+Enter")
    expect(box(page)).to_have_value("The cat ")
    page.evaluate("navigator.clipboard.writeText('sat\\non\\r\\nthe mat')")
    box(page).press("Control+v")
    read(page, "The cat sat on the mat")
    expect(box(page)).to_have_value("The cat sat on the mat")
    box(page).press("Control+z")
    expect(box(page)).to_have_value("The cat ")


def test_the_box_has_the_whole_width_of_a_phone(visit):
    """The number of tokens and the examples are below the box, beside each other."""
    page = visit(phone=True, page="explore")
    place = box(page).bounding_box()
    assert place["width"] >= 390 - 24
    count, examples = (page.locator(its).bounding_box() for its in (".st-key-notice", ".st-key-example"))
    assert count["y"] == pytest.approx(examples["y"], abs=2) and count["y"] >= place["y"] + place["height"]
    assert count["x"] + count["width"] <= examples["x"] and examples["x"] + examples["width"] <= 390
