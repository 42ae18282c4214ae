"""The app on a phone: confirmations, forms and dialogs that fit, and links that a finger can hit.

pytest tests/e2e/test_phone.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

LANGUAGES = ("en", "zh")


def boxes(*elements: Locator) -> list[dict[str, float]]:
    """Returns the boxes of elements at one moment: a page that is still being drawn moves between two measurements."""
    handles = [element.element_handle() for element in elements]
    return elements[0].page.evaluate("all => all.map(its => its.getBoundingClientRect().toJSON())", handles)


def box(element: Locator) -> dict[str, float]:
    """Returns the bounding box with `right` and `bottom`."""
    found = element.bounding_box()
    return {**found, "right": found["x"] + found["width"], "bottom": found["y"] + found["height"]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_copied_link_is_confirmed_in_one_line(visit: Callable[..., Page], language: str):
    """The button shows a check mark; the announced word is below the button, in one line, inside the window."""
    page = visit(phone=True, page="explore", lang=language)
    copy = page.locator(".copy")
    button, word = copy.locator("button"), copy.get_by_role("status")
    before, icon = box(button), button.locator("path").get_attribute("d")
    button.click()
    expect(word).not_to_be_empty()
    place = box(word)
    assert place["x"] >= 0 and place["right"] <= 390 and place["height"] < 34 and place["y"] >= before["bottom"]
    assert button.locator("path").get_attribute("d") != icon
    assert box(button) == before
    expect(word).to_be_empty()
    assert button.locator("path").get_attribute("d") == icon


@pytest.mark.parametrize("phone", [False, True])
def test_the_form_for_a_saved_state_moves_nothing(visit: Callable[..., Page], phone: bool):
    """The form opens over the page and inside the window; its elements have room, and a press outside closes it."""
    page = visit(phone=phone, page="explore")
    header = box(page.locator(".st-key-header"))
    page.locator("button.saved").click()
    page.get_by_role("menuitem", name="Save this state").click()
    form = page.locator("form.saving")
    outer, parts = box(form), [box(part) for part in form.locator("input, button").all()]
    assert outer["x"] >= 0 and outer["right"] <= page.viewport_size["width"]
    assert box(page.locator(".st-key-header")) == header
    for left, right in zip(parts, parts[1:], strict=False):
        assert right["x"] - left["right"] >= 6
    assert all(outer["x"] + 8 <= its["x"] and its["right"] <= outer["right"] - 8 for its in parts)
    for name in form.get_by_role("button").all():  # the borders do not touch the words
        assert name.evaluate("its => parseFloat(getComputedStyle(its).paddingLeft)") >= 8
    page.mouse.click(20, 500)
    expect(form).to_be_hidden()


def test_title_and_tabs_of_the_model_dialog_stay_in_view(visit: Callable[..., Page]):
    """The dialog opens at the current model, and its title, its tabs and the close button are in view."""
    page = visit(phone=True, page="explore", model="stories-selective-memory")
    page.locator(".choose").click()
    dialog = page.get_by_role("dialog")
    expect(dialog.locator("[aria-current]")).to_be_in_viewport()
    for part in (dialog.get_by_role("heading").first, dialog.get_by_role("tab").last,
                 dialog.locator(".head button")):
        expect(part).to_be_in_viewport(ratio=1)
    dialog.get_by_role("tab").nth(1).click()
    expect(dialog.locator(".line")).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("language", LANGUAGES)
def test_links_to_pages_are_as_large_as_a_finger(visit: Callable[..., Page], language: str):
    page = visit(phone=True, page="explore", lang=language)
    button = page.locator(".st-key-navigation button")
    name = page.locator("nav a[aria-current]").text_content()
    expect(button).to_contain_text(name)  # the current page
    header, place = box(page.locator(".st-key-header")), box(button)
    assert place["width"] >= 44 and place["height"] >= 44
    button.press("Enter")
    expect(page.locator("nav a[aria-current]")).to_be_visible()
    assert box(page.locator(".st-key-header")) == header  # nothing moves
    links = [box(link) for link in page.locator("nav a").all()]
    assert len(links) > 8 and all(link["width"] >= 44 and link["height"] >= 44 for link in links)
    rows = sorted({round(link["y"]) for link in links})
    assert all(lower - upper >= 44 + 4 for upper, lower in zip(rows, rows[1:], strict=False))
    assert max(link["right"] for link in links) <= 390
    page.keyboard.press("Tab")
    page.keyboard.press("Escape")
    expect(page.locator("nav")).to_be_hidden()
    expect(button).to_be_focused()
    button.tap()
    page.locator('nav a[data-page="about"]').tap()
    page.wait_for_function("location.search.includes('page=about')")
    expect(page.locator('[data-part="bar"]')).to_be_visible()


LABELS = """() => {
    const root = [...document.querySelectorAll('*')]
        .map(e => e.shadowRoot?.querySelector('[data-part="head_map"]')).find(Boolean);
    return [...root.querySelectorAll('.word small')].filter(label => label.textContent).map(label => {
        const range = document.createRange();
        range.selectNodeContents(label);
        const { left, right, top } = range.getBoundingClientRect();
        return { left, right, top };
    });
}"""


@pytest.mark.parametrize("phone", [False, True])
def test_labels_of_the_mask_do_not_overlap(visit: Callable[..., Page], phone: bool):
    page = visit(phone=phone, page="explore", model="stories-selective", view="mask", form="words", at="1.0",
                 text="Tom had a big red ball. He went to the park with his mom. He wanted to play with his")
    page.locator(".word small").filter(has_text="%").first.wait_for(state="attached")
    labels = page.evaluate(LABELS)
    assert len(labels) > 2
    for i, one in enumerate(labels):
        for other in labels[i + 1:]:
            assert abs(one["top"] - other["top"]) > 5 or one["right"] < other["left"] or other["right"] < one["left"]


def test_the_list_of_examples_does_not_search(visit: Callable[..., Page]):
    """Streamlit answers a search without results in English, in every language."""
    page = visit(phone=True, page="explore", lang="zh")
    page.locator(".st-key-example [data-testid=stSelectbox] input").click()
    options = page.get_by_role("option")
    expect(options.first).to_be_visible()
    count = options.count()
    page.keyboard.type("zzz")
    expect(page.get_by_text("No results")).to_have_count(0)
    expect(options).to_have_count(count)


@pytest.mark.parametrize("width", [390, 853])
def test_the_foot_names_the_answer_first(visit: Callable[..., Page], width: int):
    """At all widths the answer is before the name of the prediction, because a narrow foot cuts its end."""
    page = visit(phone=True, page="explore", lang="zh")
    page.set_viewport_size({"width": width, "height": 600})
    foot = page.locator(".peek")
    expect(foot).to_be_visible()
    assert box(foot.locator(".says"))["right"] <= box(foot.locator(".name"))["x"]


@pytest.mark.parametrize("form", ["words", "matrix"])
def test_a_phone_says_tap_and_a_computer_says_point(visit: Callable[..., Page], form: str):
    """The line below the picture names what the visitor has: a finger, or a pointer and keys."""
    for phone, word in ((True, "Tap"), (False, "Point")):
        page = visit(phone=phone, page="explore", model="stories-selective", view="mask" if form == "words" else "used",
                     **{"as": form})
        readout = page.locator('[data-part="head_map"] .readout')
        expect(readout).to_contain_text(word)


def test_no_chart_of_the_page_heads_is_cut(visit: Callable[..., Page]):
    page = visit(phone=True, wait=False, page="heads")
    expect(page.locator('[data-part="figure"] .plot svg')).to_have_count(2, timeout=60_000)
    page.wait_for_timeout(500)
    for plot in page.locator('[data-part="figure"] .plot').all():
        assert plot.evaluate("its => its.scrollWidth - its.clientWidth") <= 0


def test_the_colour_scale_is_chosen_on_the_line_of_the_legend(visit: Callable[..., Page]):
    page = visit(phone=True, page="explore", **{"as": "matrix"})
    below = page.locator(".below")
    word, choice, scale = boxes(below.get_by_text("weight"), below.locator(".shading"), below.locator(".scale"))
    assert choice["y"] < word["bottom"] and choice["x"] > word["right"] and choice["right"] <= 390
    assert scale["bottom"] <= choice["y"]


def test_the_start_page_says_what_the_app_is_and_its_button_is_in_view(visit: Callable[..., Page]):
    page = visit(phone=True, first=True)
    shown = page.locator('[data-part="start"]')
    expect(shown.locator("h1")).to_contain_text("look at", timeout=20_000)
    expect(shown.locator(".buttons button")).to_be_in_viewport(ratio=1)
