"""The sections of Explore in three named groups, and the tips of sections and of compared models.

    pytest tests/e2e/test_sections.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app import texts
from app.panels.choice.labels import model_label
from app.state.lab_state import SECTION_GROUPS, SECTIONS
from app.texts import _
from models import catalogue
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

EXPLORE = {"page": "explore", "model": "stories-selective"}
SIZES = [(390, 844), (1024, 768), (1280, 800), (1920, 1080)]


def section(page: Page, key: str) -> Locator:
    return page.get_by_role("radio", name=_(SECTIONS.get(key, "Head")), exact=True)


def test_one_of_three_groups_has_the_chosen_section(visit: Callable[..., Page]):
    page = visit(**EXPLORE, open="memory")
    groups = page.locator(".st-key-sections").get_by_role("radiogroup")
    expect(groups).to_have_count(len(SECTION_GROUPS))
    chosen = page.locator(".st-key-sections [role='radio'][aria-checked='true']")
    expect(chosen).to_have_text("Forgetting")
    for key in ("layers", "entropy", "head", "pair"):
        section(page, key).click()
        expect(chosen).to_have_count(1)
        expect(chosen).to_have_text(section(page, key).inner_text())
        page.wait_for_function("key => (new URLSearchParams(location.search).get('open') ?? 'head') === key", arg=key)
    page.go_back()
    expect(chosen).to_have_text("Forgetting")


def test_tab_reaches_the_groups_and_arrows_their_sections(visit: Callable[..., Page]):
    page = visit(**EXPLORE)
    section(page, "head").focus()
    page.keyboard.press("ArrowRight")
    expect(section(page, "zoom")).to_be_focused()
    page.keyboard.press("Tab")
    expect(section(page, "layers")).to_be_focused()
    page.keyboard.press("ArrowRight")
    expect(section(page, "writers")).to_be_focused()
    expect(page.get_by_role("tooltip")).to_contain_text(texts.glossary()["contributions"][1])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Contributions to the answer")).to_be_visible()
    assert query(page)["open"] == "writers"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_every_section_is_whole_on_the_screen(visit: Callable[..., Page], size: tuple[int, int], language: str):
    page = visit(**EXPLORE, open="card", lang=language)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    options = page.locator(".st-key-sections").get_by_role("radio")
    expect(options).to_have_count(11)
    column = page.locator(".st-key-sections").bounding_box()
    assert column and column["height"] <= (165 if size[0] == 390 else 100)
    for option in options.all():
        box = option.bounding_box()
        assert box and box["x"] >= column["x"] and box["x"] + box["width"] <= column["x"] + column["width"] + 1


def test_a_choice_does_not_move_the_sections(visit: Callable[..., Page]):
    page = visit(**EXPLORE)
    before = page.locator(".st-key-sections").bounding_box()
    for key in ("layers", "pair", "card"):
        section(page, key).click()
        expect(section(page, key)).to_be_checked()
        assert page.locator(".st-key-sections").bounding_box() == before


@pytest.mark.parametrize(("teach", "phone"), [("0", False), ("0", True), ("1", False)])
def test_a_lesson_has_one_list_of_all_sections(visit: Callable[..., Page], teach: str, phone: bool):
    page = visit(lesson="writers.1", teach=teach, phone=phone)
    rows = page.locator(".st-key-sections").get_by_role("radiogroup")
    choice = page.locator(".st-key-sections input")
    expect(choice).to_have_value("Head")
    expect(rows).to_have_count(0)
    choice.scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # a list that opens while the page scrolls would close again
    choice.click()
    options = page.get_by_role("option")
    expect(options).to_have_count(10)
    options.get_by_text("By layer", exact=True).click()
    page.wait_for_function("location.search.includes('open=layers')")
    page.locator('[data-part="lens"]').wait_for()
    expect(choice).to_have_value("By layer")


def test_the_sections_are_in_rows_again_outside_lessons(visit: Callable[..., Page]):
    page = visit(lesson="writers.1")
    expect(page.locator(".st-key-sections input")).to_be_visible()
    page.get_by_role("button", name="Leave").click()
    expect(page.locator(".st-key-sections").get_by_role("radiogroup")).to_have_count(len(SECTION_GROUPS))


def test_each_compared_model_is_explained(visit: Callable[..., Page]):
    page = visit(page="compare", model="stories-softmax")
    chip = page.get_by_role("button", name="gated", exact=True)
    line = catalogue.find("stories-gated").line
    chip.hover()
    expect(page.get_by_role("tooltip")).to_have_text(line)
    place = chip.bounding_box()
    chip.click()
    rows = page.locator(".st-key-comparison tbody th")
    expect(rows).to_have_count(2)
    assert chip.bounding_box() == place
    for row, name in zip(rows.all(), ("stories-softmax", "stories-gated"), strict=True):
        expect(row).to_contain_text(model_label(name))
        expect(row).to_contain_text(catalogue.find(name).line)
    page.mouse.move(0, 0)
    page.get_by_role("button", name="dense", exact=True).focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tooltip")).to_have_text(catalogue.find("stories-dense-softmax").line)


def test_every_chip_of_a_family_has_a_sentence(visit: Callable[..., Page]):
    page = visit(page="compare", model="masked-softmax", lang="zh")
    chips = page.locator(".st-key-compared button")
    expect(chips).to_have_count(len(catalogue.family("masked-softmax")) - 1)
    for chip in chips.all():
        chip.hover()
        expect(page.get_by_role("tooltip")).not_to_have_text("")
        assert page.get_by_role("tooltip").inner_text().strip().endswith("。")
        page.mouse.move(0, 0)
        expect(page.get_by_role("tooltip")).to_have_count(0)
