"""The tools that explain a prediction, against the first tool of a head; and patching of all heads in one batched pass.

Each key changes the selected head, so that no plan is cached. Pages with the two tools alternate in one browser.
"""

import time
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from benchmarks.browser.interaction import MODEL, STORY, WATCH, quantile
from models import HeadPlan, load
from models.analysis.answer.head_patching import patching_of
from models.lab import run_prompt

TOKENS, PATCHED_TOKENS = 64, 20
SECTIONS = ("answer.lens", "answer.who")  # tools
KEYS = [*"-" * 9, "c", *"+" * 8]  # each gives the selected head another gate, so that no plan is cached
TARGET, PATCHING_TARGET = 1.5, 300  # largest ratio to the first tool, and largest duration of patching in ms
PATCHED_MODEL, TURNS = "stories-softmax", 20


def clicks(browser: Browser, app: str) -> list[dict[str, Any]]:
    """Returns one row per tool: p50 and p95 from a key to the drawn tool, and the ratio to the first tool
    of a head.
    """
    rows = []
    text = "".join(load(MODEL).read(STORY).tokens[1:TOKENS])
    for section in SECTIONS:
        # the texts differ in one letter, so that neither page uses a trace of the other
        pages: list[tuple[Page, list[float]]] = [(_opened(browser, app, text, section), []),
                                                 (_opened(browser, app, f"A{text}", "head.looks"), [])]
        for key in KEYS:
            for page, times in pages:
                times.append(_press(page, key))
        ours, plain = (sorted(times[2:]) for _, times in pages)  # the first clicks load code
        p50, floor = quantile(ours, 0.5), quantile(plain, 0.5)
        rows.append({"section": section, "tokens": TOKENS, "p50 ms": p50, "p95 ms": quantile(ours, 0.95),
                     "first tool, p50 ms": floor, "p50 / first tool": p50 / floor, "target": TARGET})
        for page, _ in pages:
            page.close()
    return rows


def patching() -> list[dict[str, Any]]:
    """Returns the time in which every head is patched alone, and its ratio to one pass; uncached, after one warm-up."""
    lab = load(PATCHED_MODEL)
    story = "Once upon a time there was a little girl named {name} and she had a big red ball in the park"
    first, second = (lab.read(story.format(name=name), PATCHED_TOKENS) for name in ("Lily", "Tom"))
    prompt, token, against = first.with_source(second), second.ids[-1], first.ids[1]
    heads = sum(kind.layers * kind.heads for kind in lab.kinds)
    ours, plain = [], []
    for _ in range(TURNS + 1):
        began = time.perf_counter()
        run_prompt(lab, first, HeadPlan())
        middle = time.perf_counter()
        patching_of(lab, prompt, token=token, against=against)
        plain.append(1000 * (middle - began))
        ours.append(1000 * (time.perf_counter() - middle))
    p50, floor = quantile(ours[1:], 0.5), quantile(plain[1:], 0.5)
    return [{"model": PATCHED_MODEL, "heads": heads, "tokens": PATCHED_TOKENS, "p50 ms": p50,
             "p95 ms": quantile(ours[1:], 0.95), "one pass, p50 ms": floor, "p50 / pass": p50 / floor,
             "target ms": PATCHING_TARGET}]


def _opened(browser: Browser, app: str, text: str, tool: str) -> Page:
    page = browser.new_page(bypass_csp=True, viewport={"width": 1440, "height": 900})
    page.goto(f"{app}/?{urlencode({'model': MODEL, 'text': text, 'lab': tool})}")
    page.locator(".tile").first.wait_for()
    page.wait_for_timeout(1000)
    page.evaluate(WATCH, ["lab", "keydown"])
    return page


def _press(page: Page, key: str) -> float:
    """Returns the milliseconds from a key that changes the selected head to the drawn Lab."""
    done = page.evaluate("labTimes.length")
    page.keyboard.press(key)
    page.wait_for_function("count => labTimes.length > count", arg=done)
    page.wait_for_timeout(150)
    return float(page.evaluate("labTimes.at(-1)"))
