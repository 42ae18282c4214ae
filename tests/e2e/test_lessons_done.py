"""The first page and all lessons, completed from beginning to end by clicks in every language.

Lesson 1 is also completed by keyboard.

pytest tests/e2e/test_lessons_done.py
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from app import texts
from app.panels.answer.writers import head_name
from app.panels.choice.labels import model_label
from app.panels.page.sections import name_of
from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import ORDER, Place, Step
from app.state.pages.selection import Selection
from app.texts import LANGUAGES, _
from models import HeadPlan, load
from tests.e2e.test_explore import named, query

pytestmark = pytest.mark.browser


def panel(page: Page) -> Locator:
    return page.locator('[data-part="lesson"]')


def at(page: Page, place: Place) -> None:
    """Waits for a step that is not marked as done yet."""
    expect(panel(page).locator('a[aria-current="step"]')).to_have_attribute("data-to", str(place), timeout=60_000)
    expect(panel(page).locator(".task")).not_to_have_class(re.compile("done"))


def ticked(page: Page) -> None:
    expect(panel(page).locator(".task.done")).to_be_visible(timeout=20_000)


def linked(page: Page, key: str, value: str) -> None:
    """Waits until the address has the value.

    Then Python has responded, and no older response is pending.
    """
    page.wait_for_function("([key, value]) => new URLSearchParams(location.search).get(key) === value",
                           arg=[key, value], timeout=20_000)
    page.wait_for_timeout(150)


def tile(page: Page, layer: int, head: int, kind: str = "self") -> Locator:
    """Returns the tile of a head (layer and head counted from 0), whatever the language."""
    return page.locator(f'[role="gridcell"][data-kind="{kind}"][data-layer="{layer}"][data-head="{head}"]')


def set_plan(page: Page, wanted: HeadPlan) -> None:
    """Sets the heads that a step requires: all at once, per layer, or one by one."""
    heads = list(wanted.heads)
    (state,) = {str(its) for its in wanted.heads.values()}
    layers = {layer for _kind, layer, _head in heads}
    kind = heads[0][0]
    if len(heads) == 24:  # all heads of a block of the translation model
        page.locator(f'[data-kind="{kind}"][data-scope="all"]').click()
        page.get_by_role("button", name=_("Prune"), exact=True).click()
    elif len(heads) in (32, 4) and len(layers) in (1, 4):
        which = _("All heads") if len(heads) == 32 else _("All heads of layer {layer}", layer=min(layers) + 1)
        page.get_by_role("button", name=which, exact=True).click()
        page.get_by_role("button", name={"c": _("Constant"), "g0": _("Prune")}[state], exact=True).click()
    else:
        for kind, layer, head in heads:
            tile(page, layer, head, kind).click()
            page.keyboard.press({"c": "c", "g0": "p"}.get(state, "-"))
    linked(page, "plan", str(wanted).replace("g0.5", "g0.9"))


def patch(page: Page, step: Step, wanted: HeadPlan) -> None:
    """Patches the head that a step asks for, or takes only the pattern of the patched head."""
    bars = page.locator('[data-part="contributions"]')
    if "tokens" in step.does:
        bars.get_by_label(_("Patched value")).select_option(label=_("its attention pattern only"))
    else:
        (address,) = wanted.heads
        name = _("Patch {head}", head=head_name(load(step.opens["model"]), *address))
        bars.get_by_role("button", name=name, exact=True).click()
    linked(page, "plan", str(wanted))


def do(page: Page, step: Step) -> None:
    """Performs the task of a step with the controls of the page."""
    what = {key: value for key, value in step.does.items() if step.opens.get(key) != value}
    if "page" in what:
        page.locator('nav a[data-page="length"]').click()
        page.get_by_role("slider", name=re.compile(_("Length, tokens"))).wait_for()
    if step.opens.get("open") == "pair" and "plan" in what:
        patch(page, step, HeadPlan.parse(what["plan"]))
    elif "plan" in what:
        set_plan(page, HeadPlan.parse(what["plan"]))
    elif "at" in what:
        at = Selection.parse(what["at"])
        tile(page, at.layer, at.head, at.kind).click()
        linked(page, "at", what["at"]) if what["at"] != "0.0" else page.wait_for_timeout(600)
    if "text" in what:
        box = page.get_by_label(_("Text"), exact=True)
        box.fill(what["text"])
        linked(page, "text", what["text"])
    if "view" in what:
        page.get_by_role("tab", name=_("Mask F")).click()
    if "open" in what:
        page.locator(".st-key-sections input").click()
        page.get_by_role("option", name=name_of(what["open"]), exact=True).click()
    for name in what.get("with", "").split():
        if name not in step.opens.get("with", "").split():
            page.get_by_test_id("stButtonGroup").get_by_role("button", name=model_label(name), exact=True).click()
    if "with" in what:
        linked(page, "with", what["with"])
    if "n" in what:
        slider = page.get_by_role("slider", name=re.compile(_("Length, tokens")))
        slider.focus()
        slider.press("End")
    if "keep" in what:
        box = page.get_by_role("combobox", name=_("Tokens kept while writing"))
        box.scroll_into_view_if_needed()
        page.wait_for_timeout(500)  # a list that opens while the page scrolls would close again
        box.click()
        page.get_by_role("option", name=_("Keep {budget} tokens per layer while writing", budget=8)).click()
        # the generation has ended
        expect(page.get_by_role("button", name=_("Continue the text"))).to_be_visible(timeout=30_000)


# `make test` completes the lessons in English; tests/app/test_lessons.py has the steps, test_texts.py the translations
@pytest.fixture(params=[pytest.param(language, marks=[] if language == texts.ENGLISH else pytest.mark.nightly)
                        for language in LANGUAGES])
def spoken(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yields a language, in which the test looks up the labels of controls."""
    texts.speak(request.param)
    yield request.param
    texts.speak(texts.ENGLISH)


