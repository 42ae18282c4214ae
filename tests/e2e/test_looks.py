"""The look of a dozen states in both themes, against pictures that `python -m tests.e2e.test_looks` draws again.

A picture is the window at half its size. Two pictures are alike if no block of BLOCK² pixels differs by more than
TOLERANCE of 255 on average: letters that another Chromium smooths differ by less, another number or place by more.
"""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from urllib.parse import urlencode

import numpy
import pytest
from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser import chromium, serve
from tests.e2e.app_page import answered

pytestmark = pytest.mark.browser

FOLDER = Path(__file__).parent / "looks"
BLOCK, TOLERANCE = 12, 16.0
WIDE, PROJECTOR, PHONE = (1440, 900), (1280, 720), (390, 844)
MODEL = {"page": "lab", "model": "stories-selective"}
STORY = "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"
STATES: dict[str, tuple[tuple[int, int], dict[str, str]]] = {
    "start": (WIDE, {"page": "start"}),
    "lab": (WIDE, MODEL | {"text": STORY, "at": "2.4"}),
    "pruned": (WIDE, MODEL | {"text": STORY, "at": "2.4", "plan": "self-2.4g0_1.2c", "lab": "head.why~~cg"}),
    "large-type": (PROJECTOR, MODEL | {"text": STORY, "at": "2.4", "teach": "1"}),
    "phone": (PHONE, MODEL | {"text": STORY, "at": "2.4", "plan": "self-2.4g0"}),
    "long": (WIDE, MODEL | {"text": " ".join([STORY] * 4)}),
    "assignment": (WIDE, {"page": "lab", "model": "assignment-softmax"}),
    "masked": (WIDE, {"page": "lab", "model": "masked-softmax"}),
    "lesson": (PROJECTOR, {"page": "lessons", "lesson": "constant.2"}),
    "training": (WIDE, {"page": "training", "train": "lookup.softmax.2x4.0.1500"}),
    "guide": (WIDE, {"page": "about"}),
    "models": (WIDE, {"page": "yours"}),
}


def picture(page: Page) -> Image.Image:
    """Returns the window at half its size, when nothing moves any more."""
    answered(page)
    expect(page.locator('[data-testid="stApp"]')).to_have_attribute("data-test-script-state", "notRunning",
                                                                    timeout=30_000)
    page.wait_for_load_state("networkidle")
    page.wait_for_function("document.fonts.status === 'loaded'")
    seen = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    return seen.reduce(2)


def settled(page: Page) -> Image.Image:
    """Returns the picture that stays the same for two seconds."""
    page.emulate_media(reduced_motion="reduce")
    seen = [picture(page)]
    while seen.count(seen[-1]) < 4:
        assert len(seen) < 40, "the page moves"
        page.wait_for_timeout(600)
        seen.append(picture(page))
    return seen[-1]


def difference(one: Image.Image, other: Image.Image) -> float:
    """Returns the largest mean difference of a block."""
    assert one.size == other.size
    apart = abs(numpy.asarray(one, numpy.float32) - numpy.asarray(other, numpy.float32)).mean(-1)
    height, width = (side // BLOCK * BLOCK for side in apart.shape)
    blocks = apart[:height, :width].reshape(height // BLOCK, BLOCK, width // BLOCK, BLOCK)
    return float(blocks.mean((1, 3)).max())


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", STATES)
def test_a_state_looks_like_its_picture(state: str, theme: str, visit: Callable[..., Page], tmp_path: Path):
    size, link = STATES[state]
    page = visit(phone=size == PHONE, dark=theme == "dark", wait=False, **link)
    page.set_viewport_size({"width": size[0], "height": size[1]})
    seen = settled(page)
    seen.save(tmp_path / "seen.png")
    assert difference(seen, Image.open(FOLDER / f"{state}-{theme}.png")) <= TOLERANCE, tmp_path


def test_a_block_in_another_place_exceeds_the_tolerance():
    """The name of the app, copied to another place of the picture, is found."""
    seen = Image.open(FOLDER / "lab-light.png")
    moved = seen.copy()
    moved.paste(seen.crop((0, 0, 60, 14)), (300, 200))
    assert difference(seen, moved) > TOLERANCE


def draw() -> None:
    """Writes the pictures of all states."""
    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as playwright, serve() as address:
        browser = chromium(playwright)
        for state, (size, link) in STATES.items():
            for theme in ("light", "dark"):
                page = browser.new_page(viewport={"width": size[0], "height": size[1]}, bypass_csp=True,
                                        has_touch=size == PHONE, color_scheme=theme)
                page.goto(f"{address}/?{urlencode(link)}")
                settled(page).save(FOLDER / f"{state}-{theme}.png", optimize=True)
                page.close()


if __name__ == "__main__":
    draw()
