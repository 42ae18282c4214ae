"""Time until a place is drawn after a page load and after a change of place."""

import time
from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.browser.interaction import VIEW, quantile
from tests.browser import serve

LOADS = 11
PROCESSES = 5
# place -> what is drawn last on it
DRAWN = {"lab": "[data-part=lab][data-drawn]", "training": "[data-part=training][data-drawn]",
         "lessons": "[data-part=lessons][data-drawn]", "results": "[data-part=findings][data-drawn]",
         "yours": "[data-part=models][data-drawn]", "about": "[data-part=guide][data-drawn]"}


def places(browser: Browser) -> list[dict[str, Any]]:
    """Returns the seconds until a place is drawn, one row per place.

    `cold`: the first load in a new process by a new browser. `new browser`: without files in the browser's cache.
    `again`: by a browser that has the files. `change`: from a click on its name on another place.
    """
    rows = []
    for place in DRAWN:
        cold = []
        for _ in range(PROCESSES - 1):
            with serve() as address:
                cold.append(_load(browser, address, place))
        with serve() as address:
            cold.append(_load(browser, address, place))
            row: dict[str, Any] = {"place": place} | _quantiles("cold", cold) | _quantiles("new browser", [
                _load(browser, address, place) for _ in range(LOADS)])
            with browser.new_context(**VIEW) as context:
                page = context.new_page()
                again = [_open(page, address, place) for _ in range(LOADS + 1)][1:]
                other = "about" if place == "lab" else "lab"
                change = [_change(page, to) for _ in range(LOADS + 1) for to in (other, place)][3::2]
            rows.append(row | _quantiles("again", again) | _quantiles("change", change))
    return rows


def _quantiles(name: str, times: list[float]) -> dict[str, float]:
    return {f"{name} p50 s": quantile(times, 0.5), f"{name} p95 s": quantile(times, 0.95)}


def _load(browser: Browser, address: str, place: str) -> float:
    with browser.new_context(**VIEW) as context:
        return _open(context.new_page(), address, place)


def _open(page: Page, address: str, place: str) -> float:
    began = time.perf_counter()
    page.goto(f"{address}/?page={place}&model=stories-selective")
    page.locator(DRAWN[place]).first.wait_for()
    return time.perf_counter() - began


def _change(page: Page, place: str) -> float:
    began = time.perf_counter()
    page.locator(f'.places a[data-page="{place}"]').click()
    page.locator(DRAWN[place]).first.wait_for()
    return time.perf_counter() - began
