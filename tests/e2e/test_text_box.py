"""The text box in a real browser: each key, undo, composed characters, long and invalid texts, screen readers."""

import pytest
from playwright.sync_api import expect

from app.state.lab_state import MAX_TEXT
from tests.e2e.app_page import answer, go, linked, notice, query, text_box, tile

pytestmark = pytest.mark.browser

STATE = {"model": "assignment-selective", "text": "a=1; a=?"}


def test_each_key_is_answered_by_the_route_without_a_run_of_the_script(visit):
    page = visit(**STATE)
    events = []
    page.on("request", lambda request: events.append(request.url) if request.url.endswith("/events") else None)
    page.evaluate("""() => { globalThis.runs = 0;
        new MutationObserver(() => { runs += 1; }).observe(document.querySelector('[data-testid="stApp"]'),
            { attributes: true, attributeFilter: ['data-test-script-state'] }); }""")
    text_box(page).press("End")
    for number, key in enumerate("; b=2", 1):
        text_box(page).press(key)
        linked(page, "text", "a=1; a=?" + "; b=2"[:number])
    assert len(events) >= 5 and page.evaluate("runs") == 0


def test_the_box_has_an_undo_of_its_own(visit):
    page = visit(**STATE)
    text_box(page).press("End")
    for key in "; c=4":
        text_box(page).press(key)
    linked(page, "text", "a=1; a=?; c=4")
    for _ in range(5):
        text_box(page).press("Control+z")
    linked(page, "text", "a=1; a=?")
    expect(text_box(page)).to_have_value("a=1; a=?")
    tile(page, 0, 3).click()
    page.keyboard.press("Control+z")  # outside the box, the same key undoes the last change in the app
    page.get_by_role("button", name="Redo", exact=True).click()
    expect(text_box(page)).to_have_value(query(page)["text"])


def test_characters_that_an_input_method_composes_are_sent_when_they_are_complete(visit):
    page = visit(model="stories-softmax", text="The cat ")
    bodies = []
    page.on("request", lambda request: bodies.append(request.post_data) if request.url.endswith("/events") else None)
    session = page.context.new_cdp_session(page)
    text_box(page).press("End")
    for letters in ("n", "ni", "nih", "nihao"):
        session.send("Input.imeSetComposition", {"text": letters, "selectionStart": len(letters),
                                                 "selectionEnd": len(letters)})
        page.wait_for_timeout(50)
    assert not any("nih" in body for body in bodies)
    session.send("Input.insertText", {"text": "你好"})
    linked(page, "text", "The cat 你好")
    expect(text_box(page)).to_have_value("The cat 你好")
    assert not any("nih" in body for body in bodies)


@pytest.mark.parametrize(("length", "kept"), [(100_000, 100_000), (MAX_TEXT + 10, MAX_TEXT)])
def test_a_long_text_that_is_pasted_is_cut_with_a_message(length: int, kept: int, visit):
    page = visit(model="stories-softmax", text="The cat")
    page.evaluate("text => navigator.clipboard.writeText(text)", "word " * (length // 5))
    text_box(page).press("Control+a")
    text_box(page).press("Control+v")
    expect(notice(page)).to_contain_text("left out", timeout=20_000)
    if kept < length:
        expect(notice(page)).to_contain_text(f"first {kept:,} characters")
    assert len(text_box(page).input_value()) == kept and len(page.url) < 8000


def test_the_box_is_not_corrected_and_keeps_the_selection(visit):
    page = visit(**STATE)
    text_box(page).evaluate("element => { element.focus(); element.setSelectionRange(2, 3); }")
    page.keyboard.type("7")
    linked(page, "text", "a=7; a=?")
    assert text_box(page).evaluate("element => [element.selectionStart, element.value]") == [3, "a=7; a=?"]
    expect(text_box(page)).to_have_attribute("spellcheck", "false")
    expect(text_box(page)).to_have_attribute("dir", "auto")
    expect(text_box(page)).to_have_attribute("translate", "no")


def test_neither_the_enter_key_nor_a_pasted_text_inserts_line_breaks(visit):
    page = visit(model="stories-softmax", text="The cat ")
    text_box(page).press("End")
    text_box(page).press("Enter")
    text_box(page).press("Shift+Enter")
    expect(text_box(page)).to_have_value("The cat ")
    page.evaluate("navigator.clipboard.writeText('sat\\non\\r\\nthe mat')")
    text_box(page).press("Control+v")
    linked(page, "text", "The cat sat on the mat")
    expect(text_box(page)).to_have_value("The cat sat on the mat")
    text_box(page).press("Control+z")
    expect(text_box(page)).to_have_value("The cat ")


def test_the_box_has_nearly_the_whole_width_of_a_phone_and_gives_the_examples(visit):
    page = visit(phone=True, model="stories-selective")
    assert page.locator("label.field").bounding_box()["width"] >= 390 - 40
    page.get_by_role("button", name="Examples").tap()
    expect(page.get_by_role("menuitem").first).to_be_focused()
    page.get_by_role("menuitem").last.tap()
    page.wait_for_function("location.search.includes('text=')")
    expect(text_box(page)).to_have_value(query(page)["text"])


WRONG = {"": "Type assignments", "x=12; x=?": "12 has more than one digit", "<img src=x onerror=alert(1)>": "“<”",
         "x=1; 🐉": "🐉", "x=1; שלום": "ש"}


def test_a_wrong_text_is_named_and_the_picture_stays(visit):
    page = visit(model="assignment-selective", text="k=4; k=?")
    for text, message in WRONG.items():
        text_box(page).fill(text)
        expect(notice(page)).to_contain_text(message)
        expect(text_box(page)).to_have_value(text)
        expect(page.locator(".tile")).to_have_count(12)
        expect(answer(page)).to_have_text("4")
    text_box(page).fill("k=7; k=?")
    expect(notice(page)).to_be_hidden()
    expect(answer(page)).to_have_text("7")


def test_broken_links_open_and_say_so(visit):
    page = visit(page="about", wait=False)
    for state, message in (({"plan": "y" * 10_000}, "10,000"), ({"lab": "head.<b>"}, "head.<b>")):
        go(page, **state)
        expect(notice(page)).to_contain_text(message)
        expect(page.locator(".tile")).to_have_count(32)
