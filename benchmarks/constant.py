"""Response times of the Constant page in milliseconds, compared with the floor, in turns in one browser.

Measures the time from a key on the slider to the new position in the chart, whose data the browser already has, and the
time from such a key or from the pause in typing to the results for the typed text.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from benchmarks.interaction import DEBOUNCE, WATCH, quantile
from models import HeadPlan, load
from models.lab import run_prompt
from tests.browser import serve

MODEL, OTHER = "masked-softmax", "stories-softmax"  # whose study it is; one that it says nothing of
TEXT = "The cat sat on the mat"
TURNS = 20
SHARES = (0.5, 0.95)

# As WATCH: from the last `event` to the frame after the first chart has gone to another place.
PLACE = """
kind => {
  globalThis.labTimes = [];
  const hosts = [...document.querySelectorAll('*')].filter(element => element.shadowRoot);
  const place = hosts.map(host => host.shadowRoot.querySelector('[data-part="chart"] g[data-x]')).find(Boolean);
  globalThis.addEventListener(kind, () => {
    const [began, before] = [performance.now(), place.dataset.x];
    const look = () => {
      if (place.dataset.x === before) return requestAnimationFrame(look);
      requestAnimationFrame(() => labTimes.push(performance.now() - began));
    };
    requestAnimationFrame(look);
  }, true);
}
"""


def measure(browser: Browser) -> list[dict[str, Any]]:
    """Returns one row per measurement: p50 or p95 of the page, its limit, and the ratio.

    Args:
        browser: headless Chromium.

    Returns:
        Rows of a table.
    """
    lab, rows = load(MODEL), []
    plan = HeadPlan().with_heads(lab.kinds[0].addresses, constant=True)
    with serve() as app, serve("benchmarks/floor_app.py") as floor:
        for what, model, event, reads in (("slider, to its place in the chart", OTHER, "keydown", False),
                                          ("slider, to the heads' distances", MODEL, "keydown", True),
                                          ("typing, to the heads' distances", MODEL, "input", True)):
            link = {"page": "constant", "model": model, "text": TEXT, "fix": f"3.pos.{MODEL}"}
            page = _open(browser, f"{app}/?{urlencode(link)}")
            page.evaluate(*((WATCH, ["chart", event, -1]) if reads else (PLACE, event)))  # the last chart: of distances
            bare = _open(browser, f"{floor}/?{urlencode({'n': 16})}")
            bare.evaluate(WATCH, ["heads", event])
            ours, theirs, passes = [], [], [0.0] * TURNS
            for turn in range(TURNS):  # in turns, so that a busy machine slows all alike
                ours.append(_act(page, event, turn))
                theirs.append(_act(bare, event, turn))
                if reads:
                    began = time.perf_counter()
                    run_prompt(lab, lab.read(TEXT + "a" * turn), plan)
                    passes[turn] = 1e3 * (time.perf_counter() - began)
            rows += [_row(what, share, ours, theirs, passes, 2 if reads else 1) for share in SHARES]
            page.close()
            bare.close()
    return rows


def _open(browser: Browser, address: str) -> Page:
    page = browser.new_page(bypass_csp=True, viewport={"width": 1440, "height": 900})
    page.goto(address)
    is_floor = "page=" not in address
    page.get_by_role("gridcell" if is_floor else "slider").first.wait_for()
    page.wait_for_timeout(3000)  # until all charts are there
    return page


def _act(page: Page, event: str, turn: int) -> float:
    """Milliseconds of one turn: one step of the slider there or back, or one more letter."""
    done = page.evaluate("labTimes.length")
    head = page.locator('[role="gridcell"][tabindex="0"]')  # of the floor, which has a slider too
    if event == "input":
        box = page.get_by_label("Text", exact=True)
        box.press("End")
        box.press("a")
    elif head.count():
        head.press("c")
    else:
        page.get_by_role("slider").first.press("ArrowRight" if turn % 2 == 0 else "ArrowLeft")
    page.wait_for_function("count => labTimes.length > count", arg=done)
    page.wait_for_timeout(150)  # what else the answer brings
    taken = float(page.evaluate("labTimes.at(-1)"))
    return taken - DEBOUNCE if event == "input" else taken


def _row(what: str, share: float, ours: list[float], theirs: list[float], passes: list[float],
         times: int) -> dict[str, Any]:
    """One quantile beside `times` the floor's, and a pass where the text is a new one."""
    mine, base, own_pass = (quantile(its, share) for its in (ours, theirs, passes))
    return {"": f"{what}, p{100 * share:.0f} ms", "ours": mine, "floor": base, "pass": own_pass,
            "ours / floor": mine / base, "ours / allowed": mine / (times * base + own_pass)}
