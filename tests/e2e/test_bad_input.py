"""Invalid input that is typed, pasted or opened gives a clear message; no state is lost and nothing is executed.

pytest tests/e2e/test_bad_input.py
"""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def fill(page: Page, text: str) -> None:
    page.get_by_label("Text", exact=True).fill(text)


def alert(page: Page):
    return page.get_by_role("alert")


@pytest.mark.parametrize(("text", "message"), [
    ("", "Type some assignments"),
    ("x=1; y#2", "“#”"),
    ("x=12; x=?", "12 has more than one digit"),
    ("a=1;b=1;c=1;d=1;e=1;f=1;g=1;h=1;i=1", "ninth variable"),
    ("x=1; y=?", "no value yet"),
    ("x=1 y=2", "; is missing"),
    ("X=1; X=?", "lower-case"),
    ("<img src=x onerror=alert(1)>", "“<”"),
    ("x=1; 🐉", "🐉"),
    ("x=1; שלום", "ש"),
    ("x=1;\x00", "U+0000"),
])
def test_assignment_says_what_is_wrong_and_keeps_the_picture(visit, text, message):
    page = visit(model="assignment-selective", text="k=4; k=?")
    fill(page, text)
    expect(alert(page)).to_contain_text(message)
    expect(alert(page).locator(".excerpt")).to_have_count(1 if text else 0)
    expect(page.get_by_label("Text", exact=True)).to_have_value(text)
    expect(page.get_by_role("gridcell")).to_have_count(12)
    expect(page.locator(".row.right")).to_contain_text("4")
    fill(page, "k=7; k=?")
    expect(alert(page)).to_be_empty()
    expect(page.locator(".row.right")).to_contain_text("7")


@pytest.mark.parametrize("text", [
    "<img src=x onerror=alert(1)>", "**bold** $x$ :red[no] [link](http://example.com) <b>b</b>", "🐉 é 漢字",
    "שלום עולם \u202eback", "a\x00b", "one"])
def test_stories_show_any_text_as_text(visit, text):
    page = visit(model="stories-softmax")
    fill(page, text)
    expect(page.get_by_role("gridcell")).to_have_count(32)
    page.wait_for_function("location.search.includes('text=')")
    expect(page.get_by_label("Text", exact=True)).to_have_value(text)
    assert page.locator("img[src='x']").count() == 0


def test_a_hundred_thousand_characters_are_kept_and_counted(visit):
    page = visit(model="stories-softmax")
    text = "the cat sat on the mat " * 4348
    fill(page, text)
    expect(alert(page)).to_contain_text("tokens at the end were left out", timeout=20_000)
    assert len(page.get_by_label("Text", exact=True).input_value()) == len(text)
    assert len(page.url) < 8000


@pytest.mark.parametrize(("state", "message"), [
    ({"model": "gpt-9"}, "gpt-9"), ({"plan": "self-8.8c"}, "layer 9, head 9"), ({"plan": "self-0.0g7"}, "7"),
    ({"plan": "self-0.0gNaN"}, "NaN"), ({"plan": "self-0.0c-1."}, "1."), ({"plan": "y" * 10_000}, "10,000"),
    ({"view": "<b>"}, "<b>"), ({"at": "99.99"}, "99.99")])
def test_broken_links_open_and_say_so(visit, state, message):
    page = visit(**state)
    expect(alert(page)).to_contain_text(message)
    expect(page.get_by_role("gridcell")).to_have_count(32)


def test_a_link_of_ten_thousand_characters_opens(visit):
    page = visit(text="word " * 2000)
    expect(alert(page)).to_contain_text("left out")
    # the text box receives its text shortly after the page is drawn
    expect(page.get_by_label("Text", exact=True)).to_have_value("word " * 2000)


def test_a_damaged_model_is_named_with_its_cure(visit, browser, tmp_path):
    import shutil

    from tests.browser import ROOT, serve

    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__"))
    weights = clone / "models/checkpoints/stories-selective/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with serve(root=clone) as address:
        page = browser.new_page(bypass_csp=True)
        page.goto(f"{address}/?page=explore")
        expect(alert(page)).to_contain_text("model.safetensors is damaged", timeout=30_000)
        expect(alert(page)).to_contain_text("python -m models.training stories-selective")
        assert "Traceback" not in page.content()
        page.goto(f"{address}/?model=stories-softmax")
        expect(page.get_by_role("gridcell")).to_have_count(32, timeout=30_000)
        page.close()
