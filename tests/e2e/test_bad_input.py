"""Invalid input that is typed, pasted or opened gives a clear message; no state is lost and nothing is executed."""

import pytest
from playwright.sync_api import expect

from tests.e2e.app_page import answer, go, notice, text_box

pytestmark = pytest.mark.browser

WRONG = {"": "Type assignments", "x=1; y#2": "“#”", "x=12; x=?": "12 has more than one digit",
         "a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1": "one too many", "x=1; y=?": "no value yet", "x=1 y=2": "; is missing",
         "X=1; X=?": "use a to z", "<img src=x onerror=alert(1)>": "“<”", "x=1; 🐉": "🐉", "x=1; שלום": "ש"}


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


def test_a_hundred_thousand_characters_are_kept_and_counted(visit):
    page = visit(model="stories-softmax")
    text = "the cat sat on the mat " * 4348
    text_box(page).fill(text)
    expect(notice(page)).to_contain_text("left out at the end", timeout=20_000)
    assert len(text_box(page).input_value()) == len(text)
    assert len(page.url) < 8000
    page = visit(text="word " * 2000)  # a link of ten thousand characters
    expect(notice(page)).to_contain_text("left out")
    expect(text_box(page)).to_have_value("word " * 2000)


BROKEN = [({"model": "gpt-9"}, "gpt-9"), ({"plan": "self-8.8c"}, "layer 9, head 9"), ({"plan": "self-0.0g7"}, "7"),
          ({"plan": "self-0.0gNaN"}, "NaN"), ({"plan": "self-0.0c-1."}, "1."), ({"plan": "y" * 10_000}, "10,000"),
          ({"view": "<b>"}, "<b>"), ({"at": "99.99"}, "99.99"), ({"lab": "head.<b>"}, "head.<b>")]


def test_broken_links_open_and_say_so(visit):
    page = visit(page="about", wait=False)
    for state, message in BROKEN:
        go(page, **state)
        expect(notice(page)).to_contain_text(message)
        expect(page.locator(".tile")).to_have_count(32)
