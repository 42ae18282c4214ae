"""The components in a real browser, with arrays that are known: what is shown, and that no edit is lost.

    pytest tests/e2e/test_components.py
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy
import pytest
from playwright.sync_api import Locator, Page, expect

from components.colours import COLOURS
from tests.browser import serve
from tests.e2e.components_app import CASES, HOSTILE, ROWS, weights

pytestmark = pytest.mark.browser

# Of a canvas, in CSS pixels from its corner: the colour there, opaque cells only.
PIXEL = """(canvas, [x, y, scaled]) => {
    const ratio = scaled ? canvas.width / canvas.clientWidth : 1;
    return [...canvas.getContext('2d').getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data]; }"""


# root(name): what a component is drawn into, inside its shadow root.
ROOT = """const root = name => [...document.querySelectorAll('*')]
    .map(e => e.shadowRoot?.querySelector(`[data-part="${name}"]`)).find(Boolean);"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve("tests/e2e/components_app.py") as address:
        yield address


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-part="{name}"]')


def named(page: Page, name: str) -> Locator:
    return page.get_by_role("gridcell", name=name, exact=True)


def select(page: Page, kind: str, layer: int, head: int) -> None:
    """Clicks a tile, counted from 1, and waits for its map."""
    page.get_by_role("gridcell", name=re.compile(f"^({kind}, )?layer {layer}, head {head},", re.I)).click()
    expect(page.get_by_role("heading", name=re.compile(f"Layer {layer}, head {head} "))).to_be_visible()
    expect(part(page, "head_map")).not_to_have_class(re.compile("old"))


def python(page: Page) -> dict:
    """What Python has done, as the page says."""
    return json.loads(page.locator("code").inner_text())


def expect_python(page: Page, part: str, values: list[list[float]]) -> None:
    """Waits until Python has done exactly this to the kind `self`, and no answer is awaited."""
    expect(page.locator("code")).to_contain_text(f'"{part}": {{"self": {json.dumps(values)}}}', timeout=30_000)
    expect(page.locator(".board")).to_have_attribute("aria-busy", "false")


def layout(page: Page, rows: int, columns: int) -> tuple[float, float, float]:
    """x, y and side of the large map's cells; layout.js has its own test."""
    size = page.evaluate(f"""async ([rows, columns]) => {{ {ROOT}
        const lab = await globalThis.attentionLab.promise;
        const width = root('head_map').querySelector('.plot').clientWidth;
        return lab.mapLayout(width, devicePixelRatio, rows, columns); }}""", [rows, columns])
    return size["x"], size["y"], size["cell"]


def colour(dark: bool, scale: str, step: float) -> numpy.ndarray:
    """Red, green and blue of a step, 0 to 255, of a scale."""
    stops = COLOURS["dark" if dark else "light"][scale]
    places = numpy.linspace(0, 255, len(stops))
    return numpy.array([numpy.interp(step, places, [int(stop[i:i + 2], 16) for stop in stops]) for i in (1, 3, 5)])


def shown_number(value: float, plus: bool = False) -> str:
    if value == 0:
        return "±0.0000" if plus else "0.0000"
    text = f"{abs(value):.4f}" if abs(value) >= 1e-4 else f"{abs(value):.1e}".replace("e-0", "e−")
    return ("−" if value < 0 else "+" if plus else "") + text


