"""Invalid input that is typed, pasted or opened gives a clear message; no state is lost and nothing is executed."""

import shutil

import pytest
from playwright.sync_api import expect

from tests.browser import ROOT, serve
from tests.e2e.app_page import answer, notice, query, text_box

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


TEXTS = ("<img src=x onerror=alert(1)>", "**bold** $x$ :red[no] [link](http://example.com) <b>b</b>", "🐉 é 漢字",
         "שלום עולם \u202eback", "a\x00b", "one")


def test_stories_show_any_text_as_text(visit):
    page = visit(model="stories-softmax")
    for text in TEXTS:
        text_box(page).fill(text)
        page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=text)
        expect(text_box(page)).to_have_value(text)
        expect(page.locator(".tile")).to_have_count(32)
        assert page.locator("img[src='x'], .words b, .words a").count() == 0


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
    for state, message in BROKEN:
        page = visit(**state)
        expect(notice(page)).to_contain_text(message)
        expect(page.locator(".tile")).to_have_count(32)
        page.close()


def test_a_damaged_model_is_named_with_its_cure(browser, tmp_path):
    clone = tmp_path / "clone"
    shutil.copytree(ROOT, clone, ignore=shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__"))
    weights = clone / "models/checkpoints/stories-selective/model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with serve(root=clone) as address:
        page = browser.new_page(bypass_csp=True)
        page.goto(f"{address}/?model=stories-selective&text=The+cat")
        message = page.locator(".notice, [role=alert]").filter(has_text="model.safetensors is damaged").first
        expect(message).to_be_visible(timeout=30_000)
        expect(message).to_contain_text("python -m models.training stories-selective")
        assert "Traceback" not in page.content()
        page.goto(f"{address}/?model=stories-softmax&text=The+cat")
        expect(page.locator(".tile")).to_have_count(32, timeout=30_000)
        assert query(page)["text"] == "The cat"
        page.close()
