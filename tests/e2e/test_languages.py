"""Languages and tooltips in a real browser.

pytest tests/e2e/test_languages.py
"""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from app import texts
from app.state.lab_state import DEFAULT_MODEL
from tests.e2e.test_explore import cell, query, type_text

pytestmark = pytest.mark.browser

def title(language: str) -> str:
    """Returns the heading of the first page."""
    texts.speak(language)
    try:
        return texts._("What does a model look at before it answers?")
    finally:
        texts.speak(texts.ENGLISH)


def meaning(term: str) -> str:
    """Returns the explanation of a term, as the page displays it in a tooltip."""
    return texts.glossary()[term][1].replace("*", "")


WORDS = title("en"), title("zh")
SELECTIVE = {"model": "assignment-selective"}


def test_the_language_changes_and_nothing_else(visit):
    page = visit(**SELECTIVE)
    type_text(page, "q=4; q=8; q=?")
    cell(page, 1, 2).click()
    page.keyboard.press("c")
    page.wait_for_function("location.search.includes('plan=self-0.1c')")
    before = query(page)
    switch = page.get_by_role("button", name="中文", exact=True)
    expect(switch).to_have_attribute("lang", "zh")
    switch.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("grid", name="注意力头")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    expect(page.get_by_text(re.compile("^6 个词元"))).to_be_visible()
    expect(page.get_by_role("gridcell", name="第 1 层第 2 个头, 常数")).to_be_visible()
    expect(page.get_by_role("button", name="English", exact=True)).to_be_focused()
    page.wait_for_function("location.search.includes('lang=zh')")
    assert query(page) == before | {"lang": "zh"}
    page.get_by_role("button", name="撤销", exact=True).click()  # undo changes the experiment, not the language
    expect(page.get_by_role("gridcell", name="第 1 层第 2 个头, 动态")).to_be_visible()
    assert query(page)["lang"] == "zh"
    page.get_by_role("button", name="English", exact=True).click()
    expect(page.get_by_role("grid", name="Heads")).to_be_visible()
    assert "lang" not in query(page)


def test_a_link_opens_in_its_language(visit):
    page = visit(lang="zh", page="results", wait=False)
    expect(page.get_by_role("link", name="发现", exact=True)).to_have_attribute("aria-current", "page")
    expect(page).to_have_title("发现 · Attention Lab")
    page.get_by_role("link", name="课程", exact=True).click()
    expect(page.get_by_role("link", name="课程", exact=True)).to_have_attribute("aria-current", "page")


def test_a_first_visit_follows_the_browser_and_a_choice_is_remembered(browser: Browser, address: str):
    context = browser.new_context(bypass_csp=True, locale="zh-CN")
    page = context.new_page()
    page.goto(address)
    expect(page.get_by_role("heading", name=WORDS[1])).to_be_visible(timeout=30_000)
    page.get_by_role("button", name="English", exact=True).click()
    expect(page.get_by_role("heading", name=WORDS[0])).to_be_visible()
    again = context.new_page()
    again.goto(address)
    expect(again.get_by_role("heading", name=WORDS[0])).to_be_visible(timeout=30_000)
    context.close()


def test_a_tip_comes_with_the_pointer_the_keyboard_and_a_touch(visit):
    page = visit(model=DEFAULT_MODEL, plan="self-1.1c")
    tip = page.get_by_role("tooltip")
    page.get_by_role("button", name="Prune", exact=True).hover()
    expect(tip).to_contain_text(meaning("prune"))
    page.mouse.move(0, 0)
    expect(tip).to_have_count(0)
    page.get_by_role("tab", name="Used", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(tip).to_contain_text(meaning("computed"))
    page.keyboard.press("Escape")
    expect(tip).to_have_count(0)
    expect(page.get_by_role("tab", name="Computed", exact=True)).to_have_attribute(
        "aria-description", re.compile("^" + re.escape(meaning("computed"))))
    page.mouse.move(0, 0)
    sections = page.locator(".st-key-sections input")
    sections.click()
    entropy = page.get_by_role("option", name="See: Entropy", exact=True)
    entropy.hover()  # the tooltip of a Streamlit widget, which does not have the colours of the theme
    shown = page.locator(".attention-lab-tip")  # an open list hides the rest of the page from screen readers
    expect(shown).to_contain_text(meaning("entropy"))
    assert shown.evaluate("e => getComputedStyle(e).backgroundColor") == page.locator(".stApp").evaluate(
        "e => getComputedStyle(e).color")
    entropy.click()
    expect(page.get_by_role("img", name=re.compile("^Entropy of each row"))).to_be_visible()
    page.mouse.move(0, 0)
    sections.hover()
    expect(tip).to_contain_text(meaning("entropy"))
    phone = visit(phone=True)
    phone.get_by_text("KL divergence from the unmodified model", exact=True).tap()
    expect(phone.get_by_role("tooltip")).to_contain_text(meaning("kl"))
    box = phone.get_by_role("tooltip").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 390
