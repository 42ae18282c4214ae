"""The tools that explain a prediction, against the first tool of a head; and patching of all heads in one batched pass.

Each key changes the selected head, so that no plan is cached. Pages with the two tools alternate in one browser.
"""

import time
from functools import partial
from typing import Any

from playwright.sync_api import Browser

from benchmarks.browser.interaction import MODEL, STORY, opened, quantile, timed
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
        pages = [opened(browser, app, {"model": MODEL, "text": start + text, "lab": tool})
                 for start, tool in (("", section), ("A", "head.looks"))]
        times = [[timed(page, partial(page.keyboard.press, key)) for page in pages] for key in KEYS]
        ours, plain = map(list, zip(*times[2:], strict=True))  # the first clicks load code
        p50, floor = quantile(ours, 0.5), quantile(plain, 0.5)
        rows.append({"section": section, "tokens": TOKENS, "p50 ms": p50, "p95 ms": quantile(ours, 0.95),
                     "first tool, p50 ms": floor, "p50 / first tool": p50 / floor, "target": TARGET})
        for page in pages:
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
