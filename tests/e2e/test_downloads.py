"""Tests of exports in a real browser: images, tables, pages that work offline, all numbers; themes."""

import csv
import io
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, expect

import models
from models import HeadPlan
from tests.e2e.app_page import view

pytestmark = pytest.mark.browser

TEXT = "<b>1</b> =1+1 & a \"dragon\" ]]> \u202e."
PLAN = "self-0.0c"
SVG = "{http://www.w3.org/2000/svg}"


def take(page: Page, name: str, folder: Path) -> Path:
    """Clicks a button of the tool Download and returns the path of the downloaded file."""
    with page.expect_download() as download:
        view(page).get_by_role("button", name=name, exact=True).click()
    path = folder / download.value.suggested_filename
    assert re.fullmatch(r"[a-z0-9_.-]+\.\w+", path.name)
    download.value.save_as(path)
    return path


def titles_of(root: ElementTree.Element, tag: str) -> list[str]:
    """Returns the titles of all elements with this tag, without elements that have no title."""
    titles = [element.find(f"{SVG}title") for element in root.iter(f"{SVG}{tag}")]
    return [title.text or "" for title in titles if title is not None]


@pytest.fixture
def page(visit) -> Page:
    page = visit(dark=True, model="stories-softmax", text=TEXT, plan=PLAN, at="0.0", lab="head.get")
    view(page).get_by_role("button", name="Picture (SVG)").wait_for()
    return page


@pytest.fixture(scope="module")
def trace():
    return models.run(models.load("stories-softmax"), TEXT, HeadPlan.parse(PLAN))


def test_a_map_as_a_picture_holds_every_token_and_cell(page, trace, tmp_path):
    path = take(page, "Picture (SVG)", tmp_path)
    assert path.name == "attention-lab_stories-softmax_layer-1-head-1.svg"
    root = ElementTree.parse(path).getroot()
    n = len(trace.tokens)
    cells = titles_of(root, "rect")
    assert len(cells) == n * (n + 1) // 2
    for i, j, cell in zip(*numpy.tril_indices(n), cells, strict=True):
        assert cell.startswith(f"query {i + 1} ") and f"→ key {j + 1} " in cell
        assert float(cell.rsplit(" ", 1)[1].replace("e−", "e-")) == pytest.approx(
            trace.weights["self"][0, 0, i, j], abs=4e-3)  # the picture has 8 bits of the weight's root
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    stripped = [token.strip() for token in trace.tokens]
    plain = [token for token in stripped if token and token.isascii() and token.isprintable()]
    assert len(plain) > n / 2
    for token in plain:
        assert texts.count(token) >= 2 * plain.count(token), token
    assert next(element.get("href") for element in root.iter(f"{SVG}a")) == page.url
    picture = Image.open(take(page, "Picture (PNG)", tmp_path))  # light and twice as large, also in the dark theme
    assert picture.size == (2 * int(root.get("width") or 0), 2 * int(root.get("height") or 0))
    assert picture.convert("RGB").getpixel((2, 2)) == (255, 255, 255)
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 20
    for fault in ("done => done(null)", "() => {}"):  # toBlob returns null, or never calls back
        page.evaluate(f"void (HTMLCanvasElement.prototype.toBlob = {fault})")
        path = take(page, "Picture (PNG)", tmp_path)
        assert path.suffix == ".svg" and ElementTree.parse(path).getroot().tag == f"{SVG}svg"
        expect(view(page)).to_contain_text("saved as SVG")


def test_tables_and_all_numbers_are_the_trace(page, trace, tmp_path):
    n = len(trace.tokens)
    first, rest = take(page, "Numbers (CSV)", tmp_path).read_text("utf-8").split("\n", 1)
    assert first.startswith("# ") and page.url in first
    rows = list(csv.DictReader(io.StringIO(rest, newline="")))
    assert len(rows) == n * (n + 1) // 2
    for row in rows:
        i, j = int(row["query"]) - 1, int(row["key"]) - 1
        assert float(row["used"]) == pytest.approx(trace.weights["self"][0, 0, i, j], abs=4e-3)
        assert row["key token"].removeprefix("'") == trace.tokens[j]
    file = numpy.load(take(page, "All heads (NPZ)", tmp_path), allow_pickle=False)
    numpy.testing.assert_allclose(file["self 1 weights"], trace.weights["self"][0], atol=1e-6)
    assert json.loads(str(file["about"]))["link"].endswith(page.url.split("?")[1])
    lines = take(page, "All heads (CSV)", tmp_path).read_text("utf-8").splitlines()
    assert len(lines) == 2 + 32 * n * (n + 1) // 2
    page.get_by_role("button", name="Copy the Python code").click()
    expect(view(page)).to_contain_text("Copied")
    code = page.evaluate("navigator.clipboard.readText()")
    assert code == view(page).locator(".code").text_content() and repr(TEXT) in code and PLAN in code


def test_a_page_works_without_a_network_and_says_what_is_pointed_at(page, trace, tmp_path, browser: Browser):
    path = take(page, "Picture (HTML)", tmp_path)
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
    shown = float(status.inner_text().rsplit(" ", 1)[1])
    assert shown == pytest.approx(trace.weights["self"][0, 0, 2, 1], abs=4e-3)
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


def test_the_theme_is_switched_for_the_whole_page_and_kept(visit):
    page = visit(model="stories-softmax")
    ground = "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    lights = page.evaluate(ground)
    page.evaluate("window.same = true")
    for name in ("Dark", "Light", "Dark"):
        page.get_by_role("button", name="Theme").click()
        menu = page.get_by_role("menu", name="Theme").bounding_box()
        assert menu["x"] + menu["width"] <= page.viewport_size["width"]
        for entry in page.get_by_role("menuitemradio").all():  # all entries of the menu
            its = entry.bounding_box()
            assert menu["x"] <= its["x"] and its["x"] + its["width"] <= menu["x"] + menu["width"]
            assert entry.evaluate("its => its.scrollWidth <= its.clientWidth")
        page.get_by_role("menuitemradio", name=name).click()
        page.wait_for_function(f"([before, is]) => ({ground} === before) === is", arg=[lights, name == "Light"])
    assert page.evaluate("window.same")  # the page was not reloaded
    dark = page.evaluate(ground)
    page.get_by_role("button", name="Theme").click()
    expect(page.get_by_role("menuitemradio", name="Dark")).to_have_attribute("aria-checked", "true")
    page.reload()
    page.locator(".tile").first.wait_for()
    assert page.evaluate(ground) == dark
