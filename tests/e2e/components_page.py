"""Helpers for the tests of the components: finding elements, and expected colours."""

from __future__ import annotations

import json
import re

import numpy
from playwright.sync_api import Locator, Page, expect

from components.colours import COLOURS
from components.mounting import FOLDER

# JavaScript: returns the colour of a canvas at a point (CSS pixels from the top left corner) if the pixel is opaque
PIXEL = """(canvas, [x, y, scaled]) => {
    const ratio = scaled ? canvas.width / canvas.clientWidth : 1;
    return [...canvas.getContext('2d').getImageData(Math.floor(x * ratio), Math.floor(y * ratio), 1, 1).data]; }"""


# JavaScript: root(name) is the element inside the shadow root that contains a component
ROOT = """const root = name => [...document.querySelectorAll('*')]
    .map(e => e.shadowRoot?.querySelector(`[data-part="${name}"]`)).find(Boolean);"""


def part(page: Page, name: str) -> Locator:
    return page.locator(f'[data-part="{name}"]')


def named(page: Page, name: str) -> Locator:
    return page.get_by_role("gridcell", name=name, exact=True)


def select(page: Page, kind: str, layer: int, head: int) -> None:
    """Clicks the tile of a head (layer and head counted from 1), and waits for the map of this head."""
    page.get_by_role("gridcell", name=re.compile(f"^({kind}, )?layer {layer}, head {head},", re.I)).click()
    expect(page.get_by_role("heading", name=re.compile(f"Layer {layer}, head {head} "))).to_be_visible()
    expect(part(page, "head_map")).not_to_have_class(re.compile("old"))


def python(page: Page) -> dict:
    """Returns the state in Python, which the page displays as JSON."""
    return json.loads(page.locator("code").inner_text())


def expect_python(page: Page, part: str, values: list[list[float]]) -> None:
    """Waits until the state in Python has these values for the block `self`, and no response is pending."""
    expect(page.locator("code")).to_contain_text(f'"{part}": {{"self": {json.dumps(values)}}}', timeout=30_000)
    expect(page.locator(".board")).to_have_attribute("aria-busy", "false")


def layout(page: Page, rows: int, columns: int) -> tuple[float, float, float]:
    """Returns x, y and side of the cells of the large map.

    They are computed by layout.js, which has its own test.
    """
    # the module imports nothing, so its source can be evaluated
    source = (FOLDER / "core" / "attention" / "layout.js").read_text("utf-8").replace("export ", "")
    size = page.evaluate(f"""([rows, columns]) => {{ {ROOT}
        {source}
        const width = root('head_map').querySelector('.plot').clientWidth;
        return mapLayout(width, devicePixelRatio, rows, columns); }}""", [rows, columns])
    return size["x"], size["y"], size["cell"]


def colour(dark: bool, scale: str, step: float) -> numpy.ndarray:
    """Returns red, green and blue (0 to 255) of a step of a colour scale."""
    stops = COLOURS["dark" if dark else "light"][scale]
    places = numpy.linspace(0, 255, len(stops))
    return numpy.array([numpy.interp(step, places, [int(stop[i:i + 2], 16) for stop in stops]) for i in (1, 3, 5)])


def shown_number(value: float, plus: bool = False) -> str:
    if value == 0:
        return "±0.0000" if plus else "0.0000"
    text = f"{abs(value):.4f}" if abs(value) >= 1e-4 else f"{abs(value):.1e}".replace("e-0", "e−")
    return ("−" if value < 0 else "+" if plus else "") + text
