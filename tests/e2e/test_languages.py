"""Languages, tooltips and the guide in a real browser: its sections and terms, and the tips that lead to terms."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Browser, Page, expect

from app import texts
from tests.e2e.app_page import linked, query, tile, type_text

pytestmark = pytest.mark.browser


TITLE = "What does a model look at before it answers?"  # heading of the start page


def chinese(text: str) -> str:
    texts.speak("zh")
    try:
        return texts._(text)
    finally:
        texts.speak(texts.ENGLISH)


def meaning(term: str) -> str:
    """Returns the explanation of a term, as the page displays it in a tooltip."""
    return texts.glossary()[term][1].replace("*", "")


def test_the_language_changes_and_nothing_else(visit):
    page = visit(model="assignment-selective")
    type_text(page, "q=4; q=8; q=?")
    tile(page, 0, 1).click()
    page.keyboard.press("c")
    linked(page, "plan", "self-0.1c")
    before = query(page)
    switch = page.get_by_role("button", name="中文", exact=True)
    expect(switch).to_have_attribute("lang", "zh")
    switch.focus()
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.locator(".field-row .notes")).to_contain_text("6 个词元")
    expect(tile(page, 0, 1)).to_have_accessible_name("第 1 层第 2 个头, 常数")
    expect(page.get_by_role("button", name="English", exact=True)).to_be_focused()
    linked(page, "lang", "zh")
    assert query(page) == before | {"lang": "zh"}
    page.get_by_role("button", name="撤销", exact=True).click()  # undo changes the experiment, not the language
    expect(tile(page, 0, 1)).to_have_accessible_name("第 1 层第 2 个头, 动态")
    assert query(page)["lang"] == "zh"
    page.get_by_role("button", name="English", exact=True).click()
    expect(tile(page, 0, 1)).to_have_accessible_name("Layer 1, head 2, live")
    assert "lang" not in query(page)


def test_a_link_opens_in_its_language(visit):
    page = visit(lang="zh", page="results", wait=False)
    findings, lessons = (page.get_by_role("link", name=chinese(name), exact=True) for name in ("Findings", "Lessons"))
    expect(findings).to_have_attribute("aria-current", "page", timeout=30_000)
    expect(page).to_have_title(f"{chinese('Findings')} · Attention Lab")
    lessons.click()
    expect(lessons).to_have_attribute("aria-current", "page")


def test_a_first_visit_follows_the_browser_and_a_choice_is_remembered(browser: Browser, address: str):
    context = browser.new_context(bypass_csp=True, locale="zh-CN")
    page = context.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name=chinese(TITLE))).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="English", exact=True).click()
    expect(page.get_by_role("heading", name=TITLE)).to_be_visible()
    again = context.new_page()
    again.goto(address)
    expect(again.get_by_role("heading", name=TITLE)).to_be_visible(timeout=30_000)
    context.close()


def test_a_tip_comes_with_the_pointer_the_keyboard_and_a_touch(visit):
    page = visit(model="stories-softmax", plan="self-1.1c")
    tip = page.get_by_role("tooltip")
    page.get_by_role("button", name="Pruned", exact=True).hover()
    expect(tip).to_contain_text(meaning("prune"))
    box = tip.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 1440
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    page.get_by_role("button", name="Live", exact=True).focus()
    page.keyboard.press("Tab")
    expect(tip).to_contain_text(meaning("constant"))
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    expect(page.get_by_role("button", name="Constant", exact=True)).to_have_attribute(
        "aria-description", re.compile("^" + re.escape(meaning("constant"))))
    phone = visit(phone=True, model="stories-softmax")
    phone.locator(".legend .entry").first.tap()
    expect(phone.get_by_role("tooltip")).to_contain_text(meaning("weight"))
    box = phone.get_by_role("tooltip").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390


def test_the_guide_leads_to_its_sections_and_to_the_tools(visit: Callable[..., Page]):
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
    page.get_by_role("button", name="Find a tool").click()
    expect(page.locator("dialog.palette")).to_be_visible(timeout=20_000)


def test_a_tip_leads_to_the_entry_of_its_term(visit: Callable[..., Page]):
    page = visit(page="lab", wait=False)
    page.get_by_role("button", name="Pruned").hover()
    with page.context.expect_page() as opening:
        page.get_by_role("tooltip").get_by_role("link").click()
    entry = opening.value.locator("#term-prune")
    expect(entry).to_be_in_viewport()
    expect(entry).to_contain_text("Sets the gate to 0")
