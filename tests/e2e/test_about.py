"""The guide in a real browser: its list of sections, links to sections and terms, and the tips that lead to terms."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser


def test_a_link_of_the_list_goes_to_its_section(visit: Callable[..., Page]):
    page = visit(page="about", wait=False)
    heading = page.get_by_role("heading", name="Glossary")
    expect(heading).not_to_be_in_viewport()
    link = page.get_by_role("link", name="Glossary", exact=True)
    link.focus()
    page.keyboard.press("Enter")
    expect(heading).to_be_in_viewport()
    expect(link).to_be_in_viewport()  # the list stays in view
    assert page.url.endswith("?page=about#glossary")
    page.get_by_role("link", name="Citing", exact=True).click()
    expect(page.get_by_role("heading", name="Citing")).to_be_in_viewport()
    page.go_back()
    expect(heading).to_be_in_viewport()
    page.reload()
    expect(heading).to_be_in_viewport()


def test_the_guide_is_whole_at_every_width(visit: Callable[..., Page]):
    page = visit(page="about", lang="zh", wait=False)
    guide = page.locator(".guide")
    guide.locator("#term-gate").wait_for()
    for width in (320, 390, 768, 1024, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_function("width => innerWidth === width", arg=width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        sizes = guide.evaluate("""root => [...root.querySelectorAll('*')].map(element => [
            parseFloat(getComputedStyle(element).fontSize), element.getBoundingClientRect().right])""")
        assert min(size for size, _right in sizes) >= 13, width
        assert max(right for _size, right in sizes) <= width


def test_a_tip_leads_to_the_entry_of_its_term(visit: Callable[..., Page]):
    page = visit(page="lab", wait=False)
    page.get_by_role("button", name="Pruned").hover()
    with page.context.expect_page() as opening:
        page.get_by_role("tooltip").get_by_role("link").click()
    entry = opening.value.locator("#term-prune")
    expect(entry).to_be_in_viewport()
    expect(entry).to_contain_text("Sets the gate to 0")


def test_the_list_of_tools_opens_from_a_page_without_tools(visit: Callable[..., Page]):
    page = visit(page="about", wait=False)
    page.get_by_role("button", name="Find a tool").click()
    expect(page.locator("dialog.palette")).to_be_visible(timeout=20_000)
