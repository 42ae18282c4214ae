"""The page is drawn with the theme's background and with our style sheet from its first frame on."""

import pytest
import streamlit
from playwright.sync_api import Browser

from components.mounting import page_style
from tests.browser import serve

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


# a websocket that never opens, as behind a proxy that holds the request back
HELD = """
window.WebSocket = class extends WebSocket {
  constructor() { return Object.assign(new EventTarget(), { close() {}, send() {}, readyState: 0 }); }
};
"""


def test_a_page_says_after_five_seconds_that_it_has_no_connection(browser: Browser, address: str):
    context = browser.new_context(locale="zh-CN")
    context.add_init_script(HELD)
    page = context.new_page()
    page.clock.install()
    page.goto(address)
    page.locator("[data-testid=stApp]").wait_for(state="attached", timeout=60_000)
    content = "getComputedStyle(document.body, '::after').content"
    page.clock.fast_forward(5000)
    assert "没有连接到服务器" in page.evaluate(content)
    page.evaluate("document.querySelector('[data-testid=stApp]')"
                  ".setAttribute('data-test-connection-state', 'CONNECTED')")
    page.clock.fast_forward(300)
    assert page.evaluate(content) == "none"
    context.close()


# window.positions: the distances in pixels of the header from the left, of all frames
POSITIONS = """
window.positions = new Set();
const look = () => {
  const header = document.querySelector('.st-key-bar');
  if (header) window.positions.add(Math.round(header.getBoundingClientRect().x));
  requestAnimationFrame(look);
};
look();
"""


def test_the_style_is_there_before_the_first_element(browser: Browser, address: str):
    """On a slow machine, Streamlit draws the header 0.4 s before an element of Streamlit that has a style sheet."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    context.add_init_script(POSITIONS)
    page = context.new_page()
    context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 6})
    page.goto(f"{address}/?model=stories-selective")
    page.locator(".tile").first.wait_for(timeout=60_000)
    assert page.evaluate("[...window.positions]") == [0]
    context.close()


@pytest.mark.parametrize("change", ["element.remove()", "element.textContent = 'b { color: red }'"])
def test_a_page_without_the_style_or_with_an_older_one_gets_it(browser: Browser, address: str, change: str):
    """Without app/host.py the page lacks the style; a page that is open during an update has an older one."""
    context = browser.new_context()
    context.add_init_script("document.addEventListener('DOMContentLoaded', () => {"
                            "  const element = document.getElementById('attention-lab-style');"
                            f"  window.served = element.textContent; {change}; }})")
    page = context.new_page()
    page.goto(f"{address}/?model=stories-selective")
    page.locator(".tile").first.wait_for(timeout=60_000)
    assert page.locator("#attention-lab-style").text_content() == page.evaluate("window.served") == page_style()
    context.close()


def test_the_floor_of_the_benchmarks_is_drawn(browser: Browser):
    with serve("benchmarks/floor_app.py") as floor:
        page = browser.new_page()
        page.goto(floor)
        page.locator('.tile[tabindex="0"]').wait_for()
        page.close()
