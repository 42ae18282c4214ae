"""The README's picture, in both themes: a link of the Explore page as it is drawn in Chromium.

    python -m tests.readme_pictures        # writes assets/explore.png and assets/explore-dark.png
    python -m tests.readme_pictures http://localhost:8501    # of an app that runs already
"""

from __future__ import annotations

import contextlib
import sys
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from tests.browser import ROOT, chromium, serve

STATE = {"page": "explore", "model": "stories-selective", "plan": "self-0.3c-2.5~7g0-3.0g0.4", "at": "2.2",
         "text": "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"}
SIZE = {"width": 1360, "height": 700}
FILES = {"light": "explore.png", "dark": "explore-dark.png"}


def main() -> None:
    running = contextlib.nullcontext(sys.argv[1]) if len(sys.argv) > 1 else serve()
    with running as address, sync_playwright() as playwright:
        browser = chromium(playwright)
        for theme, name in FILES.items():
            context = browser.new_context(viewport=SIZE, color_scheme=theme, device_scale_factor=1.5)
            page = context.new_page()
            page.goto(f"{address}/?{urlencode(STATE)}")
            page.locator(".words .now").wait_for(timeout=120_000)
            page.wait_for_timeout(2000)  # the bars have moved
            page.screenshot(path=ROOT / "assets" / name)
        browser.close()


if __name__ == "__main__":
    main()
