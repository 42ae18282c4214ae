"""Response times of the Constant page in milliseconds, compared with the floor (benchmarks/browser/floor_app.py).

Page and floor are measured alternately in one browser. The benchmark measures the time from a key press on the slider
to the new position in the chart, whose data the browser already has. It also measures the time from such a key press,
or from a typed letter, to the results for the input text.
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from benchmarks.browser.interaction import DEBOUNCE, WATCH, quantile
from models import HeadPlan, load
from models.lab import run_prompt
from tests.browser import serve

MODEL, OTHER = "masked-softmax", "stories-softmax"  # the model whose study the page shows, and a model without a study
TEXT = "The cat sat on the mat"
TURNS = 20
SHARES = (0.5, 0.95)

# JavaScript like WATCH: measures from the last `event` to the frame after the first chart shows another position
PLACE = """
kind => {
  globalThis.labTimes = [];
  const hosts = [...document.querySelectorAll('*')].filter(element => element.shadowRoot);
  const place = hosts.map(host => host.shadowRoot.querySelector('[data-part="figure"] .plot[data-x]')).find(Boolean);
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
    """Returns one row per measurement: p50 or p95 of the page, the floor, one forward pass, and ratios."""
    lab, rows = load(MODEL), []
    plan = HeadPlan().with_heads(lab.kinds[0].addresses, constant=True)
    with serve() as app, serve("benchmarks/browser/floor_app.py") as floor:
        for what, model, event, reads in (("slider, to its place in the chart", OTHER, "keydown", False),
                                          ("slider, to the labels of the text", MODEL, "keydown", True),
                                          ("typing, to the labels of the text", MODEL, "input", True)):
            link = {"page": "constant", "model": model, "text": TEXT, "fix": f"3.pos.{MODEL}"}
            page = _open(browser, f"{app}/?{urlencode(link)}")
            # the labels are the last table but one; the chart of the distances is equal for all numbers of heads
            page.evaluate(*((WATCH, ["dial", event, -2]) if reads else (PLACE, event)))
            bare = _open(browser, f"{floor}/?{urlencode({'n': 16})}")
            bare.evaluate(WATCH, ["heads", event])
            ours, theirs, passes = [], [], [0.0] * TURNS
            for turn in range(TURNS):  # app and floor alternate, so that a busy machine slows both alike
                ours.append(_act(page, event, turn))
                theirs.append(_act(bare, event, turn) - (DEBOUNCE if event == "input" else 0))
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
    page.wait_for_timeout(3000)  # until all charts are displayed
    return page


def _act(page: Page, event: str, turn: int) -> float:
    """Returns the milliseconds of one action: one step of the slider forward or back, or one typed letter."""
    done = page.evaluate("labTimes.length")
    head = page.locator('[role="gridcell"][tabindex="0"]')  # the floor also has a slider, so a head gets the focus
    if event == "input":
        box = page.get_by_label("Text", exact=True)
        box.press("End")
        box.press("a")
    elif head.count():
        head.press("c")
    else:
        page.get_by_role("slider").first.press("ArrowRight" if turn % 2 == 0 else "ArrowLeft")
    page.wait_for_function("count => labTimes.length > count", arg=done)
    page.wait_for_timeout(150)  # until the other parts of the response are displayed
    return float(page.evaluate("labTimes.at(-1)"))


def _row(what: str, share: float, ours: list[float], theirs: list[float], passes: list[float],
         times: int) -> dict[str, Any]:
    """Returns one quantile, compared with `times` x floor, plus one forward pass if the text is new."""
    own, base, own_pass = (quantile(times, share) for times in (ours, theirs, passes))
    return {"": f"{what}, p{100 * share:.0f} ms", "ours": own, "floor": base, "pass": own_pass,
            "ours / floor": own / base, "ours / allowed": own / (times * base + own_pass)}
