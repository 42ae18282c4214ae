"""The start page and the lessons on the Lab, by clicks in every language, by keyboard, and on a class's screens."""

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from app import texts
from app.state import lessons
from app.state.lab_view import LabView
from app.state.lessons import ORDER, Place, Step
from app.state.selection import Selection
from app.state.training_view import TrainingView
from app.texts import LANGUAGES, _
from learning.recipe import Recipe
from models import HeadPlan
from models.nets.attention import TYPES
from tests.e2e.app_page import go, linked, query, tab_to, tile
from tests.e2e.test_minute import ASKS

pytestmark = pytest.mark.browser

LIVE, CONSTANT, PRUNED = range(3)  # buttons of the state of heads


def panel(page: Page) -> Locator:
    return page.locator(':is([data-part="lab"], [data-part="training"]) .lesson')


def at(page: Page, place: Place) -> None:
    """Waits for a step that is not marked as done yet."""
    expect(panel(page).locator('a[aria-current="step"]')).to_have_attribute("data-to", str(place), timeout=60_000)
    expect(panel(page).locator(".task")).not_to_have_class(re.compile("done"))


def ticked(page: Page) -> None:
    expect(panel(page).locator(".task.done")).to_be_visible(timeout=20_000)


def state_button(page: Page, which: int) -> Locator:
    return page.locator(".side .segment button").nth(which)


def open_thing(page: Page, thing: str) -> None:
    page.locator(f'.things [data-thing="{thing}"]').click()


def set_plan(page: Page, wanted: HeadPlan, kept: HeadPlan) -> None:
    """Sets the heads that a step requires: all at once, a layer, or one by one."""
    heads = [address for address, state in wanted.heads.items() if kept.heads.get(address) != state]
    state = wanted.heads[heads[0]]
    kind, layer, _head = heads[0]
    several = {"layer": {each[1] for each in heads} == {layer} and len(heads) > 3, "all": len(heads) > 8}
    if state.patch:
        page.locator(".view .segment button").last.click() if state.patch == "pattern" else page.locator(
            ".view").get_by_role("button", name=_("Keep this head's value from the second text")).click()
    elif any(several.values()):
        tile(page, layer, 0, kind).click()
        open_thing(page, next(name for name, holds in several.items() if holds))
        state_button(page, CONSTANT if state.constant else PRUNED).click()
    else:
        for kind, layer, head in heads:
            tile(page, layer, head, kind).click()
            state_button(page, CONSTANT if state.constant else PRUNED).click()
    linked(page, "plan", str(wanted))


def open_tool(page: Page, key: str) -> None:
    if page.locator('.things [aria-selected="true"]').get_attribute("data-thing") != key.split(".")[0]:
        open_thing(page, key.split(".")[0])
    page.locator(f'.tools [data-key="{key}"]').click()
    page.wait_for_function("key => (new URLSearchParams(location.search).get('lab') ?? 'head.looks').startsWith(key)",
                           arg=key)


def set_training(page: Page, wanted: TrainingView, kept: Recipe) -> None:
    """Opens a training that differs from `kept` by its attention type or by pruned heads."""
    assert wanted.recipe is not None
    if wanted.recipe.attention != kept.attention:
        page.locator(".settings .control").last.click()
        page.get_by_role("menuitemradio", name=_(TYPES[wanted.recipe.attention].title)).first.click()
    for kind, layer, head in wanted.recipe.plan.heads:
        tile(page, layer, head, kind).click()
        page.locator(".heads .pruned").click()
    linked(page, "train", str(wanted))