@pytest.mark.parametrize(("kind", "layer", "head"), [("encoder", 2, 3), ("decoder", 1, 2), ("cross", 2, 1)])
def test_the_value_under_the_pointer_is_the_weight(visit, kind, layer, head):
    page = visit()
    select(page, kind, layer, head)
    queries, keys = (ROWS[row] for row in CASES["three"][kind].tokens)
    live, constant = (weights("three", kind, c)[layer - 1, head - 1] for c in (False, True))
    x, y, cell = layout(page, len(queries), len(keys))
    plot, readout = page.locator(".plot"), page.locator(".readout div").first
    cells = [(0, 0), (3, 1), (4, 4), (len(queries) - 1, 0)] + ([(1, 6)] if kind != "decoder" else [])
    for i, j in cells:
        for dx, dy in ((0.1, 0.1), (0.9, 0.9)):
            plot.hover(position={"x": x + (j + dx) * cell, "y": y + (i + dy) * cell})
            text = readout.inner_text()
            assert text.startswith(f"query {i + 1} “")
            assert f"→ key {j + 1} “" in text
            assert text.endswith(f": {shown_number(live[i, j])}")
    if kind == "cross":
        return
    page.get_by_role("tab", name="Difference").click()
    for i, j in cells:
        plot.hover(position={"x": x + (j + 0.5) * cell, "y": y + (i + 0.5) * cell})
        assert readout.inner_text().endswith(f": {shown_number(constant[i, j] - live[i, j], plus=True)}")


def test_tokens_are_shown_as_text_whatever_they_are(visit):
    page = visit()
    select(page, "cross", 1, 1)
    plot, readout = page.locator(".plot"), page.locator(".readout div").first
    plot.focus()
    for key in ("ArrowUp", "ArrowUp", "ArrowRight", "ArrowRight", "ArrowRight"):
        plot.press(key)
    assert re.match(r"query 4 “\u2068שלום\u2069” → key 4 “<b>”: ", readout.inner_text())
    assert page.locator("b b, bdi b").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_cells_have_the_colours_of_their_weights(visit, dark):
    page = visit(dark=dark)
    for kind, layer, head in (("decoder", 1, 3), ("cross", 1, 2)):
        select(page, kind, layer, head)
        queries, keys = (ROWS[row] for row in CASES["three"][kind].tokens)
        live = weights("three", kind)[layer - 1, head - 1]
        x, y, cell = layout(page, len(queries), len(keys))
        canvas = page.locator(".plot canvas").first
        for i in range(len(queries)):
            for j in range(i + 1 if kind == "decoder" else len(keys)):
                got = canvas.evaluate(PIXEL, [x + (j + 0.5) * cell, y + (i + 0.5) * cell, True])
                wanted = colour(dark, "sequential", 255 * live[i, j] ** 0.5)
                assert numpy.abs(numpy.array(got[:3]) - wanted).max() <= 2.5, (kind, i, j)
    select(page, "encoder", 1, 2)
    page.get_by_role("tab", name="Difference").click()
    live, constant = (weights("three", "encoder", c)[0, 1] for c in (False, True))
    x, y, cell = layout(page, 7, 7)
    for i, j in ((0, 0), (2, 5), (6, 1), (3, 3)):
        change = constant[i, j] - live[i, j]
        got = page.locator(".plot canvas").first.evaluate(PIXEL, [x + (j + 0.5) * cell, y + (i + 0.5) * cell, True])
        wanted = colour(dark, "diverging", 127.5 + 127.5 * numpy.sign(change) * abs(change) ** 0.5)
        assert numpy.abs(numpy.array(got[:3]) - wanted).max() <= 2.5, (i, j)


@pytest.mark.parametrize("dark", [False, True])
def test_thumbnails_have_the_colours_of_their_weights(visit, dark):
    page = visit(dark=dark)
    for kind, shape in CASES["three"].items():
        maps = weights("three", kind)
        for layer in range(shape.layers):
            for head in range(shape.heads):
                canvas = page.get_by_role("gridcell", name=f"{shape.title}, layer {layer + 1}, head {head + 1}, live",
                                          exact=True).locator("canvas")
                for i, j in ((0, 0), (4, 2), (3, 1)):
                    got = canvas.evaluate(PIXEL, [j, i, False])
                    wanted = colour(dark, "sequential", 255 * maps[layer, head, i, j] ** 0.5)
                    assert numpy.abs(numpy.array(got[:3]) - wanted).max() <= 2.5, (kind, layer, head, i, j)


