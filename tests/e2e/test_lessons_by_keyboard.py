"""A lesson is read and answered by keyboard alone, and its steps have no violation of WCAG 2.2 AA.

pytest -m verify tests/e2e/test_lessons_by_keyboard.py    # axe in every step of every lesson
"""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from app.state import lessons
from app.state.lessons import ORDER, Place
from tests.e2e.app_page import linked, tab_to
from tests.e2e.test_accessibility import violations
from tests.e2e.test_lessons_done import panel

pytestmark = pytest.mark.browser


def walk(page: Page, key: str, look: Callable[[Place], None] = lambda place: None) -> None:
    """Answers the question of each step of a lesson, and goes to the next step, with Tab, Space and Enter."""
    steps = lessons.lesson(key).steps
    for number, step in enumerate(steps, 1):
        here = Place(key, number)
        expect(panel(page).locator('a[aria-current="step"]')).to_have_attribute("data-to", str(here), timeout=60_000)
        expect(panel(page).locator("h1")).to_have_text(step.title)
        if step.question:
            tab_to(page, f'.choice[data-index="{step.question.right}"]')
            page.keyboard.press("Space")
            linked(page, "say", "abcd"[step.question.right])
            expect(panel(page).locator(f'.choice[data-index="{step.question.right}"]')).to_have_attribute(
                "aria-pressed", "true")
        look(here)
        if number < len(steps):
            tab_to(page, ".forth")
            page.keyboard.press("Enter")


def _without_violation(page: Page, key: str) -> None:
    found = {}

    def look(place: Place) -> None:
        page.wait_for_function("!document.querySelector('[data-testid=\"stSkeleton\"]')")
        found[str(place)] = violations(page)
    walk(page, key, look)
    assert not {place: lines for place, lines in found.items() if lines}


def test_the_steps_of_a_lesson_have_no_violation(visit: Callable[..., Page]):
    _without_violation(visit(lesson="lengths.1", wait=False, dark=True), "lengths")


@pytest.mark.verify
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("key", ORDER)
def test_no_step_of_any_lesson_has_a_violation(visit: Callable[..., Page], key: str, dark: bool):
    _without_violation(visit(lesson=f"{key}.1", wait=False, dark=dark), key)