@pytest.mark.parametrize("key", ORDER)
def test_a_lesson_from_beginning_to_end(key: str, spoken: str, visit: Callable[..., Page]):
    page = visit(wait=False, lesson=f"{key}.1", lang=spoken)
    steps = lesson_files.lesson(key).steps
    for number, step in enumerate(steps, 1):
        at(page, Place(key, number))
        if step.question:
            panel(page).locator(".choice").nth(step.question.right).click()
            linked(page, "say", "abcd"[step.question.right])
        do(page, step)
        ticked(page)
        if step.question:
            expect(panel(page).locator(".because")).to_have_text(_(step.question.because).replace("*", ""))
        if number < len(steps):
            panel(page).get_by_role("button", name=_("Next"), exact=True).click()
    assert steps[-1].question  # every lesson ends with a question
    expect(panel(page).locator(".stops .done")).to_have_count(len(steps))


def test_the_result_of_a_guess_appears_after_the_step_and_the_last_question_can_be_repeated(visit: Callable[..., Page]):
    steps = lesson_files.lesson("constant").steps
    page = visit(wait=False, lesson="constant.1")
    at(page, Place("constant", 1))
    choices, because = panel(page).locator(".choice"), panel(page).locator(".because")
    choices.nth(1).click()
    expect(because).to_have_text("Now try it: you will see whether you guessed right.")
    expect(panel(page).locator(".right, .wrong")).to_have_count(0)
    do(page, steps[0])
    ticked(page)
    expect(panel(page).locator(".wrong")).to_have_count(1)
    expect(panel(page).locator(".right")).to_have_count(1)
    page = visit(wait=False, lesson=f"constant.{len(steps)}")
    at(page, Place("constant", len(steps)))
    right = steps[-1].question.right if steps[-1].question else 0
    choices, because = panel(page).locator(".choice"), panel(page).locator(".because")
    choices.nth((right + 1) % 3).click()
    expect(because).to_have_text("Not this one: choose again.")
    expect(panel(page).locator(".right")).to_have_count(0)
    choices.nth(right).click()
    ticked(page)
    expect(panel(page).locator(".right")).to_have_count(1)


def tab_to(page: Page, matches: str, back: bool = False) -> None:
    """Presses Tab until the element with the focus matches a selector."""
    for _press in range(60):
        page.keyboard.press("Shift+Tab" if back else "Tab")
        if page.evaluate("""selector => { let e = document.activeElement;
                while (e?.shadowRoot?.activeElement) e = e.shadowRoot.activeElement;
                return Boolean(e?.matches(selector)); }""", matches):
            return
    raise AssertionError(f"Tab does not lead to {matches}")


def test_the_first_lesson_by_keyboard_alone(visit: Callable[..., Page]):
    page = visit(lesson="constant.1")
    steps = lesson_files.lesson("constant").steps
    for number, step in enumerate(steps, 1):
        at(page, Place("constant", number))
        assert step.question
        tab_to(page, f'.choice[data-index="{step.question.right}"]')
        page.keyboard.press("Enter")
        linked(page, "say", "abcd"[step.question.right])
        what = {key: value for key, value in step.does.items() if step.opens.get(key) != value}
        if "plan" in what or "at" in what:
            tab_to(page, '[role="gridcell"]')
            if "at" in what:  # a head to the left in the same layer
                before, after = (int(link["at"].split(".")[1]) for link in (step.opens, step.does))
                for _ in range(before - after):
                    page.keyboard.press("ArrowLeft")
            elif len(HeadPlan.parse(what["plan"]).heads) == 32:
                for _ in range(8):
                    page.keyboard.press("ArrowLeft")
                for _ in range(5):
                    page.keyboard.press("ArrowUp")
                page.keyboard.press("Enter")
                page.keyboard.press("p" if "g0" in what["plan"] else "c")
            else:
                page.keyboard.press("c")
        if "text" in what:
            tab_to(page, 'textarea[aria-label="Text"]', back="plan" in what)
            page.keyboard.press("Control+a")
            page.keyboard.type(what["text"])
            page.keyboard.press("Enter")
        ticked(page)
        if number < len(steps):
            page.keyboard.press("Shift+PageDown")
            expect(panel(page).locator("h3")).to_be_focused()


