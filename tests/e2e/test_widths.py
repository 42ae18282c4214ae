"""The layout on screens of different widths: effect panel, header, tiles, large type.

    pytest tests/e2e/test_widths.py
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.browser

NARROW = [(390, 844), (853, 600), (1024, 768)]  # a phone, 1280 px at 150% zoom, a small laptop
QUESTION = {"page": "explore", "model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}


@pytest.mark.parametrize("size", NARROW, ids=str)
def test_a_press_and_its_effect_are_on_one_screen(visit: Callable[..., Page], size: tuple[int, int]):
    """While the effect panel is below the window, and only then, the effect is repeated at the foot of the window."""
    page = visit(**QUESTION)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    foot = page.locator(".peek")
    expect(foot).to_have_text("Answer to x=?“7” >99.9%")
    expect(foot).to_be_in_viewport()
    page.get_by_role("button", name="All heads of layer 1").click()
    page.keyboard.press("p")
    expect(foot).to_contain_text("“7” >99.9% → “3”")
    expect(foot).to_contain_text("worse")
    expect(foot).to_be_in_viewport()
    foot.click()
    expect(page.get_by_role("heading", name="Answer to x=?")).to_be_in_viewport()
    expect(foot).to_be_hidden()


def test_the_foot_covers_no_button_of_the_page_heads(visit: Callable[..., Page]):
    page = visit(page="heads", model="stories-selective")
    page.set_viewport_size({"width": 1280, "height": 800})
    chart = page.locator("[data-testid=stPlotlyChart]")
    chart.wait_for(timeout=60_000)
    foot = page.locator(".peek")
    expect(foot).to_be_in_viewport()
    table = page.get_by_role("button", name="Table: ").first
    table.wait_for()
    page.wait_for_timeout(1000)
    box = table.bounding_box()
    assert box["y"] > chart.bounding_box()["y"]
    assert box["y"] + box["height"] <= foot.bounding_box()["y"]
    main = page.locator("[data-testid=stMain]")
    for place, shown in ((1e6, False), (0, True), (1e6, False)):  # jumps past the panel
        main.evaluate("(its, place) => its.scrollTo({ top: place, behavior: 'instant' })", place)
        expect(foot).to_be_visible(visible=shown)


def test_a_wide_screen_has_the_panel_and_no_foot(visit: Callable[..., Page]):
    page = visit(**QUESTION)
    expect(page.get_by_role("heading", name="Answer to x=?")).to_be_in_viewport()
    expect(page.locator(".peek")).to_be_hidden()


def header_positions(page: Page) -> list[tuple[int, int]]:
    """Returns the positions of links and buttons in the header."""
    page.locator(".st-key-bar a").first.wait_for()
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    found = page.locator(".st-key-bar :is(a, button):visible").all()
    boxes = [its.bounding_box() for its in found]
    return [(round(box["x"]), round(box["y"])) for box in boxes if box]


def test_the_header_stays_where_it_is(visit: Callable[..., Page]):
    """The elements of the header have the same positions on every page, with and without a model."""
    found: dict[int, list] = {390: [], 1024: [], 1280: [], 1920: []}
    for name in ("start", "lab", "results"):
        page = visit(wait=False, page=name)
        for width, positions in found.items():
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(500)
            positions.append(header_positions(page))
    for first, second, third in found.values():
        assert first == second == third


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(("teach", "least"), [("0", 16), ("1", 18)])
def test_the_header_has_larger_letters_on_a_wide_screen(visit: Callable[..., Page], teach: str, least: int, lang: str):
    page = visit(page="explore", teach=teach, lang=lang)
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_timeout(500)
    parts = [*page.locator("nav a").all(), page.locator(".st-key-model .title")]
    for part in parts:
        size = part.evaluate("its => parseFloat(getComputedStyle(its).fontSize) * its.currentCSSZoom")
        assert size >= least - 0.05
    tops = {round(box["y"] + box["height"] / 2) for box in (its.bounding_box() for its in parts[:-1]) if box}
    assert len(tops) == 1  # in one line
    assert page.locator(".st-key-header").evaluate("its => its.scrollWidth - its.clientWidth") <= 1


@pytest.mark.parametrize("teach", ["0", "1"])
def test_the_names_of_the_pages_are_apart(visit: Callable[..., Page], teach: str):
    page = visit(page="explore", teach=teach)
    for width in (768, 1024, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        spaces = page.locator("nav").evaluate("""nav => [...nav.children].map(link => {
            const range = document.createRange();
            range.selectNodeContents(link);
            return range.getBoundingClientRect();
        }).map((box, at, all) => at && box.top === all[at - 1].top ? box.left - all[at - 1].right : 99)""")
        assert len(spaces) == 10 and spaces.count(99) == 1, width  # in one line
        assert min(spaces) >= 9, width


@pytest.mark.parametrize("width", [390, 1280])
def test_a_name_of_two_lines_makes_the_header_no_higher(visit: Callable[..., Page], width: int):
    heights = []
    for name, title in (("stories-softmax", "Softmax"), ("masked-gau-relu2-mixed", "mixed lengths")):
        page = visit(page="explore", model=name)
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator(".st-key-model .title")).to_contain_text(title, ignore_case=True)
        page.wait_for_timeout(500)
        heights.append((page.locator(".st-key-header").bounding_box()["height"],
                        page.locator(".st-key-model .choose").bounding_box()["height"]))
    assert heights[0] == heights[1]


def test_a_long_name_of_a_model_is_not_cut(visit: Callable[..., Page]):
    """The accessible name of the button is the full name, too."""
    page = visit(page="explore", model="masked-gau-relu2-mixed")
    name = page.locator(".st-key-model .title")
    for width in (1280, 1000):
        page.set_viewport_size({"width": width, "height": 900})
        expect(name).to_have_text("Gated attention unit, relu²/n, mixed lengths")
        assert name.evaluate("its => its.scrollHeight - its.clientHeight") <= 1
    expect(page.locator(".st-key-model .choose")).to_have_accessible_name(re.compile("unit, relu²/n, mixed lengths"))


def test_no_page_slides_sideways_on_a_phone(visit: Callable[..., Page]):
    """No page scrolls sideways on a phone. A table that is too wide has its own scroll bar."""
    page = visit(phone=True)
    for name, there in (("constant", "task"), ("results", "source"), ("heads", ""), ("pruning", ""), ("length", ""),
                        ("explore", ""), ("compare", ""), ("lessons", ""), ("about", ""), ("yours", "")):
        page.goto(f"{page.url.split('?')[0]}?page={name}")
        page.get_by_role("columnheader", name=there).first.wait_for() if there else \
            page.locator("nav a[aria-current]").wait_for(state="attached")
        page.wait_for_timeout(1000)
        for width in (390, 320):  # a phone, and 1280 px at 400% zoom
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_timeout(300)
            slides = page.locator("[data-testid=stMain]").evaluate("its => its.scrollWidth - its.clientWidth")
            assert slides == 0, (name, width)


LINES = """() => [...document.querySelectorAll('td, th')].filter(cell => cell.checkVisibility()).map(cell => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return [cell.innerText, new Set([...range.getClientRects()].map(box => Math.round(box.bottom / 6))).size];
})"""


def test_no_cell_of_a_table_of_results_has_four_lines_on_a_phone(visit: Callable[..., Page]):
    page = visit(phone=True, wait=False, page="results", claim="synthesizer")
    page.locator("td").first.wait_for(timeout=60_000)
    lines = page.evaluate(LINES)
    assert len(lines) > 20 and not [text for text, count in lines if count > 3]


def test_the_tiles_of_three_grids_use_the_width_of_the_page_heads(visit: Callable[..., Page]):
    page = visit(page="heads", model="translation-softmax")
    found = page.evaluate("""() => {
      const root = [...document.querySelectorAll('*')].find(
        element => element.shadowRoot?.querySelector('[data-part="heads"]')).shadowRoot;
      const row = root.querySelector('.grid .row:nth-child(2)');
      const last = row.lastElementChild.getBoundingClientRect();
      const place = root.querySelector('.board').getBoundingClientRect();
      const tile = root.querySelector('.tile.chosen');
      const [frame, picture] = [tile.querySelector('.map'), tile.querySelector('canvas')];
      return { share: (last.right - place.left) / place.width, shadow: getComputedStyle(frame).boxShadow,
               heights: [frame, picture].map(element => element.getBoundingClientRect().height) };
    }""")
    assert found["share"] > 0.85
    assert "3px" in found["shadow"] and found["heights"][0] == pytest.approx(found["heights"][1], abs=1)


def test_the_opening_is_read_from_the_last_row_at_1920(visit: Callable[..., Page]):
    """The sentence and what is said of it are large enough for a projector's screen."""
    page = visit(first=True, wait=False)
    page.set_viewport_size({"width": 1920, "height": 1080})
    shown = page.locator('[data-part="start"]')
    shown.locator(".slot").wait_for(timeout=30_000)
    sizes = shown.evaluate("""root => ['h1', '.about', '.word', '.says'].map(
      name => parseFloat(getComputedStyle(root.querySelector(name)).fontSize))""")
    assert min(sizes) >= 24


def test_a_wide_window_has_larger_tiles_and_everything_on_one_screen(visit: Callable[..., Page]):
    """The tiles grow with the window; the controls, also the rarely used ones below them, and the effect stay on it."""
    page = visit(page="explore", model="stories-softmax")
    tile = page.get_by_role("gridcell").first
    width = tile.bounding_box()["width"]
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.wait_for_function("""before => {
        const all = Array.from(document.querySelectorAll('*'), its => its.shadowRoot?.querySelector('.tile'))
        return all.find(Boolean).getBoundingClientRect().width > before
    }""", arg=1.4 * width)
    actions, rare = page.locator(".buttons"), page.locator(".tools")
    assert actions.bounding_box()["y"] < rare.bounding_box()["y"]
    for part in (page.get_by_role("grid"), actions, page.locator(".gate"), rare, page.locator(".answer"),
                 page.locator(".losses .strip")):
        expect(part).to_be_in_viewport(ratio=0.99)
