"""Milliseconds from the key press that makes a head constant to the new maps and to the new translation.

The baseline is the floor (floor_app.py), measured alternately in the same browser.
"""

from typing import Any

from playwright.sync_api import Browser, Page

from benchmarks.browser.interaction import opened, quantile, timed
from models import load
from tests.browser import serve

MODEL = "translation-softmax"
TEXT = "Yesterday I wanted to buy a new car, but I had no money."  # a sentence of 12 words
SHARES = (0.5, 0.95)


def measure(browser: Browser) -> list[dict[str, Any]]:
    """Returns one row per attention block and quantile: times of the maps, of the floor, and of the translation."""
    rows = []
    lab = load(MODEL)
    n, kinds = len(lab.read(TEXT).tokens), len(lab.kinds)
    layers, heads = lab.shape[lab.kinds[0].name]
    with serve() as app, serve("benchmarks/browser/floor_app.py") as floor:
        for kind in lab.kinds:
            page = opened(browser, app, {"model": MODEL, "text": TEXT}, pause=3000)
            bare = opened(browser, floor, {"n": n, "layers": kinds * layers, "heads": heads, "causal": 0}, pause=3000)
            maps, floors, written = [], [], []
            for turn in range(layers * heads):
                page.locator(f'.tile[data-kind="{kind.name}"]').nth(turn).click()  # a click selects the head
                page.wait_for_timeout(400)
                drawn = page.evaluate("labTimesDrawn.length")
                maps.append(_press(page))
                # the text follows the maps in a second update of the Lab
                page.wait_for_function("count => labTimesDrawn.length >= count + 2", arg=drawn)
                written.append(float(page.evaluate("labTimesDrawn.at(-1)")))
                _press(page)  # the second press restores the head, whose result is cached
                page.wait_for_timeout(400)
                bare.locator('.tile[tabindex="0"]').focus()
                floors.append(_press(bare))
            rows += [_row(kind.name, share, maps, floors, written) for share in SHARES]
            page.close()
            bare.close()
    return rows


def _press(page: Page) -> float:
    return timed(page, lambda: page.keyboard.press("c"))


def _row(kind: str, share: float, maps: list[float], floors: list[float], written: list[float]) -> dict[str, Any]:
    own, base, translation = (quantile(times, share) for times in (maps, floors, written))
    return {"": f"a head of {kind}, p{100 * share:.0f} ms", "maps": own, "floor": base, "maps / floor": own / base,
            "translation": translation, "translation / 300 ms": translation / 300}
