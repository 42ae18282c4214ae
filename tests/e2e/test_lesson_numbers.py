"""The numbers that a lesson step quotes are visible without scrolling, on four screen sizes and in large type.

Numbers of a study are read off the lines of a chart, so only numbers of predictions, of bars of heads and of the model
card are checked. On a phone only numbers of the prediction at the foot of the window are checked, because tables and
bars are below the task.

    pytest tests/e2e/test_lesson_numbers.py
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import ORDER, Place
from tests.app.test_lesson_screens import CASES, is_shown, numbers
from tests.app.test_lessons import NUMBER
from tests.e2e.test_lessons_done import panel

pytestmark = pytest.mark.browser

# name of a screen -> (width, height); large type is tested only on the projector
SCREENS = {"small laptop": (1280, 800), "laptop": (1440, 900), "projector": (1920, 1080), "phone": (390, 844)}
BARS = ("contribution", "moved")
LARGE = {"projector in large type": (1920, 1080)}
# Returns the visible texts, without those of the lesson and without word joiners.
SEEN = """() => {
    const found = [];
    const inside = box => box.width > 0 && box.height > 0 && box.left > -1 && box.right < innerWidth + 1 &&
        box.top > -1 && box.bottom < innerHeight + 1;
    const walk = root => {
        if (root.matches?.('[data-part="lesson"]')) return;
        if (root.shadowRoot) walk(root.shadowRoot);
        for (const node of root.childNodes) {
            if (node.nodeType === Node.ELEMENT_NODE) walk(node);
            if (node.nodeType !== Node.TEXT_NODE || !node.data.trim()) continue;
            const range = document.createRange();
            range.selectNodeContents(node);
            if (inside(range.getBoundingClientRect()) &&
                node.parentElement?.checkVisibility({ visibilityProperty: true })) found.push(node.data.trim());
        }
    };
    walk(document.body);
    return found.map(text => text.replaceAll('\\u2060', ''));
}"""

# Returns whether Streamlit has drawn the page.
COMPLETE = """() => !document.querySelector('[data-testid="stSkeleton"]') &&
    document.querySelector('[data-testid="stApp"]').dataset.testScriptState === 'notRunning'"""


def is_in(texts: list[str], number: str, least: float | None) -> bool:
    """Returns whether a number is in the visible texts.

    If `least` is given, any visible number above `least` counts.
    """
    shares = [float(number.rstrip("%")) / 100 for text in texts for number in NUMBER.findall(text) if "%" in number]
    if least is not None:
        return any(least < share <= 1 for share in shares)
    return is_shown(number, "\n".join(texts), (*shares, *(number for text in texts for number in numbers(text))))


# `make test` looks at two lessons; tests/app/test_lesson_screens.py finds every number on its page without a browser
@pytest.mark.parametrize("key", [pytest.param(key, marks=[] if key in ORDER[:2] else pytest.mark.nightly)
                                 for key in ORDER])
@pytest.mark.parametrize("screens", [SCREENS, LARGE], ids=["small type", "large type"])
def test_a_quoted_number_is_seen_without_scrolling(key: str, screens: dict[str, tuple[int, int]],
                                                   visit: Callable[..., Page]):
    facts = {(place, fact["says"]): fact for place, fact in CASES if place.lesson == key and fact["measure"] != "study"}
    missing = {(*its, screen) for its, fact in facts.items() for screen in screens
               if screen != "phone" or on_phone(its[0], fact)}
    for place in sorted({place for place, _says, _screen in missing}, key=str):
        for link in links(place, [fact for (at, _says), fact in facts.items() if at == place]):
            rest = {its for its in missing if its[0] == place}
            if not rest:
                break
            page = visit(wait=False, **link, **({"teach": "1"} if screens is LARGE else {}))
            panel(page).locator("h3").wait_for(timeout=60_000)
            for screen, (width, height) in screens.items():
                page.set_viewport_size({"width": width, "height": height})
                missing -= visible_numbers(page, {its for its in rest if its[2] == screen}, facts)
            page.close()
    assert not {(str(place), says, screen) for place, says, screen in missing}


def on_phone(place: Place, fact: dict) -> bool:
    """Returns whether the number is of a single model's prediction, which is at the foot of the window on a phone."""
    return lesson_files.step_at(place).opens.get("page", "explore") == "explore" and fact["measure"] not in BARS


def links(place: Place, facts: list[dict]) -> list[dict[str, str]]:
    """Returns the links on which a number of the step can be visible.

    They are the states after the task, before the task, and those of the facts.
    """
    step = lesson_files.step_at(place)
    answer = {"say": "abcd"[step.question.right]} if step.question else {}
    states = [{**step.opens, **step.does}, step.opens, *({**step.opens, **fact.get("with", {})} for fact in facts)]
    return [{"page": "explore", **state, **answer, "lesson": str(place)} for index, state in enumerate(states)
            if state not in states[:index]]


def visible_numbers(page: Page, wanted: set[tuple[Place, str, str]], facts: dict[tuple[Place, str], dict]) -> set:
    """Returns the subset of `wanted` whose numbers become visible.

    The search ends after three seconds, or when a complete page has shown the same texts for a second.
    """
    there: set[tuple[Place, str, str]] = set()
    seen: list[list[str]] = []
    for _attempt in range(20):
        seen.append(page.evaluate(SEEN))
        for its in wanted - there:
            (number, *_) = NUMBER.findall(facts[its[:2]]["says"])
            least = float(number.rstrip("%")) / 100 if "more than" in its[1] else None
            there |= {its} if is_in(seen[-1], number.replace(" ", ""), least) else set()
        is_settled = len(seen) > 7 and all(texts == seen[-1] for texts in seen[-7:]) and page.evaluate(COMPLETE)
        if there == wanted or is_settled:
            break
        page.wait_for_timeout(150)
    return there


@pytest.mark.parametrize("screen", ["small laptop", "laptop", "projector", *LARGE])
def test_the_heads_of_three_blocks_are_on_one_screen(screen: str, visit: Callable[..., Page]):
    """The heads of three blocks are visible at once.

    The step asks for the number of heads left in each block.
    """
    page = visit(lesson="gates.6", **({"teach": "1"} if screen in LARGE else {}))
    width, height = (SCREENS | LARGE)[screen]
    page.set_viewport_size({"width": width, "height": height})
    for kind in ("encoder", "decoder", "cross"):
        for layer in (0, 2):
            tile = page.locator(f'[role="gridcell"][data-kind="{kind}"][data-layer="{layer}"]').last
            expect(tile).to_be_in_viewport(ratio=1)