def test_a_constant_head_shows_its_matrix(visit):
    page = visit()
    select(page, "encoder", 1, 2)
    page.keyboard.press("c")
    expect(named(page, "Encoder, layer 1, head 2, constant")).to_be_visible()
    expect(part(page, "heads")).not_to_have_class(re.compile("old"))
    wanted = colour(False, "sequential", 255 * weights("three", "encoder", constant=True)[0, 1, 4, 2] ** 0.5)
    got = named(page, "Encoder, layer 1, head 2, constant").locator("canvas").evaluate(PIXEL, [2, 4, False])
    assert numpy.abs(numpy.array(got[:3]) - wanted).max() <= 2.5


def test_a_pruned_head_looks_pruned_in_the_large_map_too(visit):
    page = visit()
    select(page, "cross", 1, 1)
    live = weights("three", "cross")[0, 0]
    i, j = numpy.unravel_index(live.argmax(), live.shape)
    x, y, cell = layout(page, *live.shape)
    canvas = page.locator(".plot canvas").first
    place = [x + (j + 0.5) * cell, y + (i + 0.2) * cell, True]
    corner = [x + 7 * cell * 0.5, y + 5 * cell * 0.5, True]
    alive, unstruck = canvas.evaluate(PIXEL, place), canvas.evaluate(PIXEL, corner)
    page.keyboard.press("p")
    expect(page.get_by_role("heading", name="Cross · Layer 1, head 1 · pruned")).to_be_visible()
    faded, struck = canvas.evaluate(PIXEL, place), canvas.evaluate(PIXEL, corner)
    assert sum(faded[:3]) > sum(alive[:3]) + 100  # in the light theme: towards white
    assert sum(struck[:3]) < sum(unstruck[:3]) - 100
    page.get_by_role("tab", name="Live").click()
    assert canvas.evaluate(PIXEL, place) == alive


def test_without_constant_matrices_nothing_offers_them(visit):
    page = visit()
    select(page, "encoder", 1, 1)
    expect(page.get_by_role("tab")).to_have_text(["Used", "Live", "Constant", "Difference"])
    expect(page.get_by_role("button", name="Constant")).to_have_attribute("aria-disabled", "false")
    select(page, "cross", 1, 1)
    expect(page.get_by_role("tab")).to_have_text(["Used", "Live"])
    button = page.get_by_role("button", name="Constant")
    expect(button).to_have_attribute("aria-disabled", "true")
    expect(button).to_have_attribute("title", re.compile("no constant matrices of Cross"))
    button.click(force=True)
    page.keyboard.press("c")
    select(page, "cross", 2, 2)
    page.keyboard.press("c")
    page.keyboard.press("p")
    expect(named(page, "Cross, layer 2, head 2, pruned")).to_be_visible()
    expect(named(page, "Cross, layer 1, head 1, live")).to_be_visible()
    assert not any(map(any, python(page)["constant"]["cross"]))


def test_one_selection_walks_through_all_kinds(visit):
    page = visit()
    named(page, "Encoder, layer 2, head 3, live").click()
    for key, name in [("ArrowDown", "Decoder, layer 1, head 3"), ("ArrowRight", "Decoder, layer 1, head 4"),
                      ("ArrowRight", "Cross, layer 1, head 1"), ("ArrowDown", "Cross, layer 2, head 1")]:
        page.keyboard.press(key)
        expect(named(page, f"{name}, live")).to_have_attribute("aria-selected", "true")
        expect(page.locator('[role="gridcell"][aria-selected="true"]')).to_have_count(1)
    for _ in range(3):
        page.keyboard.press("ArrowUp")  # the last one is the header of all second layers, which Enter would select
    page.keyboard.press("ArrowUp")
    expect(named(page, "Decoder, layer 1, head 1, live")).to_have_attribute("aria-selected", "true")
    expect(page.locator('.board [tabindex="0"]')).to_have_count(1)
    page.get_by_role("button", name="All heads, Cross").click()
    expect(page.locator('[role="gridcell"][aria-selected="true"]')).to_have_count(4)
    page.get_by_role("button", name="Prune").click()
    expect(page.get_by_role("gridcell", name=re.compile("pruned"))).to_have_count(4)
    expect(page.locator("code")).to_contain_text('"cross": [[0, 0], [0, 0]]')
    assert python(page)["gates"]["encoder"] == [[1, 1, 1], [1, 1, 1]]


