"""The layout on screens of different widths: header, tiles, answer, and no page that slides sideways."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.app_page import answered, go, linked
from tests.e2e.test_accessibility import violations

pytestmark = pytest.mark.browser

PLACES = ("lab", "training", "lessons", "results", "yours", "about", "start", "teachers")
SLIDES = "its => its.scrollWidth - its.clientWidth"
# Returns texts of the page below 13 px, and texts whose end is outside the screen.
FAULTS = """element => [...element.querySelectorAll('*')].filter(each => each.checkVisibility() &&
    [...each.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())).flatMap(each => {
        const { right, width, height } = each.getBoundingClientRect();
        const scrolls = each.closest('.scrolls, pre, .spoken, .plot, .description');
        const outside = !scrolls && right > innerWidth + 1 && width > 1 && height > 1;
        return outside || parseFloat(getComputedStyle(each).fontSize) < 13 ? [each.textContent] : [];
    })"""
OVER = "its => Math.max(its.scrollHeight - its.clientHeight, its.scrollWidth - its.clientWidth)"


def header_positions(page: Page) -> list[tuple[int, int]]:
    """Returns the positions of links and buttons in the header."""
    page.locator(".st-key-bar a").first.wait_for()
    page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
    found = page.locator(".st-key-bar :is(a, button):visible").all()
    boxes = [its.bounding_box() for its in found]
    return [(round(box["x"]), round(box["y"])) for box in boxes if box]


def test_the_header_stays_where_it_is(visit: Callable[..., Page]):
    found: dict[int, list] = {390: [], 1024: [], 1280: [], 1920: []}
    for name in ("start", "lab", "results"):
        page = visit(wait=False, page=name)
        for width, positions in found.items():
            page.set_viewport_size({"width": width, "height": 900})
            page.wait_for_timeout(500)
            positions.append(header_positions(page))
    for first, second, third in found.values():
        assert first == second == third


@pytest.mark.parametrize("teach", ["0", "1"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_names_of_the_places_are_apart_in_one_line(visit: Callable[..., Page], teach: str, lang: str):
    page = visit(model="stories-selective", teach=teach, lang=lang)
    for width in (780, 1024, 1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        answered(page)
        boxes = page.locator(".bar :is(a, button):visible").evaluate_all("""all => all.map(
            its => its.getBoundingClientRect().toJSON()).sort((one, other) => one.left - other.left)""")
        assert len(boxes) >= 8
        middles = [(box["top"] + box["bottom"]) / 2 for box in boxes]
        assert max(middles) - min(middles) <= 3, width
        assert all(left["right"] <= right["left"] + 0.5 for left, right in zip(boxes, boxes[1:], strict=False)), width
        assert boxes[-1]["right"] <= width, width


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_models_of_one_cell_have_different_names_in_view(visit: Callable[..., Page], lang: str):
    page = visit(wait=False, page="yours", model="stories-selective", lang=lang)
    page.locator("td button").first.wait_for(timeout=30_000)
    for width in (390, 768, 1280, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        cells = page.locator("td:has(button + button)").evaluate_all(f"""all => all.map(its => ({{
            names: [...its.children].map(each => each.innerText), over: Math.max(...[...its.children].map({OVER})),
            size: parseFloat(getComputedStyle(its.firstChild).fontSize)}}))""")
        assert len(cells) >= 3 and all(len({*cell["names"]} - {""}) == len(cell["names"]) for cell in cells), width
        assert all(cell["over"] <= 0 and cell["size"] >= 13 for cell in cells), width


def test_no_page_slides_sideways_on_a_phone(visit: Callable[..., Page]):
    """A table that is too wide has its own scroll bar."""
    page = visit(phone=True, model="stories-selective")
    for state in (*({"page": name} for name in PLACES), {"model": "translation-softmax"}, {"model": "minilm"},
                  {"model": "stories-softmax", "lab": "all.second", "with": "stories-random"}, {"lab": "head.get"}):
        go(page, **{"model": "stories-selective"} | state)
        page.locator(".st-key-bar .tabs").wait_for()
        expect(page.locator('[data-testid="stApp"]')).to_have_attribute("data-test-script-state", "notRunning",
                                                                        timeout=30_000)
        for width in (390, 320):  # a phone, and 1280 px at 400% zoom
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_timeout(300)
            assert page.evaluate("document.documentElement.scrollWidth") <= width, (state, width)
            assert page.locator("[data-testid=stMain]").evaluate(SLIDES) == 0, (state, width)


@pytest.mark.parametrize("state", [
    {"model": "translation-softmax"}, {"model": "translation-softmax", "teach": "1"},
    {"lesson": "translation.1"}, {"lesson": "translation.1", "teach": "1"},
    {"model": "stories-softmax", "text": "שלום עולם abc 123"}])
def test_parts_stay_beside_their_neighbours_at_every_width(visit: Callable[..., Page], state: dict[str, str]):
    """No word, tile, name or button covers another or leaves the page, whatever width was shown before."""
    page = visit(**state)
    for width in (1280, 900, 1280, 1920, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        answered(page)
        boxes = page.locator(":is(.bottom, .memory) .word:visible, .stage :is(.steps .button, .tile, .layer-name b, "
                             ".layer-name small, .unknown *, .lead, .caption, .answer .word):visible").evaluate_all(
            "all => all.map(its => ({ ...its.getBoundingClientRect().toJSON(), "
            "end: its.closest('.words')?.getBoundingClientRect().bottom ?? Infinity }))")  # long texts scroll
        assert all(box["left"] >= 0 and box["right"] <= width for box in boxes), width
        covered = [(one, other) for i, one in enumerate(boxes) for other in boxes[:i]
                   if min(one["right"], other["right"]) - max(one["left"], other["left"]) > 1
                   and min(each[edge] for each in (one, other) for edge in ("bottom", "end"))
                   - max(one["top"], other["top"]) > 1]
        assert not covered, width


@pytest.mark.parametrize(("link", "root"), [
    *(({"page": "results", "claim": "papa-average", "lang": lang}, ".findings") for lang in ("en", "zh")),
    ({"page": "about", "lang": "zh"}, ".guide")])
def test_a_page_is_whole_at_every_width(visit: Callable[..., Page], link: dict[str, str], root: str):
    """No text is small or outside the screen. A wide screen shows the opened statement beside the list."""
    page = visit(wait=False, dark=link["lang"] == "zh", **link)
    page.locator({".findings": ".one .vega svg", ".guide": "#term-gate"}[root]).wait_for(timeout=60_000)
    for width in (320, 390, 768, 1024, 1280, 1440, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        expect(page.locator(".columns.beside")).to_have_count(int(width >= 1024 and root == ".findings"))
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        assert page.locator(root).evaluate(SLIDES) == 0 and page.locator(root).evaluate(FAULTS) == [], width
    assert not violations(page)


def test_a_chosen_tool_is_in_view(visit: Callable[..., Page]):
    page = visit()
    inspector, main = page.locator(".inspector"), page.locator("[data-testid=stMain]")
    for key in ("head.carry", "head.get", "head.corpus"):
        page.locator(f'.tools [data-key="{key}"]').click()
        linked(page, "lab", key)
        expect(inspector).to_be_in_viewport(ratio=0.99)
        assert page.locator(".view").evaluate(OVER) == 0, key
        assert page.locator(".view .button").evaluate_all(f"all => all.every(its => ({OVER})(its) <= 0)"), key
    main.evaluate("its => its.scrollTo(0, 0)")
    page.locator(".tile.on").focus()
    page.keyboard.press("ArrowLeft")
    answered(page)
    assert main.evaluate("its => its.scrollTop") == 0
    page.get_by_role("button", name="Keep this figure below").click()
    expect(page.locator(".pins figure")).to_be_in_viewport(ratio=0.9)
    page.locator('.things [data-thing="layer"]').click()  # with the figure, higher than the window
    page.wait_for_function("""its => {
        const { top } = its.getBoundingClientRect();
        return top > 0 && top < 0.5 * innerHeight;
    }""", arg=inspector.element_handle())
