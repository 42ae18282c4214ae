"""Takes the pictures for the README from the running app in Chromium.

    python -m tests.readme_pictures        # writes assets/first-lesson.webp
    python -m tests.readme_pictures http://localhost:8501    # of an app that already runs
"""

import contextlib
import io
import sys
from collections.abc import Iterator

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from app.state import lessons
from app.state.lessons import Place
from tests.browser import ROOT, chromium, serve
from tests.e2e.test_lessons_done import at, do, linked, panel, ticked

SIZE = {"width": 1280, "height": 800}
SHRUNK = (960, 600)
READING, LOOKING = 2200, 1400  # duration of a frame in ms: with a new question, and with the result of an action


STILL = """() => [...document.querySelectorAll('*')].every(element =>
    (element.shadowRoot ?? element).getAnimations({ subtree: true }).every(its => its.playState !== 'running'))"""


def still(page: Page) -> None:
    """Waits until no animation runs any more, also inside components."""
    page.wait_for_function(STILL)


def lesson(page: Page, address: str, key: str, count: int) -> Iterator[tuple[bytes, int]]:
    """Performs steps of a lesson; yields (picture, milliseconds of the frame) before and after each action."""
    page.goto(f"{address}/?lesson={key}.1")
    for number, step in enumerate(lessons.lesson(key).steps[:count], 1):
        at(page, Place(key, number))
        page.get_by_role("button", name="Layer 1, head 1,").first.wait_for(timeout=60_000)
        still(page)
        yield page.screenshot(), READING
        if step.question:
            panel(page).locator(".choice").nth(step.question.right).click()
            linked(page, "say", "abcd"[step.question.right])
            yield page.screenshot(), LOOKING
        do(page, step)
        ticked(page)
        yield page.screenshot(), READING
        panel(page).get_by_role("button", name="Next", exact=True).click()


def opening(page: Page, address: str) -> Iterator[tuple[bytes, int]]:
    """Yields pictures of the first page: whole, without a head, without its layer."""
    page.goto(address)
    answer = page.locator('[data-part="start"] .slot')
    for text in ("66%", "was 66%", "friends"):
        if text != "66%":
            page.locator('[data-part="start"] .buttons button').last.click()
        expect(answer).to_contain_text(text, timeout=60_000)
        still(page)
        yield page.screenshot(), READING


def write_animation(frames: list[tuple[bytes, int]]) -> None:
    pictures = [Image.open(io.BytesIO(data)).convert("RGB").resize(SHRUNK, Image.Resampling.LANCZOS)
                for data, _time in frames]
    pictures[0].save(ROOT / "assets" / "first-lesson.webp", save_all=True, append_images=pictures[1:], loop=0,
                     duration=[time for _data, time in frames], quality=70, method=6)


def main() -> None:
    running = contextlib.nullcontext(sys.argv[1]) if len(sys.argv) > 1 else serve()
    with running as address, sync_playwright() as playwright:
        browser = chromium(playwright)
        page = browser.new_context(viewport=SIZE, color_scheme="light").new_page()
        write_animation([*opening(page, address), *lesson(page, address, "constant", 4)])
        browser.close()


if __name__ == "__main__":
    main()
