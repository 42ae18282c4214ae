"""Invalid input that is typed, pasted or opened gives a clear message; no state is lost and nothing is executed."""

import pytest
from playwright.sync_api import expect

from tests.e2e.app_page import answer, go, notice, text_box

pytestmark = pytest.mark.browser

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
