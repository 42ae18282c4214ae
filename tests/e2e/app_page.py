"""Helpers for the tests of the whole app: its address, and the controls of the Lab."""

from urllib.parse import parse_qs, urlencode, urlparse

from playwright.sync_api import Locator, Page, expect

# returns the state of a page: the parameters of its address
PARAMETER = "([key, value]) => new URLSearchParams(location.search).get(key) === value"
ACTIVE = """(() => { let active = document.activeElement;
    while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
    return active; })()"""  # JavaScript: the element with the focus, also within a component


def query(page: Page) -> dict[str, str]:
    """Returns the parameters of the page's address."""
    return {key: values[0] for key, values in parse_qs(urlparse(page.url).query).items()}


def go(page: Page, /, **state: str) -> None:
    """Opens a link in an open page, in 0.4 s; a new browser profile, of the fixture visit, takes 1.2 s."""
    page.goto(f"{page.url.split('?')[0]}?{urlencode(state)}")


def linked(page: Page, key: str, value: str | None) -> None:
    """Waits until the address has the value, and no part of the page waits for a response; None: no such parameter."""
    page.wait_for_function(PARAMETER, arg=[key, value], timeout=20_000)
    answered(page)


def answered(page: Page) -> None:
    """Waits until no part of the page waits for a response."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=20_000)


def text_box(page: Page) -> Locator:
    return page.get_by_label("Text for the model", exact=True)


def type_text(page: Page, text: str, delay: int = 15) -> None:
    """Replaces the text in the box by typing, with `delay` ms between letters."""
    text_box(page).press("Control+a")
    text_box(page).press_sequentially(text, delay=delay)


def tile(page: Page, layer: int, head: int, kind: str = "self") -> Locator:
    """Returns the tile of a head (layer and head counted from 0), whatever the language."""
    return page.locator(f'.tile[data-kind="{kind}"][data-layer="{layer}"][data-head="{head}"]')


def state_button(page: Page, name: str) -> Locator:
    """Returns the button Live, Constant or Pruned."""
    return page.locator(".side .segment").get_by_role("button", name=name, exact=True)


def answer(page: Page) -> Locator:
    return page.locator(".answer .word")


def view(page: Page) -> Locator:
    """Returns the drawing of the open tool."""
    return page.locator(".view")


def notice(page: Page) -> Locator:
    """Returns the message below the text."""
    return page.locator(".field-row .notice")


def tab_to(page: Page, matches: str, back: bool = False) -> None:
    """Presses Tab until the element with the focus matches a selector."""
    for _press in range(60):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate(f"selector => Boolean({ACTIVE}?.matches(selector))", matches):
            return
    raise AssertionError(f"Tab does not lead to {matches}")
