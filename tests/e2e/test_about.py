"""The About page in a real browser: its list of contents, and its folded sections on a phone.

    pytest tests/e2e/test_about.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_link_of_the_contents_goes_to_its_section(visit: Callable[..., Page]):
    page = visit(page="about", wait=False)
    heading = page.get_by_role("heading", name="Glossary")
    expect(heading).not_to_be_in_viewport()
    page.get_by_role("link", name="Glossary", exact=True).focus()
    page.keyboard.press("Enter")
    expect(heading).to_be_in_viewport()
    assert page.url.endswith("?page=about#glossary")
    again = visit(page="about", wait=False)
    again.goto(page.url)
    expect(again.get_by_role("heading", name="Glossary")).to_be_in_viewport()


def test_a_phone_shows_all_sections_folded(visit: Callable[..., Page]):
    page = visit(phone=True, page="about", wait=False)
    sections = page.locator("details")
    expect(sections).to_have_count(12)
    expect(page.get_by_text("The numbers", exact=True)).to_be_visible()
    assert page.locator(".stMain").evaluate("e => e.scrollHeight") < 1200
    page.locator("summary", has_text="Attention types").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("tokens vote to forget others")).to_be_visible()
