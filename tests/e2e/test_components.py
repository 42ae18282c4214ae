"""The components in a real browser, with known arrays: tests of the drawn content.

pytest tests/e2e/test_components.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy
import pytest
from playwright.sync_api import expect

from tests.browser import serve
from tests.e2e.components_app import CASES, HOSTILE, ROWS, weights
from tests.e2e.components_page import PIXEL, colour, layout, named, part, python, select, shown_number

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve("tests/e2e/components_app.py") as address:
        yield address


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
    page.locator("[role=tab][data-name=difference]").click()
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
    page.locator("[role=tab][data-name=difference]").click()
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
    assert sum(faded[:3]) > sum(alive[:3]) + 100  # in the light theme an empty map is brighter
    # a cell with another weight has the same colour, because no pattern is shown
    other = numpy.unravel_index(live.argmin(), live.shape)
    beside = [x + (other[1] + 0.5) * cell, y + (other[0] + 0.2) * cell, True]
    assert canvas.evaluate(PIXEL, beside) == faded
    expect(page.locator(".readout .first")).to_have_text("Pruned: no weight of this head has an effect.")
    assert named(page, "Cross, layer 1, head 1, pruned").locator("canvas").evaluate(
        "its => getComputedStyle(its).opacity") == "0"
    assert sum(struck[:3]) < sum(unstruck[:3]) - 100
    page.get_by_role("tab", name="Computed", exact=True).click()
    assert canvas.evaluate(PIXEL, place) == alive


def test_without_constant_matrices_nothing_offers_them(visit):
    page = visit()
    select(page, "encoder", 1, 1)
    views = page.get_by_role("tablist", name="View of the head").get_by_role("tab")
    expect(views).to_have_text(["Used", "Computed", "Constant", "C − computed"])
    expect(page.get_by_role("button", name="Constant")).to_have_attribute("aria-disabled", "false")
    select(page, "cross", 1, 1)
    expect(views).to_have_text(["Used", "Computed"])
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


def test_the_effect_of_an_encoder_and_of_what_was_written(visit):
    page = visit()
    effect = part(page, "effect")
    written = part(page, "written")
    expect(written).to_have_text("Unmodified Die Katze schläft. ")
    named(page, "Encoder, layer 1, head 1, live").click()
    page.keyboard.press("p")
    expect(effect.locator(".facts")).to_have_text("Cosine 1.000 → 0.750 ▼ −0.250, less")
    expect(written.locator("del")).to_have_text("Katze")
    expect(written.locator("ins")).to_have_text(HOSTILE)
    expect(effect.get_by_role("heading", name="How far each token’s vector moved")).to_be_visible()
    strip = effect.locator(".strip [role=listitem]")
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
    row = page.locator(".row.right")
    expect(row).to_contain_text("cat ✓")
    expect(row).to_contain_text("75.0 → 50.0%")
    expect(row).to_contain_text("−25.0")
    page.wait_for_timeout(300)
    widths = [row.locator(f"i.{name}").bounding_box()["width"] for name in ("before", "after")]
    whole = row.locator(".bars").bounding_box()["width"] - 1
    assert widths[0] / whole == pytest.approx(0.75, abs=0.01)
    assert widths[1] / whole == pytest.approx(0.5, abs=0.01)
    worse, better = page.locator(".strip [role=listitem]").nth(1), page.locator(".strip [role=listitem]").nth(2)
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