def test_the_start_page_prunes_a_head_then_a_layer_and_leads_to_the_lab_and_to_lesson_1(visit: Callable[..., Page]):
    page = visit(first=True)
    shown = page.locator('[data-part="start"]')
    expect(shown.locator(".slot")).to_have_text("ball66%", timeout=30_000)
    assert query(page) == {}
    shown.get_by_role("button", name="Switch this head off").click()
    expect(shown.locator(".slot")).to_have_text("ball50%, was 66%")
    page.wait_for_function("location.search.includes('plan=self-2.4g0')")
    page.reload()
    expect(shown.locator(".slot")).to_have_text("ball50%, was 66%", timeout=30_000)
    shown.get_by_role("button", name="Switch the whole layer off").click()
    expect(page.locator('[data-part="lab"]')).to_contain_text("friends", timeout=30_000)
    assert query(page)["page"] == "lab" and "self-2.0" in query(page)["plan"]
    page.locator('[data-part="bar"] .brand').click()
    shown.get_by_role("button", name="Lesson 1").click()
    at(page, Place("constant", 1))
    page.get_by_role("link", name="Explore", exact=True).click()  # the page behind the lesson
    expect(panel(page)).to_have_count(0)
    assert "lesson" not in query(page)


def test_who_skips_gets_the_lab_and_keeps_it(visit: Callable[..., Page]):
    page = visit(first=True)
    page.get_by_role("button", name="Or start with a story").click()
    expect(named(page, "layer 3, head 5, live")).to_be_visible(timeout=20_000)
    page.wait_for_function("location.search.includes('at=2.4')")
    page.reload()
    expect(named(page, "layer 3, head 5, live")).to_be_visible(timeout=20_000)


def test_leaving_a_lesson_gives_the_own_text_back_and_large_type_ends_with_escape(visit: Callable[..., Page]):
    page = visit(model="assignment-selective", text="k=4; k=?", plan="self-0.1c")
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Begin").nth(1).click()
    at(page, Place("gates", 1))
    panel(page).get_by_role("button", name="Large type").click()
    expect(page.get_by_role("combobox", name="Examples")).to_be_hidden()
    page.keyboard.press("PageDown")
    at(page, Place("gates", 2))
    expect(page.locator('[data-part="effect"]')).to_have_count(0)
    panel(page).get_by_role("button", name="Show the answer").click()
    expect(page.locator('[data-part="effect"]')).to_be_visible()
    expect(panel(page).locator(".choice.right")).to_have_css("opacity", "1")
    page.keyboard.press("Escape")
    expect(page.get_by_role("combobox", name="Examples")).to_be_visible()
    panel(page).get_by_role("button", name="Leave").click()
    # the list of lessons is displayed again
    expect(page.get_by_role("button", name="Show the first page again")).to_be_visible()
    page.get_by_role("link", name="Lab", exact=True).click()
    page.wait_for_function("location.search.includes('page=lab')")
    assert {"text": "k=4; k=?", "plan": "self-0.1c"}.items() <= query(page).items() and "lesson" not in query(page)


@pytest.mark.parametrize("width", [390, 768, 1280, 1920])
def test_the_picture_stays_where_it_is_from_step_to_step(width: int, visit: Callable[..., Page]):
    page = visit(lesson="gates.1")
    page.set_viewport_size({"width": width, "height": 900})
    places = []
    for number in (1, 2, 3, 4):
        if number > 1:
            panel(page).get_by_role("button", name="Next").click()
        at(page, Place("gates", number))
        page.wait_for_timeout(300)
        places.append(page.get_by_role("grid").bounding_box())
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if width > 640:  # on a phone the lower elements are only visible after scrolling
        assert max(place["y"] for place in places) - min(place["y"] for place in places) < 2
    box = panel(page).bounding_box()
    grid = places[-1]
    # the box covers no part of the grid
    assert box["x"] + box["width"] <= grid["x"] or box["y"] + box["height"] <= grid["y"]
