"""The Constant page in a real browser: the slider, the charts, the input text.

    pytest tests/e2e/test_constant_by_hand.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.app_page import query, type_text

pytestmark = pytest.mark.browser

LINK = {"page": "constant", "model": "masked-softmax", "text": "The cat sat on the mat.", "fix": "0.pos.masked-softmax"}


def test_the_slider_the_text_and_the_link(visit):
    page = visit(wait=False, **LINK)
    expect(page.get_by_text("0 of 32 heads constant", exact=True)).to_be_visible(timeout=30_000)
    slider = page.get_by_role("slider", name=re.compile("Constant heads"))
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(page.get_by_text("32 of 32 heads constant", exact=True)).to_be_visible()
    page.wait_for_function("new URLSearchParams(location.search).get('fix') === '4.pos.masked-softmax'")
    chart = page.get_by_role("application", name="Relative drop with constant heads", exact=True)
    expect(chart).to_have_accessible_description(re.compile("32 of 32 heads constant"))
    rows = page.get_by_role("table").last.locator("tbody tr")
    expect(rows).to_have_count(7)  # six words and a full stop, one row each
    type_text(page, "Two dogs ran.")
    expect(rows).to_have_count(4)
    expect(rows.first).to_contain_text("Two")
    again = visit(wait=False, **query(page))
    expect(again.get_by_text("32 of 32 heads constant", exact=True)).to_be_visible(timeout=30_000)


def test_a_place_in_the_chart_chooses(visit):
    page = visit(wait=False, **LINK)
    chart = page.get_by_role("application", name="Relative drop with constant heads", exact=True)
    expect(chart).to_be_visible(timeout=30_000)
    box = chart.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] - 24, box["y"] + box["height"] * 0.6)
    expect(page.get_by_text("32 of 32 heads constant", exact=True)).to_be_visible()
    page.wait_for_function("new URLSearchParams(location.search).get('fix').startsWith('4.')")
