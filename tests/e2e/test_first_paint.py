"""The background before the app is drawn is that of the chosen theme, else of the system's, under the page's policy.

pytest tests/e2e/test_first_paint.py
"""

from __future__ import annotations

import pytest
import streamlit
from playwright.sync_api import Browser

pytestmark = pytest.mark.browser


@pytest.mark.parametrize(("stored", "system", "expected"), [
    ('"Dark"', "light", "dark"), ('"Light"', "dark", "light"), ('"Dark"', "dark", "dark"), ('"System"', "dark", "dark"),
    ("", "dark", "dark"), ("", "light", None), ("{", "dark", "dark")])
def test_nothing_flashes_before_the_app_is_drawn(browser: Browser, address: str, stored: str, system: str,
                                                 expected: str | None):
    """Streamlit's scripts are blocked, so the page stays as the browser paints it first."""
    context = browser.new_context(color_scheme=system)  # the content security policy holds
    if stored:
        context.add_init_script(f"localStorage.setItem('stActiveTheme-/-v2', {stored!r})")
    page, complaints = context.new_page(), []
    page.on("console", lambda m: complaints.append(m.text) if "Content Security Policy" in m.text else None)
    page.route("**/static/js/**", lambda route: route.abort())
    page.goto(address)
    found = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    colour = expected and streamlit.get_option(f"theme.{expected}.backgroundColor").lstrip("#")
    assert found == ("rgba(0, 0, 0, 0)" if colour is None else
                     f"rgb({', '.join(str(int(colour[i:i + 2], 16)) for i in (0, 2, 4))})")
    assert not complaints
    context.close()