def test_keys_work_wherever_the_focus_is(visit):
    page = visit(case="one")
    select(page, "self", 2, 2)
    page.get_by_role("button", name="Live", exact=True).focus()
    page.keyboard.press("p")
    expect(named(page, "layer 2, head 2, pruned")).to_be_visible()
    page.get_by_role("slider", name="Gate").focus()
    page.keyboard.press("+")
    expect(named(page, "layer 2, head 2, gate 0.10")).to_be_visible()
    page.locator(".plot").focus()
    page.keyboard.press("c")
    expect(named(page, "layer 2, head 2, constant, gate 0.10")).to_be_visible()
    page.keyboard.press("r")
    expect(named(page, "layer 2, head 2, live")).to_be_visible()
    page.get_by_role("button", name="All heads of layer 3").click()
    page.keyboard.press("c")
    expect(page.get_by_role("gridcell", name=re.compile("layer 3.*constant"))).to_have_count(4)
    page.get_by_label("Base length").focus()
    page.keyboard.press("p")  # what is typed into a field is no key of ours
    page.get_by_label("Text", exact=True).focus()
    page.keyboard.press("p")
    expect(page.get_by_role("gridcell", name=re.compile("pruned"))).to_have_count(0)
    assert python(page)["constant"]["self"] == [[False] * 4, [False] * 4, [True] * 4]


def test_forty_quick_edits_arrive_while_the_server_is_slow(visit):
    page = visit(case="large", slow="2")
    tile = page.get_by_role("gridcell", name=re.compile("^layer 1, head 1,"))
    tile.click()
    for _ in range(5):
        for head in range(12):
            page.keyboard.press("c" if head % 2 else "p")
            if head < 11:
                page.keyboard.press("ArrowRight")
        page.keyboard.press("Home")
        page.keyboard.press("ArrowDown")
    expect(page.get_by_role("gridcell", name=re.compile("constant$"))).to_have_count(30)
    expect_python(page, "constant", [[False, True] * 6] * 5 + [[False] * 12] * 7)
    expect_python(page, "gates", [[0, 1.0] * 6] * 5 + [[1.0] * 12] * 7)


def test_forty_quick_clicks_arrive_while_the_server_is_slow(visit):
    page = visit(case="large", slow="2")
    # Clicks as fast as they can be: on the tile, then on the button below.
    page.evaluate(f"""() => {{ {ROOT}
        const prune = [...root('heads').querySelectorAll('.buttons button')].at(-1);
        const tiles = [...root('heads').querySelectorAll('.tile')];
        for (let i = 0; i < 44; i += 1) setTimeout(() => {{ tiles[3 * i].click(); prune.click(); }}, 25 * i); }}""")
    expect(page.get_by_role("gridcell", name=re.compile("pruned$"))).to_have_count(44)
    expect_python(page, "gates", [[0 if i < 11 and j % 3 == 0 else 1.0 for j in range(12)] for i in range(12)])


def test_numbers_that_are_computed_anew_look_so(visit):
    page = visit(case="one", slow="1.2")
    effect, values = part(page, "effect"), part(page, "effect").locator(".values")
    expect(values).to_have_attribute("aria-busy", "false")
    boxes = [part(page, name).bounding_box() for name in ("heads", "head_map", "effect")]
    tile = named(page, "layer 1, head 2, live")
    tile.click()
    expect(part(page, "head_map").locator(".panel")).to_have_attribute("aria-busy", "true")  # another head's numbers
    expect(values).to_have_attribute("aria-busy", "false")
    expect(part(page, "head_map").locator(".panel")).to_have_attribute("aria-busy", "false")
    page.keyboard.press("p")
    expect(values).to_have_attribute("aria-busy", "true")
    expect(effect.locator("h2")).to_have_text("some words: 0")
    page.wait_for_timeout(250)
    assert float(values.evaluate("e => getComputedStyle(e).opacity")) < 0.7
    dimmed = page.locator(".tile.awaited")
    expect(dimmed).to_have_count(1)
    assert float(dimmed.locator("canvas").evaluate("e => getComputedStyle(e).opacity")) < 0.5
    assert [part(page, name).bounding_box() for name in ("heads", "head_map", "effect")] == boxes
    expect(values).to_have_attribute("aria-busy", "false")
    expect(effect.locator("h2")).to_have_text("some words: 1")
    expect(page.locator(".facts")).to_contain_text("2.000 → 2.100 ▲ +0.100, worse")
    expect(dimmed).to_have_count(0)
    page.wait_for_timeout(250)
    assert float(values.evaluate("e => getComputedStyle(e).opacity")) == 1


