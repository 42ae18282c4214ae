"""Tests of the sections about the answer in a real browser: prediction by layer, contributions, and two prompts.

pytest tests/e2e/test_answers.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.app_page import query
from tests.e2e.components_page import named, part

pytestmark = pytest.mark.browser

STORY = {"model": "stories-softmax", "text": "The girl was sad because"}


def answer(page: Page) -> Locator:
    """Returns the top-1 prediction, which the page displays in large type."""
    return part(page, "effect").locator(".answer bdi")


def test_a_patched_head_changes_the_prediction_and_stays_in_the_link(visit):
    page = visit(open="pair", **STORY)
    field = part(page, "contributions").get_by_role("textbox", name="Second prompt")
    field.fill("The boy was sad because")
    field.press("Enter")
    first = part(page, "contributions").get_by_role("listitem").first
    expect(first).to_contain_text("layer 3, head 4")
    bar = part(page, "effect").get_by_role("listitem").filter(has_text="she")
    first.get_by_role("button", name="Patch layer 3, head 4").click()
    expect(bar).to_contain_text(re.compile(r"63\.2 → \d+\.\d%"))
    changed = bar.inner_text()
    page.wait_for_function("location.search.includes('plan=self-2.3p')")
    tile = named(page, "layer 3, head 4, patched")
    expect(tile.locator(".badge")).to_have_text("P")
    other = visit(**query(page))
    expect(part(other, "effect").get_by_role("listitem").filter(has_text="she")).to_have_text(changed,
                                                                                             use_inner_text=True)
    undo = part(other, "contributions").get_by_role("button", name="Undo the patch of layer 3, head 4")
    undo.click()
    other.wait_for_function("!location.search.includes('plan=')")
    expect(part(other, "effect").get_by_role("listitem").filter(has_text="she")).not_to_contain_text("→")


def test_two_tokens_are_chosen_by_their_bars(visit):
    page = visit(open="writers", **STORY)
    total, rows = part(page, "contributions").locator(".total"), part(page, "effect").get_by_role("listitem")
    first = part(page, "contributions").get_by_role("listitem").first
    expect(total).to_contain_text("Logit of “she”")
    alone = first.inner_text()
    rows.filter(has_text="she").click()
    her = rows.filter(has=page.get_by_role("button", name="her", exact=True)).get_by_role("button")
    her.focus()
    page.keyboard.press("Enter")
    expect(total).to_contain_text("Logit of “she” minus logit of “her”")
    expect(her).to_have_attribute("aria-pressed", "true")
    expect(first).not_to_have_text(alone, use_inner_text=True)
    page.wait_for_function("location.search.includes('tokens=')")
    expect(part(visit(**query(page)), "contributions").locator(".total")).to_contain_text("minus logit of “her”")
    her.press(" ")
    expect(total).to_have_text(re.compile("Logit of “she”: "))


def test_a_score_is_explained_by_the_parts_of_query_and_key(visit):
    page = visit(open="why", at="2.3", **STORY)
    bars = part(page, "contributions")
    expect(bars.locator(".total")).to_contain_text("query “because” and key “girl”")
    bars.get_by_label("Parts").select_option("content and distance")
    expect(bars.get_by_role("listitem")).to_have_count(2)
    page.wait_for_function("new URLSearchParams(location.search).get('tokens') === '.-.p'")