def do(page: Page, step: Step) -> None:
    """Performs the task of a step with the controls of the Lab or of the page Training."""
    what = {key: value for key, value in step.does.items() if step.opens.get(key) != value}
    before, after = (LabView.parse(link.get("lab", "head.looks")) for link in (step.opens, step.does))
    if "train" in what:
        set_training(page, TrainingView.parse(what["train"]), Recipe.parse(step.opens["train"]))
    if "plan" in what:
        set_plan(page, HeadPlan.parse(what["plan"]), HeadPlan.parse(step.opens.get("plan", "")))
    elif "at" in what and "lab" not in what:
        selected = Selection.parse(what["at"])
        tile(page, selected.layer, selected.head, selected.kind).click()
        page.wait_for_timeout(300)
    if "text" in what:
        page.locator(".field input").fill(what["text"])
        linked(page, "text", what["text"])
    if "lab" in what and after.tool != before.tool:
        open_tool(page, after.tool)
    for name, value in after.settings:
        if "lab" in what and before.setting(name) != value:
            page.locator(".view select").first.select_option(value)
    if "keep" in what:
        label = _("Keep {budget} tokens per layer while writing", budget=8)
        page.locator(".view select").first.select_option(label=label)


# `make test` completes one lesson in each language; test_lesson_screens.py walks through all steps without a browser
def _cases() -> Iterator[object]:
    for key in ORDER:
        for language in LANGUAGES:
            often = key == "gates" or (key in ("writers", "birth") and language == texts.ENGLISH)
            yield pytest.param(key, language, marks=[] if often else pytest.mark.nightly)


@pytest.fixture
def spoken() -> Iterator[None]:
    """Restores the language, in which a test looks up the labels of controls."""
    yield
    texts.speak(texts.ENGLISH)


@pytest.mark.parametrize(("key", "language"), [*_cases()])
def test_a_lesson_from_beginning_to_end(key: str, language: str, spoken: None, visit: Callable[..., Page]):
    texts.speak(language)
    page = visit(wait=False, lesson=f"{key}.1", lang=language)
    steps = lessons.lesson(key).steps
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
            panel(page).locator(".forth").click()
    assert steps[-1].question  # every lesson ends with a question
    expect(panel(page).locator(".stops .done")).to_have_count(len(steps))


def test_the_result_of_a_guess_appears_after_the_step_and_the_last_question_can_be_repeated(visit: Callable[..., Page]):
    steps = lessons.lesson("constant").steps
    page = visit(wait=False, lesson="constant.1")
    at(page, Place("constant", 1))
    choices, because = panel(page).locator(".choice"), panel(page).locator(".because")
    expect(page.locator(".answer .word")).to_be_hidden()
    choices.nth(1).click()
    expect(because).to_have_text("Now try it: did you guess right?")
    expect(page.locator(".answer .word")).to_have_text("play")
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


def test_the_answer_can_be_shown_without_a_guess(visit: Callable[..., Page]):
    page = visit(wait=False, lesson="gates.3", teach="1")
    at(page, Place("gates", 3))
    page.locator(".unknown button").click()
    expect(page.locator(".answer .word")).to_have_text("7")
    expect(panel(page).locator(".choice.right")).to_have_count(1)
    expect(panel(page).locator(".choice.wrong")).to_have_count(0)


def test_the_first_lesson_by_keyboard_alone(visit: Callable[..., Page]):
    page = visit(wait=False, lesson="constant.1")
    steps = lessons.lesson("constant").steps
    for number, step in enumerate(steps, 1):
        at(page, Place("constant", number))
        assert step.question
        tab_to(page, f'.choice[data-index="{step.question.right}"]')
        page.keyboard.press("Enter")
        linked(page, "say", "abcd"[step.question.right])
        what = {key: value for key, value in step.does.items() if step.opens.get(key) != value}
        heads = HeadPlan.parse(what.get("plan", "")).heads
        if "at" in what:
            tab_to(page, ".tile")
            for _press in range(3):  # from head 6 to head 3
                page.keyboard.press("ArrowLeft")
        if len(heads) == 32:
            tab_to(page, '[role="tab"]')
            for _press in range(2):
                page.keyboard.press("ArrowRight")
        if heads:
            page.keyboard.press("p" if "g0" in what["plan"] else "c")
        if "text" in what:
            tab_to(page, ".field input")
            page.keyboard.press("Control+a")
            page.keyboard.type(what["text"])
            page.keyboard.press("Enter")
        ticked(page)
        if number < len(steps):
            page.keyboard.press("Shift+PageDown")
            expect(panel(page).locator("h1")).to_be_focused()


