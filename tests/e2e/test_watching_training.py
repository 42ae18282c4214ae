"""The page Training in a browser: a recording plays, a short training fills the picture in, and its model opens."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import query

pytestmark = pytest.mark.browser


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
