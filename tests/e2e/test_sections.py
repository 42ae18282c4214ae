"""The list of Explore's sections, and the tips of sections and of compared models.

    pytest tests/e2e/test_sections.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from app import texts
from app.panels.choice.labels import model_label
from app.panels.page.sections import name_of
from models import catalogue
from tests.e2e.app_page import query

pytestmark = pytest.mark.browser

EXPLORE = {"page": "explore", "model": "stories-selective"}
SIZES = [(390, 844), (1024, 768), (1280, 800), (1920, 1080)]


def chosen_section(page: Page) -> Locator:
    """Returns the closed list, whose value is the section on the page."""
    return page.locator(".st-key-sections input")


def open_section(page: Page, key: str) -> None:
    """Chooses a section in the list."""
    chosen_section(page).scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # a list that opens while the page scrolls would close again
    chosen_section(page).click()
    page.get_by_role("option", name=name_of(key), exact=True).click()


def test_the_list_has_the_section_of_the_link_and_of_the_last_choice(visit: Callable[..., Page]):
    page = visit(**EXPLORE, open="memory")
    expect(chosen_section(page)).to_have_value("Experiment: Forgetting")
    for key in ("writers", "entropy", "head", "pair"):
        open_section(page, key)
        expect(chosen_section(page)).to_have_value(name_of(key))
        page.wait_for_function("key => (new URLSearchParams(location.search).get('open') ?? 'head') === key", arg=key)
    page.go_back()
    expect(chosen_section(page)).to_have_value("Experiment: Forgetting")


def test_a_section_is_chosen_with_the_keyboard(visit: Callable[..., Page]):
    page = visit(**EXPLORE)
    chosen_section(page).focus()
    page.keyboard.press("ArrowDown")
    expect(page.get_by_role("option")).to_have_count(10)
    for _step in range(5):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Contributions to the answer")).to_be_visible()
    assert query(page)["open"] == "writers"


def test_each_section_in_the_list_has_a_tip_beside_the_list(visit: Callable[..., Page]):
    page = visit(**EXPLORE)
    chosen_section(page).click()
    option = page.get_by_role("option", name="Explain: Contributions", exact=True)
    option.hover()
    tip = page.locator(".attention-lab-tip")  # an open list hides the rest of the page from screen readers
    expect(tip).to_contain_text(texts.glossary()["contributions"][1])
    option_box, tip_box = option.bounding_box(), tip.bounding_box()
    assert option_box and tip_box and tip_box["x"] >= option_box["x"] + option_box["width"]
    option.click()
    expect(page.get_by_role("heading", name="Contributions to the answer")).to_be_visible()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_choice_of_the_section_is_one_short_line(visit: Callable[..., Page], size: tuple[int, int], language: str):
    page = visit(**EXPLORE, open="card", lang=language)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    expect(chosen_section(page)).to_have_value("See: Model card" if language == "en" else "观察：模型卡片")
    place = page.locator(".st-key-sections").bounding_box()
    assert place and place["height"] <= 45 and place["width"] <= 340
    chosen_section(page).scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    chosen_section(page).click()
    options = page.get_by_role("option")
    expect(options).to_have_count(10)
    if size[0] > 390:
        for option in (options.first, options.last):  # the open list needs no scrolling
            expect(option).to_be_in_viewport(ratio=1)


def test_a_choice_does_not_move_the_list(visit: Callable[..., Page]):
    page = visit(**EXPLORE)
    before = page.locator(".st-key-sections").bounding_box()
    for key in ("writers", "pair", "card"):
        open_section(page, key)
        expect(chosen_section(page)).to_have_value(name_of(key))
        assert page.locator(".st-key-sections").bounding_box() == before


def test_each_compared_model_is_explained(visit: Callable[..., Page]):
    page = visit(page="compare", model="stories-softmax")
    page.get_by_role("button", name="Choose models").click()
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


@pytest.mark.parametrize("phone", [False, True])
def test_models_are_chosen_and_removed_by_keyboard(visit: Callable[..., Page], phone: bool):
    """The answers are on the first screen, because the models to choose are in a popover."""
    page = visit(phone=phone, page="compare", model="stories-softmax", **{"with": "stories-random"})
    rows = page.locator(".st-key-comparison tbody th")
    expect(rows).to_have_count(2)
    expect(rows.last).to_be_in_viewport()
    page.get_by_role("button", name="Choose models").press("Enter")
    page.get_by_role("button", name="gated", exact=True).press("Enter")
    page.wait_for_function("location.search.includes('with=stories-random+stories-gated')")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="random ✕").press("Enter")
    page.wait_for_function("location.search.includes('with=stories-gated')")
    expect(rows).to_have_count(2)


def test_every_chip_of_a_family_has_a_sentence(visit: Callable[..., Page]):
    page = visit(page="compare", model="masked-softmax", lang="zh")
    page.get_by_role("button", name="选择模型").click()
    chips = page.locator(".st-key-compared button")
    expect(chips).to_have_count(len(catalogue.family("masked-softmax")) - 1)
    for chip in chips.all():
        chip.hover()
        expect(page.get_by_role("tooltip")).not_to_have_text("")
        assert page.get_by_role("tooltip").inner_text().strip().endswith("。")
        page.mouse.move(0, 0)
        expect(page.get_by_role("tooltip")).to_have_count(0)


def test_a_link_with_a_view_has_the_tabs(visit):
    page = visit(page="explore", model="stories-softmax", view="difference")
    used, difference = (page.locator(f"[role=tab][data-name={name}]") for name in ("used", "difference"))
    expect(difference).to_have_attribute("aria-selected", "true")
    used.click()
    expect(used).to_be_focused()  # the tabs stay while one of them has the focus
    page.wait_for_function("!location.search.includes('view=')")
    expect(difference).to_be_visible()