def test_the_start_page_prunes_a_head_then_a_layer_and_leads_to_the_lab_and_to_lesson_1(visit: Callable[..., Page]):
    page = visit(first=True)
    shown = page.locator('[data-part="start"]')
    expect(shown.locator(".slot")).to_have_text("ball66% likely", timeout=30_000)
    assert query(page) == {}
    shown.get_by_role("button", name="Switch this head off").click()
    expect(shown.locator(".slot")).to_have_text("ball50% likely, was 66%")
    page.wait_for_function("location.search.includes('plan=self-2.4g0')")
    page.reload()
    expect(shown.locator(".slot")).to_have_text("ball50% likely, was 66%", timeout=30_000)
    shown.get_by_role("button", name="Switch the whole layer off").click()
    expect(shown.locator(".slot")).to_contain_text("friends")
    shown.get_by_role("button", name="Open the lab").click()
    expect(page.locator('[data-part="lab"]')).to_contain_text("friends", timeout=30_000)
    assert "page" not in query(page) and "self-2.0" in query(page)["plan"]
    expect(page.locator(".minute")).to_be_hidden()  # it waits while a layer is off
    page.get_by_role("button", name="Undo all changes").click()
    expect(page.locator(".minute .ask")).to_have_text(ASKS[0])
    page.locator('[data-part="bar"] .brand').click()
    shown.get_by_role("button", name="Lesson 1").click()
    at(page, Place("constant", 1))
    page.get_by_role("link", name="Lab", exact=True).first.click()
    expect(panel(page)).to_be_hidden()
    page.wait_for_function("!location.search.includes('lesson')")
    assert "lesson" not in query(page)


def test_leaving_a_lesson_gives_the_own_text_back_and_large_type_ends_with_escape(visit: Callable[..., Page]):
    page = visit(model="assignment-selective", text="k=4; k=?", plan="self-0.1c")
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Begin").nth(1).click()
    at(page, Place("gates", 1))
    panel(page).get_by_role("button", name="Large type").click()
    expect(page.locator(".large-type")).to_have_count(1)
    page.keyboard.press("PageDown")
    at(page, Place("gates", 2))
    page.keyboard.press("Escape")
    expect(page.locator(".large-type")).to_have_count(0)
    panel(page).get_by_role("button", name="Leave").click()
    # the list of lessons is displayed again
    expect(page.get_by_role("button", name="Show the first page again")).to_be_visible()
    page.get_by_role("link", name="Lab", exact=True).click()
    page.wait_for_function("!location.search.includes('page=')")
    assert {"text": "k=4; k=?", "plan": "self-0.1c"}.items() <= query(page).items() and "lesson" not in query(page)


def test_the_picture_stays_where_it_is_from_step_to_step_and_lessons_are_marked(visit: Callable[..., Page]):
    page = visit(wait=False, page="about")
    for width in (768, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        go(page, lesson="gates.2")
        places = []
        for number in (2, 3, 4):
            if number > 2:
                panel(page).get_by_role("button", name="Next").click()
            at(page, Place("gates", number))
            page.wait_for_timeout(300)
            places.append(tile(page, 0, 0).bounding_box())
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), width
        if width > 900:
            assert max(place["y"] for place in places) - min(place["y"] for place in places) < 2
            assert places[0]["x"] > (box := panel(page).bounding_box())["x"] + box["width"]
    expect(page.locator(".places [aria-current]")).to_have_text("Lessons")
    page.locator(".places").get_by_role("link", name="Lessons").click()
    expect(page.get_by_role("button", name="Show the first page again")).to_be_visible(timeout=20_000)


