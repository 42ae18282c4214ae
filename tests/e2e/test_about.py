"""The About page in a real browser: its list of contents, and its folded sections on a phone.

    pytest tests/e2e/test_about.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

# whether the page listens to clicks and has had the same height for half a second
COMPLETE = """() => {
    const height = document.querySelector('.stMain').scrollHeight;
    if (height !== globalThis.lastHeight) [globalThis.lastHeight, globalThis.since] = [height, performance.now()];
    return globalThis.attentionLabListening && performance.now() - globalThis.since > 500;
}"""


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


def test_back_scrolls_to_where_a_link_was_clicked(visit: Callable[..., Page]):
    page = visit(page="about", wait=False)
    link = page.get_by_role("link", name="Glossary", exact=True)
    link.wait_for()
    page.wait_for_function(COMPLETE)
    page.locator(".stMain").evaluate("its => its.scrollTo(0, 60)")
    link.click()
    expect(page.get_by_role("heading", name="Glossary")).to_be_in_viewport()
    page.go_back()
    expect(link).to_be_in_viewport()
    assert page.locator(".stMain").evaluate("its => its.scrollTop") == 60
    # a section above can grow in the meantime, for example when its chart is drawn
    page.locator("#the-models").evaluate("its => { its.style.marginTop = '1200px'; }")
    page.go_forward()
    expect(page.get_by_role("heading", name="Glossary")).to_be_in_viewport()


def test_a_phone_shows_all_sections_folded(visit: Callable[..., Page]):
    page = visit(phone=True, page="about", wait=False)
    sections = page.locator("details")
    expect(sections).to_have_count(12)
    expect(page.locator("summary", has_text="The numbers")).to_be_visible()
    assert page.locator(".stMain").evaluate("e => e.scrollHeight") < 1200
    page.locator("summary", has_text="Attention types").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("tokens vote to forget others")).to_be_visible()


def test_a_shared_link_opens_its_section_on_a_phone(visit: Callable[..., Page]):
    page = visit(phone=True, page="about", wait=False)
    # a closed section has a heading for screen readers
    expect(page.get_by_role("heading", level=2)).to_have_count(12)
    for anchor, title in (("the-models", "The models"), ("the-data", "The data")):  # at the start, and later
        page.goto(f"{page.url.partition('#')[0]}#{anchor}")
        if title == "The models":
            page.reload()
        section = page.locator("details", has=page.locator("summary", has_text=title))
        expect(section).to_have_attribute("open", "")
        expect(section.locator("summary")).to_be_focused()
        page.wait_for_timeout(1500)  # the section grows
        assert -1 <= section.bounding_box()["y"] < 200
    expect(page.locator("details[open]")).to_have_count(2)
    assert page.locator(".st-key-about-the-data [data-testid=stElementContainer]").first.bounding_box()["height"] <= 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
