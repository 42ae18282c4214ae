"""Compare, Length, Results and masked words in a real browser.

    pytest tests/e2e/test_comparing.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

PAIR = {"model": "assignment-softmax", "with": "assignment-selective"}


def go(page: Page, name: str) -> None:
    """Opens a page by clicking its link in the header."""
    menu = page.locator(".st-key-navigation button")
    if menu.is_visible():  # on a phone
        menu.click()
    page.get_by_role("link", name=name, exact=True).click()
    page.wait_for_function("key => new URLSearchParams(location.search).get('page') === key", arg=name.lower())


def test_one_selection_and_one_plan_for_all_models(visit):
    page = visit(**PAIR)
    go(page, "Compare")
    expect(page.get_by_role("grid", name="Heads")).to_have_count(2)
    for model in PAIR.values():  # grids are labelled with the name of the model, for users of screen readers
        expect(page.get_by_role("grid", name=f"Heads: {model}", exact=True)).to_have_count(1)
    first = page.get_by_role("gridcell", name=re.compile("^layer 2, head 3,"))
    expect(first).to_have_count(2)
    first.first.click()
    page.keyboard.press("c")
    expect(page.get_by_role("gridcell", name="layer 2, head 3, constant", exact=True)).to_have_count(2)
    expect(page.get_by_role("heading", name=re.compile("Layer 2, head 3"))).to_have_count(2)
    page.wait_for_function("location.search.includes('plan=self-1.2c')")
    # the table has the predictions of both models before and after the plan
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(2)
    for row in rows.all():
        expect(row).to_contain_text(re.compile(r"\d\.\d{3} → \d\.\d{3}"))
    action, effect = first.first.bounding_box(), rows.first.bounding_box()
    assert action and effect and abs(action["y"] - effect["y"]) < 400
    expect(page.get_by_role("slider", name="Gate")).to_have_count(1)
    assert query(page)["with"] == "assignment-selective"
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("gridcell", name="layer 2, head 3, live", exact=True)).to_have_count(2)


def test_a_model_is_added_and_the_link_opens_the_same(visit, address):
    page = visit(model="assignment-softmax")
    go(page, "Compare")
    expect(page.get_by_role("grid", name="Heads")).to_have_count(2)  # the most informative model stands beside it
    page.get_by_role("button", name="selective ✕").click()
    expect(page.get_by_role("grid", name="Heads")).to_have_count(1)
    page.get_by_role("button", name="Choose models").click()
    page.get_by_role("button", name="log n", exact=True).click()
    expect(page.get_by_role("grid", name="Heads")).to_have_count(2)
    page.wait_for_function("location.search.includes('with=assignment-log-n')")
    again = visit(**query(page))
    go(again, "Compare")
    expect(again.get_by_role("grid", name="Heads")).to_have_count(2)


def test_typing_reaches_every_model(visit):
    page = visit(**PAIR)
    go(page, "Compare")
    expect(page.get_by_role("grid", name="Heads")).to_have_count(2)
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.press("Control+a")
    box.press_sequentially("q=4; q=8; q=?", delay=15)
    for row in page.locator("tbody tr").all():
        expect(row.locator(".right")).to_contain_text("8")


def test_what_is_pointed_at_in_one_map_is_marked_in_all(visit):
    page = visit(**PAIR, page="compare", **{"as": "matrix"})
    plots = page.locator('[data-part="head_map"] .plot')
    expect(plots).to_have_count(2)
    plots.first.focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    readouts = page.locator('[data-part="head_map"] .readout')
    reading = readouts.first.inner_text().split(":")[0]
    assert reading.startswith("query ")
    expect(readouts.nth(1)).to_contain_text(reading)
    page.keyboard.press("Escape")
    expect(readouts.nth(1)).to_contain_text("Point at a cell")


def test_the_part_below_the_heads_is_in_the_link(visit):
    page = visit(**PAIR, page="compare", plan="self-0.0c")
    page.get_by_role("radio", name="Entropy of each row").click()
    expect(page.get_by_role("img", name=re.compile("Entropy of each row"))).to_be_visible()
    page.wait_for_function("location.search.includes('part=entropy')")
    page.get_by_role("radio", name="Prediction", exact=True).click()
    expect(page.locator('[data-part="effect"]')).to_have_count(2)


def test_the_length_is_dragged(visit):
    page = visit(**PAIR)
    go(page, "Length")
    slider = page.get_by_role("slider", name=re.compile("Length"))
    slider.focus()
    expect(page.get_by_text("Every head at 49 tokens")).to_be_visible()
    slider.press("ArrowRight")
    expect(page.get_by_text("Every head at 97 tokens")).to_be_visible()
    page.wait_for_function("location.search.includes('n=97')")
    # a length can be selected in a chart too, by pointer and by keys
    charts = page.locator('[data-part="figure"] [role="application"]').first
    charts.focus()
    page.keyboard.press("Home")
    expect(page.get_by_text("Every head at 13 tokens")).to_be_visible()
    page.wait_for_function("location.search.includes('n=13')")


def test_a_word_is_hidden_by_a_click_and_guessed(visit):
    page = visit(model="masked-softmax", text="The cat sat on the mat.")
    expect(page.get_by_text("Nothing is hidden yet", exact=False)).to_be_visible()
    page.get_by_role("button", name="cat", exact=True).click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The [cat] sat on the mat.")
    expect(page.get_by_role("heading", name=re.compile("Hidden: “cat”"))).to_be_visible()
    page.get_by_role("button", name="cat", exact=True).click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The cat sat on the mat.")


def test_of_a_repeated_word_the_clicked_occurrence_is_hidden(visit):
    page = visit(model="masked-softmax", text="The [cat] sat. The cat ran.")
    cats = page.get_by_role("button", name="cat", exact=True)
    expect(cats).to_have_count(2)
    page.get_by_role("button", name="ran", exact=True).click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The [cat] sat. The cat [ran].")
    cats.first.click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The cat sat. The cat [ran].")
    cats.last.click()
    expect(page.get_by_label("Text", exact=True)).to_have_value("The cat sat. The [cat] [ran].")


@pytest.mark.parametrize("text", ["[MASK] " * 10, "<img src=x onerror=alert(1)> [MASK]", "[MASK]", "\u202e [x] 👩‍👩‍👧"])
def test_odd_masked_texts(visit, text: str):
    page = visit(model="masked-gau-relu2", text=text)
    expect(page.get_by_role("heading", name=re.compile("Hidden")).first).to_be_visible()
    expect(page.get_by_role("gridcell")).to_have_count(8)


def test_both_readings_of_relu2(visit):
    page = visit(model="masked-gau-relu2", text="The cat [sat] on the mat.")
    page.get_by_label("n = length").check()
    page.wait_for_function("location.search.includes('scale-length')")
    expect(page.locator(".facts")).to_contain_text(re.compile(r"KL divergence .+? model\s*<?[0-9.]+ nats"))


def test_results_open_and_say_what_they_are_measured_by(visit):
    page = visit()
    go(page, "Results")
    page.get_by_role("button", name="Measure again").locator("visible=true").first.click()
    # the page has many popovers; one of them contains the command
    command = page.get_by_text("python -m models.", exact=False).locator("visible=true")
    expect(command.first).to_be_visible(timeout=20_000)
    page.keyboard.press("Escape")
    page.get_by_role("radio", name="Normalisation", exact=True).click()
    expect(page.get_by_role("heading", name=re.compile("^Normalisation"))).to_be_visible()
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


@pytest.mark.parametrize("name", ["Compare", "Length", "Results", "About"])
def test_a_phone_shows_every_page(visit, name: str):
    page = visit(phone=True, **PAIR)
    go(page, name)
    page.wait_for_timeout(1500)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    expect(page.locator('[data-testid="stException"]')).to_have_count(0)


@pytest.mark.parametrize("width", [1024, 1280, 1920])
@pytest.mark.parametrize("teach", ["0", "1"])
def test_the_heads_of_all_models_begin_at_one_height_below_their_scores(visit, width: int, teach: str):
    page = visit(page="compare", model="assignment-softmax", **{"with": "assignment-random assignment-selective"},
                 teach=teach)
    page.set_viewport_size({"width": width, "height": 900})
    grids = page.get_by_role("grid", name="Heads")
    expect(grids).to_have_count(3)
    page.wait_for_timeout(600)
    scores = page.locator(".st-key-beside-heads [data-testid=stCaptionContainer]")
    heights = [its.bounding_box()["height"] for its in scores.all()]
    assert len(heights) == 3
    assert heights[1] < heights[0] or teach == "0"  # the second score is shorter
    tops = [its.bounding_box()["y"] for its in grids.all()]
    beside = tops if width > 1100 else tops[:2]
    assert max(beside) - min(beside) < 1
    for score, top in zip(scores.all(), tops, strict=True):
        box = score.bounding_box()
        assert box["y"] + box["height"] <= top + 1
    if width <= 1100:
        assert tops[2] > tops[0] + 100


def test_mask_f_has_no_choice_of_heads_because_it_is_one_mask_per_layer(visit):
    page = visit(model="stories-selective", view="mask")
    expect(page.locator(".words .word").first).to_be_visible()
    expect(page.locator(".scopes")).to_be_hidden()
    other = visit(model="stories-selective", view="used")
    expect(other.locator(".words .word").first).to_be_visible()
    expect(other.locator(".scopes")).to_be_visible()