def test_a_step_shows_what_its_task_needs_and_a_tab_the_rest(visit: Callable[..., Page]):
    page = visit(wait=False, lesson="constant.1")
    for number, step in enumerate(lessons.lesson("constant").steps[:3], 1):
        at(page, Place("constant", number))
        for part in (".side", ".view", ".tools"):
            expect(page.locator(part)).to_be_visible(visible=step.needs == "buttons" and part != ".tools")
        if step.needs == "picture":
            page.get_by_role("tab", name="Layer 2", exact=True).click()
            expect(page.locator(".tools")).to_be_visible()
        panel(page).get_by_role("button", name="Next").click()


# the screens on which a class sees a step before the guess, and after the task
CLASS = ["constant.1", "gates.3", "translation.3", "writers.3", "lengths.1", "birth.1"]
OVER = "its => Math.max(its.scrollHeight - its.clientHeight, its.scrollWidth - its.clientWidth)"


def wholly_visible(page: Page, *elements: Locator) -> None:
    for element in elements:
        expect(element).to_be_in_viewport(ratio=0.99)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_step_is_on_one_screen_of_a_projector(lang: str, visit: Callable[..., Page]):
    """At 1280 by 800 in large type: text, action and answer, without scrolling."""
    page = visit(wait=False, page="about")
    page.set_viewport_size({"width": 1280, "height": 800})
    step, main = panel(page), page.locator("[data-testid=stMain]")
    for place in CLASS:
        lesson_step = lessons.step_at(Place.parse(place))
        go(page, lesson=place, teach="1", lang=lang)
        at(page, Place.parse(place))
        page.wait_for_timeout(300)
        wholly_visible(page, step.locator(".text"), step.locator(".ask"), *step.locator(".choice").all(),
                       step.locator(".task"), step.locator(".forth"),
                       page.locator(".time input" if lesson_step.trains else ".unknown button"),
                       page.locator(".tile").first, page.locator(".tile").last)
        assert step.evaluate(OVER) <= 1 and main.evaluate(OVER) <= 1, place
        answer = {"say": "abcd"[lesson_step.question.right]} if lesson_step.question else {}
        go(page, **{**lesson_step.opens, **lesson_step.does}, **answer, lesson=place, teach="1", lang=lang)
        expect(step.locator(".task.done")).to_have_count(1, timeout=60_000)  # hidden in large type
        page.wait_for_timeout(300)
        wholly_visible(page, step.locator(".text"), step.locator(".because"), step.locator(".choice.right"),
                       step.locator(".forth"), page.locator(".answer .word"), *map(page.locator, [
                           ".time input", ".verdict"] if lesson_step.trains else [".things"]))
        shown = {"tool": ".view .title", "buttons": ".side .segment button"}
        for needs, selector in {} if lesson_step.trains else shown.items():
            expect(page.locator(selector).first).to_be_visible(visible=lesson_step.needs == needs)
            wholly_visible(page, *(page.locator(selector).all() if lesson_step.needs == needs else []))
        assert step.evaluate(OVER) <= 1 and main.evaluate(OVER) <= 1, place


@pytest.mark.parametrize("lang", LANGUAGES)
def test_on_a_phone_the_answer_is_beside_the_action(lang: str, visit: Callable[..., Page]):
    page = visit(wait=False, phone=True, lesson="gates.1", lang=lang)
    at(page, Place("gates", 1))
    expect(panel(page).locator(".task")).not_to_contain_text("−")  # no key is named
    slider = page.locator(".side .fader input")
    slider.scroll_into_view_if_needed()
    bar = page.locator(".phone-bar")
    wholly_visible(page, slider, bar)
    assert slider.bounding_box()["y"] + slider.bounding_box()["height"] <= bar.bounding_box()["y"]
    slider.fill("0")
    expect(bar).to_contain_text("toys")
    ticked(page)
    page = visit(wait=False, phone=True, lesson="gates.3", lang=lang)
    at(page, Place("gates", 3))
    expect(page.locator(".phone-bar bdi")).to_have_text("?")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator(".phone-bar .button").first.tap()
    expect(page.locator(".phone-bar bdi")).to_have_text("7")
