"""Tests of exports in a real browser: images, tables, pages that work offline; themes; embedding.

pytest tests/e2e/test_downloads.py
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect

import models
from models import HeadPlan
from models.trace import divergence, row_entropy

pytestmark = pytest.mark.browser

TEXT = "<script>alert(1)</script> =1+1 & a \"dragon\" ]]> 漢字 \u202e."
PLAN = "self-0.0c"
SVG = "{http://www.w3.org/2000/svg}"


def menu(page: Page, where: str) -> Locator:
    return page.locator(f'[data-part="{where}"]').first.get_by_role("button", name="Download")


def take(page: Page, where: str, kind: str, folder: Path) -> Path:
    """Clicks an entry of a download menu and returns the path of the downloaded file."""
    menu(page, where).click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile(kind)).click()
    path = folder / download.value.suggested_filename
    assert re.fullmatch(r"[a-z0-9_-]+\.\w+", path.name)
    download.value.save_as(path)
    return path


def titles_of(root: ElementTree.Element, tag: str) -> list[str]:
    """Returns the titles of all elements with this tag, without elements that have no title."""
    titles = [element.find(f"{SVG}title") for element in root.iter(f"{SVG}{tag}")]
    return [title.text or "" for title in titles if title is not None]


@pytest.fixture
def page(visit) -> Page:
    return visit(model="stories-softmax", text=TEXT, plan=PLAN, **{"as": "matrix"})  # the matrix, not the Words view


@pytest.fixture(scope="module")
def trace():
    return models.run(models.load("stories-softmax"), TEXT, HeadPlan.parse(PLAN))


def test_a_map_as_a_picture_holds_every_token_and_cell(page, trace, tmp_path):
    path = take(page, "head_map", "SVG", tmp_path)
    assert path.name == "attention-lab_stories-softmax_layer-1-head-1-used.svg"
    root = ElementTree.parse(path).getroot()
    n = len(trace.tokens)
    cells = titles_of(root, "rect")
    assert len(cells) == n * (n + 1) // 2
    for i, j, cell in zip(*numpy.tril_indices(n), cells, strict=True):
        assert cell.startswith(f"query {i + 1} ") and f"→ key {j + 1} " in cell
        assert float(cell.rsplit(" ", 1)[1].replace("e−", "e-")) == pytest.approx(
            trace.weights["self"][0, 0, i, j], abs=6e-5)
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    stripped = [token.strip() for token in trace.tokens]
    plain = [token for token in stripped if token and token.isascii() and token.isprintable()]
    assert len(plain) > n / 2
    for token in plain:
        assert texts.count(token) >= 2 * plain.count(token), token
    assert len(texts) >= 2 * n
    link = next(element.get("href") for element in root.iter(f"{SVG}a"))
    assert link == page.url


def test_a_picture_in_pixels_is_light_and_twice_as_large(visit, tmp_path):
    page = visit(dark=True, model="stories-softmax", text="Once upon a time", **{"as": "matrix"})
    vector = ElementTree.parse(take(page, "head_map", "SVG", tmp_path)).getroot()
    picture = Image.open(take(page, "head_map", "PNG", tmp_path))
    assert picture.size == (2 * int(vector.get("width") or 0), 2 * int(vector.get("height") or 0))
    assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 20


@pytest.mark.parametrize("fault", ["done => done(null)", "() => {}"])  # toBlob returns null, or never calls back
def test_where_the_browser_makes_no_pixels_the_picture_is_saved_as_svg(visit, tmp_path, fault):
    page = visit(model="stories-softmax", text="Once upon a time", **{"as": "matrix"})
    page.evaluate(f"void (HTMLCanvasElement.prototype.toBlob = {fault})")
    path = take(page, "head_map", "PNG", tmp_path)
    assert path.suffix == ".svg" and ElementTree.parse(path).getroot().tag == f"{SVG}svg"
    expect(page.locator('[data-part="head_map"]').first).to_contain_text("saved as SVG")


def test_the_effect_is_downloaded(page, trace, tmp_path):
    before = models.run(models.load("stories-softmax"), TEXT)
    table = take(page, "effect", "CSV", tmp_path).read_text("utf-8").split("\n", 1)[1]
    rows = list(csv.DictReader(io.StringIO(table, newline="")))
    (kl,) = (row for row in rows if row["measure"].startswith("KL"))
    assert float(kl["changed"]) == pytest.approx(divergence(before.output, trace.output), rel=1e-4)
    shares = [row for row in rows if row["measure"] == "probability"]
    for column, output in (("unmodified", before.output), ("changed", trace.output)):
        assert max(float(row[column]) for row in shares) == pytest.approx(output.probabilities[0], rel=1e-4)
    losses = [row for row in rows if row["measure"] == "loss, nats"]
    assert [float(row["changed"]) for row in losses] == pytest.approx(
        [float(loss) for loss in trace.losses[:-1]], rel=1e-4)
    root = ElementTree.parse(take(page, "effect", "SVG", tmp_path)).getroot()
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert any("KL divergence from the unmodified model" in text for text in texts)


def test_a_table_is_the_trace(page, trace, tmp_path):
    text = take(page, "head_map", "CSV", tmp_path).read_text("utf-8")
    first, rest = text.split("\n", 1)
    assert first.startswith("# ") and page.url in first
    rows = list(csv.DictReader(io.StringIO(rest, newline="")))
    n = len(trace.tokens)
    assert len(rows) == n * (n + 1) // 2
    for row in rows:
        i, j = int(row["query"]) - 1, int(row["key"]) - 1
        assert float(row["used"]) == pytest.approx(trace.weights["self"][0, 0, i, j], rel=1e-5, abs=1e-12)
        assert row["key token"].removeprefix("'") == trace.tokens[j]


def test_a_page_works_without_a_network_and_says_what_is_pointed_at(page, trace, tmp_path, browser: Browser):
    path = take(page, "head_map", "HTML", tmp_path)
    context = browser.new_context(offline=True)
    asked, complaints = [], []
    alone = context.new_page()
    alone.on("request", lambda request: asked.append(request.url))
    alone.on("pageerror", lambda error: complaints.append(str(error)))
    alone.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    alone.on("dialog", lambda dialog: (complaints.append(dialog.message), dialog.dismiss()))
    alone.goto(path.as_uri())
    status = alone.get_by_role("status")
    rest = status.inner_text()
    cell = alone.locator("svg g g g rect").nth(4)  # the cell of query 3 and key 2
    cell.hover()
    expect(status).to_contain_text("query 3 ")
    expect(status).to_contain_text(f"{trace.weights['self'][0, 0, 2, 1]:.4f}")
    alone.mouse.move(1, 1)
    expect(status).to_have_text(rest)
    alone.locator("svg").focus()
    alone.keyboard.press("ArrowRight")
    expect(status).to_contain_text("query 1 ")
    alone.keyboard.press("ArrowDown")
    expect(status).to_contain_text("query 2 ")
    assert asked == [path.as_uri()]
    assert not complaints
    context.close()


def test_the_grid_and_all_numbers(page, trace, tmp_path):
    root = ElementTree.parse(take(page, "heads", "SVG", tmp_path)).getroot()
    heads = titles_of(root, "g")
    assert len(heads) == 32
    assert heads[0] == "layer 1, head 1, constant"
    file = numpy.load(take(page, "heads", "NumPy", tmp_path), allow_pickle=False)
    numpy.testing.assert_allclose(file["self 1 weights"], trace.weights["self"][0], atol=1e-6)
    assert json.loads(str(file["about"]))["link"].endswith(page.url.split("?")[1])
    rows = take(page, "heads", "Weights of all heads", tmp_path).read_text("utf-8").splitlines()
    assert len(rows) == 2 + 32 * len(trace.tokens) * (len(trace.tokens) + 1) // 2


def test_a_chart(visit, tmp_path):
    page = visit(model="stories-softmax", text="Once upon a time there was", open="entropy")
    page.locator('[data-part="figure"] .vega svg').first.wait_for()
    entropies = row_entropy(models.run(models.load("stories-softmax"), "Once upon a time there was").weights["self"][0])
    rows = list(csv.reader(take(page, "figure", "CSV", tmp_path).read_text("utf-8").splitlines()[1:]))[1:]
    trained = [row for row in rows if row[1] == "unmodified"]
    assert len(trained) == entropies.size
    for row, value in zip(trained, entropies.ravel(), strict=True):
        assert float(row[3]) == pytest.approx(value, abs=6e-5)
    root = ElementTree.parse(take(page, "figure", "SVG", tmp_path)).getroot()
    lines = [path.get("d", "") for path in root.iter(f"{SVG}path") if path.get("aria-roledescription") == "line mark"
             and "series: unmodified" in path.get("aria-label", "")]
    assert [line.count("L") + 1 for line in lines] == [entropies.shape[1]] * entropies.shape[0]


def test_the_menu_by_keyboard(page):
    button = menu(page, "head_map")
    button.focus()
    page.keyboard.press("Enter")
    entries = page.get_by_role("menuitem")
    expect(entries.first).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(entries.last).to_be_focused()
    page.keyboard.press("c")  # a shortcut of the head grid, which has no effect in a menu
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(entries).to_have_count(0)
    assert "plan=self-0.0c" in page.url


def test_the_theme_is_switched_for_the_whole_page_and_kept(visit):
    page = visit(model="stories-softmax")
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    page.evaluate("window.same = true")
    for name, colour in (("Dark", "rgb(18, 18, 26)"), ("Light", "rgb(255, 255, 255)"), ("Dark", "rgb(18, 18, 26)")):
        page.get_by_role("button", name="Theme").click()
        menu = page.get_by_role("menu", name="Theme").bounding_box()
        assert menu["x"] + menu["width"] <= page.viewport_size["width"]
        for entry in page.get_by_role("menuitemradio").all():  # all entries of the menu
            its = entry.bounding_box()
            assert menu["x"] <= its["x"] and its["x"] + its["width"] <= menu["x"] + menu["width"]
            assert entry.evaluate("its => its.scrollWidth <= its.clientWidth")
        page.get_by_role("menuitemradio", name=name).click()
        page.wait_for_function(f"{ground} === '{colour}'")
    assert page.evaluate("window.same")  # the page was not reloaded
    assert page.evaluate("""getComputedStyle(document.querySelector('.st-key-map [data-testid] , .st-key-map *')
        .closest('.st-key-map')).colorScheme""") in ("dark", "normal")
    page.get_by_role("button", name="Theme").click()
    expect(page.get_by_role("menuitemradio", name="Dark")).to_have_attribute("aria-checked", "true")
    page.reload()
    page.get_by_role("gridcell").first.wait_for()
    assert page.evaluate(ground) == "rgb(18, 18, 26)"


def test_embedded_there_is_the_work_and_a_line_that_leads_to_the_lab(visit):
    page = visit(embed="true", model="stories-softmax", plan=PLAN)
    expect(page.get_by_role("navigation")).to_have_count(0)
    expect(page.get_by_role("combobox", name="Model")).to_have_count(0)
    line = page.get_by_role("link", name=re.compile("Open this in Attention Lab"))
    page.get_by_role("gridcell", name="layer 2, head 3, live").click()
    page.keyboard.press("p")
    page.wait_for_function("location.search.includes('1.2g0')")
    assert "embed=true" in page.url
    expect(line).to_have_attribute("href", re.compile("1.2g0"))
    assert "embed" not in (line.get_attribute("href") or "")