# Notes each frame that differs: whether the effect is marked, its title, and what stands in the text box.
WATCH = f"""() => {{ {ROOT}
    globalThis.seen = [];
    const look = () => {{
        const effect = root('effect');
        const now = JSON.stringify([effect?.querySelector('.values').getAttribute('aria-busy') === 'true',
            effect?.querySelector('h2').textContent, document.querySelector('.st-key-text input').value]);
        if (seen.at(-1) !== now) seen.push(now);
        requestAnimationFrame(look); }};
    look(); }}"""


def test_a_late_answer_to_an_older_question_is_marked_until_the_newest_is_there(visit):
    page = visit(case="one", slow="0.5")
    page.evaluate(WATCH)
    page.get_by_role("gridcell", name=re.compile("^layer 1, head 1,")).click()
    for _ in range(4):
        page.keyboard.press("p")
        page.keyboard.press("ArrowRight")
        page.wait_for_timeout(350)
    expect(part(page, "effect").locator("h2")).to_have_text("some words: 4")
    expect(part(page, "effect").locator(".values")).to_have_attribute("aria-busy", "false")
    seen = [json.loads(entry) for entry in page.evaluate("seen")]
    assert {title for busy, title, _ in seen if not busy} == {"some words: 0", "some words: 4"}, seen
    assert any(busy and title in ("some words: 1", "some words: 2", "some words: 3") for busy, title, _ in seen), seen


def test_typing_marks_the_numbers_until_they_are_about_what_is_typed(visit):
    page = visit(case="one", slow="0.5")
    page.evaluate(WATCH)
    box = page.get_by_label("Text", exact=True)
    box.click()
    box.press("Control+a")
    for word in ("red", " green", " blue"):
        box.press_sequentially(word, delay=20)
        page.wait_for_timeout(320)
    expect(part(page, "effect").locator("h2")).to_have_text("red green blue: 0")
    expect(part(page, "effect").locator(".values")).to_have_attribute("aria-busy", "false")
    seen = [json.loads(entry) for entry in page.evaluate("seen")]
    assert all(title == f"{text}: 0" for busy, title, text in seen if not busy), seen
    assert sum(busy for busy, *_ in seen) > 3, seen


def test_a_text_that_python_changes_is_not_waited_for_in_vain(visit):
    page = visit(case="one", cut="12")
    box = page.get_by_label("Text", exact=True)
    values = part(page, "effect").locator(".values")
    box.fill("more than twelve characters")
    expect(part(page, "effect").locator("h2")).to_have_text("more than tw: 0")
    expect(values).to_have_attribute("aria-busy", "false")
    box.press("End")
    box.press("x")  # and now what Python keeps is what it kept before
    expect(values).to_have_attribute("aria-busy", "false")


def test_an_event_that_comes_after_its_page_has_gone_harms_nothing(visit):
    page = visit(case="one", slow="0.4")
    for _ in range(3):
        page.get_by_role("link", name="Other").click(no_wait_after=True)
        page.evaluate(f"""() => {{ {ROOT}
            const [first, second] = root('heads')?.querySelectorAll('.tile') ?? [];
            first?.click();
            second?.click();
            [...(root('heads')?.querySelectorAll('.buttons button') ?? [])].at(-1)?.click(); }}""")
        expect(page.get_by_text("Another page")).to_be_visible()
        page.wait_for_timeout(900)
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
        page.get_by_role("link", name="Home").click()
        expect(part(page, "effect").locator(".values")).to_have_attribute("aria-busy", "false")
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)


