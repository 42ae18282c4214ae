"""The pages Findings and Training in a browser: marks, keys, links, downloads, recordings, and a short training."""

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from studies.claims import read
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

EVERY = {each.key: each for claim in read() for each in claim.statements}
CURVES = EVERY["papa-average"]


def opened(page: Page, key: str) -> Locator:
    """Expects that a statement is open in the strip, the list and the address; returns the opened statement."""
    article = page.get_by_role("article", name=EVERY[key].text)
    expect(article.get_by_role("heading", name=EVERY[key].text)).to_be_visible(timeout=60_000)
    expect(page.locator(f'[data-key="{key}"][aria-current=true]')).to_have_count(2)
    return article


def test_a_press_opens_a_statement_with_its_charts_and_its_place_in_the_lab(visit):
    page: Page = visit(wait=False, page="results")
    expect(page.locator(".strip .marks button")).to_have_count(len(EVERY), timeout=60_000)
    expect(page.locator(".list .entry")).to_have_count(len(EVERY))
    page.get_by_role("button", name=f"{CURVES.verdict.word}: {CURVES.text}").first.click()
    article = opened(page, CURVES.key)
    assert query(page)["claim"] == CURVES.key
    for name in ("Result", "masked-softmax, by task"):
        article.get_by_role("button", name=name, exact=True).click()
        expect(article.locator(".vega svg")).to_be_visible(timeout=30_000)
    expect(article.locator(".vega")).to_contain_text("Parts of speech")
    article.get_by_role("link", name="Try it in the lab").click()
    expect(page.locator(".caption")).to_be_visible(timeout=60_000)
    assert query(page)["model"] == "masked-softmax" and query(page)["lab"] == "all.papa"


def test_presses_and_arrow_keys_move_through_the_marks_and_the_list(visit):
    page: Page = visit(wait=False, page="results")
    marks, entries = page.locator(".strip .marks button"), page.locator(".list .entry")
    marks.first.focus(timeout=60_000)
    for mark in (marks.nth(20), marks.nth(1)):
        top = mark.bounding_box()
        mark.click()
        key = str(mark.get_attribute("data-key"))
        opened(page, key)
        expect(page.locator(f'.list [data-key="{key}"]')).to_be_in_viewport()
        assert mark.bounding_box() == top
    page.keyboard.press("ArrowRight")
    expect(marks.nth(2)).to_be_focused()
    opened(page, str(marks.nth(2).get_attribute("data-key")))
    page.keyboard.press("End")
    opened(page, str(marks.last.get_attribute("data-key")))
    entries.first.focus()
    page.keyboard.press("ArrowDown")
    expect(entries.nth(1)).to_be_focused()
    article = opened(page, str(entries.nth(1).get_attribute("data-key")))
    page.keyboard.press("Enter")
    expect(article).to_be_focused()


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_links_of_all_versions_open_a_statement(visit, address: str, phone: bool):
    page: Page = visit(wait=False, page="results", phone=phone)
    for link in ("claim=gated-sink", "claim=gated#gated-sink"):
        page.goto(f"{address}/?page=results&{link}")
        page.reload()
        expect(opened(page, "gated-sink").get_by_role("heading")).to_be_in_viewport()


def test_the_table_and_the_chart_are_files_without_the_text_of_the_link(visit):
    page: Page = visit(wait=False, page="results", claim="gated-sink", model="stories-selective", text="Private words")
    article = opened(page, "gated-sink")
    with page.expect_download() as download:
        article.get_by_role("button", name="Table as CSV").click()
    assert download.value.suggested_filename == "gated-sink.csv"
    lines = Path(download.value.path()).read_text("utf-8").splitlines()
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[1:]))))
    assert "Private" not in lines[0]
    assert [[*row] for row in rows] == [[*row] for row in EVERY["gated-sink"].table] and "claim=gated-sink" in lines[0]
    expect(article.locator(".vega svg")).to_be_visible(timeout=30_000)
    article.get_by_role("button", name=re.compile("^Download")).click()
    with page.expect_download() as download:
        article.get_by_role("menuitem", name=re.compile("^SVG")).click()
    assert "gated-sink" in download.value.suggested_filename
    drawn = Path(download.value.path()).read_text("utf-8")
    assert "claim=gated-sink" in drawn and "Private" not in drawn


def test_a_cell_of_the_table_plays_its_recording(visit):
    page: Page = visit(wait=False, page="training")
    page.get_by_role("button", name=re.compile("Look up a value, Softmax")).click()
    slider = page.locator(".time input[type=range]")
    expect(slider).to_have_attribute("aria-valuetext", "Step 1500", timeout=30_000)
    expect(page.locator(".caption")).to_have_text(re.compile("It learned the task"))
    expect(page.get_by_text("Softmax, recorded.")).to_be_visible()
    assert query(page)["train"] == "lookup.softmax.2x4.0.1500"
    slider.focus()
    slider.press("Home")
    expect(page.locator(".caption")).to_have_text(re.compile("Before training"))
    tile = page.locator(".tile").first
    before = tile.locator("canvas").evaluate("c => c.toDataURL()")
    slider.press("End")
    assert tile.locator("canvas").evaluate("c => c.toDataURL()") != before


def test_the_matrix_in_findings_unfolds_and_opens_a_training(visit):
    page: Page = visit(wait=False, page="results")
    entry = page.locator(".trained summary")
    entry.click()
    page.wait_for_url(re.compile("claim=trained"))
    entry.click()
    page.wait_for_url(re.compile("claim=synthesizer"))
    expect(page.locator('.entry[aria-current="true"]')).to_have_count(1)
    entry.click()
    page.get_by_role("button", name=re.compile("Most frequent, All heads constant")).click()
    expect(page.get_by_text("All heads constant, recorded.")).to_be_visible(timeout=30_000)
    assert query(page)["page"] == "training"


def test_a_visitor_trains_a_model_under_a_plan_and_opens_it(visit):
    page: Page = visit(wait=False, page="training", train="count.softmax.1x2.0.60")
    tile = page.get_by_role("button", name=re.compile("^Layer 1, head 2"))
    tile.click()
    page.get_by_role("button", name="Pruned", exact=True).click()
    expect(tile).to_have_class(re.compile("pruned"))
    train = page.locator(".settings .primary")
    train.click()
    expect(train).to_have_text("Stop")
    expect(train).to_have_text("Train again", timeout=120_000)
    expect(page.locator(".time input[type=range]")).to_have_attribute("aria-valuetext", "Step 60")
    expect(tile).to_have_class(re.compile("pruned"))
    tile.click()  # the end of a training selects the head that looks most
    page.get_by_role("button", name="Live", exact=True).click()
    page.locator(".names button").filter(has_text="L1·H2 pruned").click()  # its curve stays
    page.get_by_role("button", name="Open in the lab").click()
    expect(page.locator(".caption")).to_have_text(re.compile("answer"), timeout=30_000)
    assert query(page)["plan"] == "self-0.1g0" and query(page)["model"].startswith("learn-count")


def test_a_hostile_link_starts_nothing(visit):
    page: Page = visit(wait=False, page="training", train="lookup.softmax.999x4.0.1500")
    expect(page.locator(".lab > .notice")).to_have_text(re.compile("1 to 3 layers"), timeout=30_000)
    expect(page.get_by_role("button", name="Train one yourself")).to_be_visible()
