"""WCAG 2.2 AA, checked by axe-core on every page, in both themes and all languages: there is no violation."""

import importlib.util
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page

from app.state.lab_state import PAGES, START
from app.texts import LANGUAGES
from tests.e2e.app_page import go, tile

pytestmark = pytest.mark.browser

SOURCE = Path(importlib.util.find_spec("axe_playwright_python").origin).parent / "axe.min.js"
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]

STATES = {"lab": {"model": "stories-selective", "plan": "self-0.0~3c-1.2g0", "lab": "layer.entropy~~cg"}}


def violations(page: Page) -> list[str]:
    """Returns the violations that axe finds on the page, one line each; without animations, whose colours change."""
    page.emulate_media(reduced_motion="reduce")
    page.evaluate(SOURCE.read_text("utf-8"))
    found = page.evaluate("""tags => axe.run(document, { runOnly: { type: 'tag', values: tags },
        resultTypes: ['violations'] }).then(found => found.violations)""", TAGS)
    lines = []
    for rule in found:
        for node in rule["nodes"]:
            target = " ".join(part if isinstance(part, str) else " >> ".join(part) for part in node["target"])
            lines.append(f"{rule['id']} ({rule['impact']}): {target}: {node['failureSummary']}"[:600])
    return lines


def test_axe_finds_a_known_violation(visit):
    """A page with a known mistake has a violation, so the tests of the pages can fail."""
    page = visit(page="about", wait=False)
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\"><button></button>')")
    found = "\n".join(violations(page))
    assert "image-alt" in found and "button-name" in found


# whether three looks found the same number of elements, also within the components, and nothing is awaited
SETTLED = """() => {
    const count = root => [...root.querySelectorAll('*')].reduce(
        (sum, each) => sum + 1 + (each.shadowRoot ? count(each.shadowRoot) : 0), 0);
    const awaited = document.querySelector('[data-testid="stSkeleton"], [aria-busy=true]')
        || !document.querySelector('[data-test-script-state="notRunning"]');
    const now = awaited ? 0 : count(document);
    window.looks = now && now === window.elements ? window.looks + 1 : 0;
    window.elements = now;
    return window.looks >= 2;
}"""


# each page in each language, with alternating themes: texts and colours are independent
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_violation(visit, language: str, dark: bool):
    page = visit(dark=dark, wait=False, page="about", lang=language)
    for name in [*PAGES][dark ^ (language == "zh")::2]:
        go(page, **STATES.get(name, {}), page=name, lang=language)
        shown = {START: ".st-key-start", "results": ".vega svg"}.get(name, ".st-key-bar a")
        page.locator(shown).first.wait_for(timeout=30_000)
        page.wait_for_function(SETTLED, polling=200)
        assert page.evaluate("document.documentElement.lang") == language
        assert not violations(page), name


def test_no_violation_in_large_type(visit):
    page = visit(wait=False, lesson="constant.1", teach="1", say="a")
    for width, height in ((1280, 800), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.locator(".because").wait_for()
        page.wait_for_function(SETTLED, polling=200)
        assert not violations(page), width


# tools whose drawings have parts of their own, with a model that has the tool
TOOLS = {"head.why": "stories-softmax", "layer.forget": "stories-selective", "all.order": "stories-softmax",
         "all.second": "stories-softmax", "word.hide": "masked-softmax", "answer.lens": "stories-softmax",
         "head.corpus": "stories-softmax", "head.get": "translation-softmax"}


@pytest.mark.parametrize("dark", [False, True])
def test_no_violation_in_the_tools_of_the_lab(visit, dark: bool):
    page = visit(dark=dark, wait=False, page="about")
    for tool, model in [*TOOLS.items()][dark::2]:
        go(page, model=model, lab=tool, plan="self-0.0c" if model.startswith("stories") else "",
           **{"with": "stories-random"} if tool == "all.second" else {})
        page.locator(f".view .drawing.{tool.split('.')[1]} > *").first.wait_for(timeout=30_000)
        assert not violations(page), tool


def test_no_violation_on_a_phone_and_with_menus_and_dialogs_open(visit):
    page = visit(phone=True, model="stories-selective")
    page.locator(".lead button").first.tap()
    assert not violations(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Find a tool").tap()
    assert not violations(page)
    page.keyboard.press("Escape")
    page.get_by_role("button", name="More").tap()
    page.get_by_role("menuitem", name="Share").tap()
    page.get_by_role("dialog").wait_for()
    assert not violations(page)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_states_stay_visible_in_high_contrast(browser, address, scheme):
    """With forced colours, browsers remove backgrounds and shadows. Each state of a head must still look different."""
    context = browser.new_context(forced_colors="active", color_scheme=scheme, bypass_csp=True,
                                  viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{address}/?" + urlencode({"model": "stories-softmax", "text": "Once upon a time", "at": "0.1",
                                          "plan": "self-0.0c-0.3g0.5-1.2g0"}))
    tile(page, 0, 0).wait_for(timeout=60_000)
    assert page.evaluate("matchMedia('(forced-colors: active)').matches")
    page.mouse.move(0, 0)
    pictures = [tile(page, *head).screenshot() for head in ((0, 0), (0, 1), (0, 3), (1, 2), (1, 3))]
    assert len(set(pictures)) == len(pictures)
    chosen, other = (its.evaluate("its => getComputedStyle(its).outlineStyle") for its in
                     (tile(page, 0, 1), tile(page, 0, 2)))
    assert (chosen, other) == ("solid", "none")
    pressed, raised = (page.locator(f".side .segment [aria-pressed={is_on}]").first.evaluate(
        "its => { const { backgroundColor, borderColor, outlineStyle } = getComputedStyle(its);"
        " return [backgroundColor, borderColor, outlineStyle].join() }") for is_on in ("true", "false"))
    assert pressed != raised
    context.close()