def test_an_edit_just_before_the_page_is_left_arrives(visit):
    page = visit(case="one")
    named(page, "layer 1, head 1, live").click()
    page.keyboard.press("p")
    page.get_by_role("link", name="Other").click()
    expect(page.get_by_text("Another page")).to_be_visible()
    page.get_by_role("link", name="Home").click()
    expect(named(page, "layer 1, head 1, pruned")).to_be_visible()


def test_the_effect_of_an_encoder_and_of_what_was_written(visit):
    page = visit()
    effect = part(page, "effect")
    expect(effect.locator(".written p")).to_have_count(1)
    named(page, "Encoder, layer 1, head 1, live").click()
    page.keyboard.press("p")
    expect(effect.locator(".facts")).to_have_text("Cosine 1.000 → 0.750 ▼ −0.250, less")
    expect(effect.locator("del")).to_have_text("Katze")
    expect(effect.locator("ins")).to_have_text(HOSTILE)
    expect(effect.get_by_role("heading", name="How far each token’s vector moved")).to_be_visible()
    strip = effect.locator(".strip > span")
    expect(strip).to_have_count(len(ROWS["text"]))
    strip.nth(6).hover()
    expect(effect.locator(".story")).to_have_text("“.”: 0.600 1 − cosine")
    shades = [numpy.array(re.findall(r"\d+", strip.nth(i).evaluate("e => getComputedStyle(e).backgroundColor")), float)
              for i in (0, 6)]
    assert numpy.abs(shades[0] - colour(False, "sequential", 0)).max() <= 1
    assert numpy.abs(shades[1] - colour(False, "sequential", 255)).max() <= 1
    assert page.locator("img[src='x']").count() == 0


def test_the_effect_of_a_prediction(visit):
    page = visit(case="one")
    named(page, "layer 1, head 1, live").click()
    page.keyboard.press("p")
    row = page.locator(".right")
    expect(row).to_contain_text("cat ✓")
    expect(row).to_contain_text("75.0 → 50.0%")
    expect(row).to_contain_text("−25.0")
    page.wait_for_timeout(300)
    widths = [row.locator(f"i.{name}").bounding_box()["width"] for name in ("before", "after")]
    whole = row.locator(".bars").bounding_box()["width"] - 1
    assert widths[0] / whole == pytest.approx(0.75, abs=0.01)
    assert widths[1] / whole == pytest.approx(0.5, abs=0.01)
    worse, better = page.locator(".strip > span").nth(1), page.locator(".strip > span").nth(2)
    expect(worse).to_have_attribute("title", "“b”: loss 1.000 → 3.000 (+2.000, worse)")
    ground = [numpy.array(re.findall(r"\d+", span.evaluate("e => getComputedStyle(e).backgroundColor")), float)
              for span in (worse, better)]
    assert numpy.abs(ground[0] - colour(False, "diverging", 255)).max() <= 1
    assert numpy.abs(ground[1] - colour(False, "diverging", 127.5 - 127.5 * 0.5)).max() <= 2


@pytest.mark.parametrize("case", list(CASES))
def test_a_phone_shows_all_heads_large_enough_to_press(visit, case):
    page = visit(phone=True, case=case)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    for box in (cell.bounding_box() for cell in page.get_by_role("gridcell").all()):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert box["width"] >= 20
    plot = page.locator(".plot").bounding_box()
    assert plot["x"] + plot["width"] <= 390
    page.get_by_role("gridcell").nth(1).tap()
    expect(page.get_by_role("gridcell").nth(1)).to_have_attribute("aria-selected", "true")


def test_twelve_by_twelve_heads_fit_their_column(visit):
    page = visit(case="large")
    board, grid = page.locator(".board").bounding_box(), page.get_by_role("grid").bounding_box()
    assert grid["width"] <= board["width"]
    tiles = [cell.bounding_box() for cell in page.get_by_role("gridcell").all()]
    assert min(tile["width"] for tile in tiles) >= 24
    assert tiles[-1]["y"] + tiles[-1]["height"] - tiles[0]["y"] < 600
