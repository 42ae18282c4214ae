"""Every step of every lesson, in both languages: what the Lab shows before the guess, after it, and after the task.

Every claim of the texts is measured. Numbers from model cards, studies, predictions and contributions are searched in
the Lab's payload before and after the task. Attention weights are read off the picture, and numbers from papers are not
on the page.
"""

import functools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from app import texts
from app.lab import page
from app.state import lessons, visit
from app.state.lab_state import SHOWN, TRAINING, LabState
from app.state.lessons import Place
from app.state.link import opened_by, read_query
from app.texts import LANGUAGES, catalogue
from app.training import page as training_page
from tests.app.lesson_facts import MEASURES, check
from tests.app.test_lessons import NUMBER, PLACES, after, words_of

MEASURED = ("study", "card", "probability", "contribution", "moved", "learned")
IN_LAB = [place for place in PLACES if not lessons.step_at(place).trains]
WORDS = 45  # largest number of words in the text of a step
QUOTED = re.compile(r"\*([^*]+)\*")


@functools.lru_cache(400)
def payload(state: LabState) -> dict[str, Any]:
    """Returns the header of the Lab, or of the page Training, for a visitor with this state only."""
    now = visit.Visit()
    with visit.use(now):
        texts.speak(state.language)
        now.history.do(state)
        (part,) = training_page.parts(state, []) if state.page == TRAINING else \
            page._parts(page.present_view(state), [])
    texts.speak(texts.ENGLISH)
    arrays = {name: values.tolist() for name, values in part.arrays.items() if name.startswith("tool.")}
    return part.header | {"arrays": arrays}


def in_language(words: str, language: str) -> str:
    return words if language == texts.ENGLISH else str(catalogue(language).get(words).string)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_step_hides_the_answer_until_the_guess_and_the_reason_until_the_task(place: Place, language: str):
    step, opened = lessons.step_at(place), replace(opened_by(place), language=language)
    shown = payload(opened)
    lesson = shown["lesson"]
    assert [lesson[name] for name in ("heading", "text", "task")] == [
        in_language(words, language) for words in (step.title, step.text, step.task)]
    assert not lesson["done"] and not shown["problems"]
    done = payload(replace(after(place), language=language))
    assert done["lesson"]["done"]
    if step.question is not None:
        assert lesson["question"]["right"] is None and lesson["question"]["because"] == ""
        assert done["lesson"]["question"]["right"] == step.question.right
        assert done["lesson"]["question"]["because"] == in_language(step.question.because, language)
    if step.trains:
        assert [moment["step"] for moment in shown["moments"]] == [0] and len(shown["curves"]) == 1
        assert len(shown["curves"][0]["curve"]) == 1 and not shown["may_train"]
        assert done["state"] == "recorded" and len(done["moments"]) > 50
        return
    assert shown["notice"] is None and done["answer"] is not None and not done["hidden"]
    assert "message" not in (done["tool"] or {}), done["tool"]
    if step.question is None:
        assert shown["answer"] is not None
        return
    assert shown["hidden"] and not any(shown[name] for name in ("answer", "contributions", "guesses"))
    assert shown["losses"] is None
    for answer in ("a", SHOWN):
        guessed = payload(replace(opened, answer=answer))
        assert guessed["answer"] is not None and not guessed["hidden"]


@pytest.mark.parametrize("place", IN_LAB, ids=str)
def test_before_the_guess_no_tool_shows_a_prediction(place: Place):
    """The task is done before the guess, with each tool that shows predictions."""
    step, state = lessons.step_at(place), after(place)
    if step.question is None:
        return
    for tool in [tool["key"] for tool in payload(state)["tools"] if tool["thing"] == "answer"] + [state.lab.tool]:
        asked = payload(replace(state, answer="", lab=replace(state.lab, tool=tool)))
        answered = payload(replace(state, lab=replace(state.lab, tool=tool)))
        assert asked["hidden"] and asked["answer"] is None
        if tool.startswith("answer.") or tool in ("head.carry", "word.swapw", "all.second"):
            assert set(asked["tool"]) == {"key", "message"}
        assert asked["written"] is None and (answered["written"] is None) == ("target" not in answered["tokens"])


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_step_has_few_words(place: Place):
    step = lessons.step_at(place)
    for words in (step.text, step.task, *([step.question.ask, step.question.because] if step.question else [])):
        assert len(words.split()) <= WORDS, words


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("place", IN_LAB, ids=str)
def test_a_tool_that_a_task_names_is_offered(place: Place, language: str):
    """A name that ends in a question mark is the question of a tool."""
    task = in_language(lessons.step_at(place).task, language)
    named = [name for name in QUOTED.findall(task) if name[-1] in "?？" and "=" not in name]
    offered = {tool["question"] for tool in payload(replace(after(place), language=language))["tools"]}
    assert set(named) <= offered
    assert named or not lessons.step_at(place).done.asks("tool")


def numbers(value: Any) -> Iterator[float]:
    """Yields all numbers in a payload."""
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, (int, float)):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(number) for number in re.findall(r"\d+\.\d+", value))
    elif isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from numbers(each)


def is_shown(number: str, values: list[float]) -> bool:
    """Returns whether a value rounds to a number such as `29.1%` or `2.87`."""
    digits = len(number.rstrip("%").partition(".")[2])
    if number.endswith("%"):
        return any(f"{value:.{digits}%}" == number or f"{value:.{digits}f}%" == number for value in values)
    return any(f"{value:.{digits}f}" == number for value in values)


CASES = [(place, fact) for place in PLACES for fact in lessons.step_at(place).facts
         if fact["measure"] in MEASURED and NUMBER.search(fact["says"]) and not (
             # a number that the step quotes of another model, to compare this one with
             fact["measure"] == "card" and fact["model"] != lessons.step_at(place).opens["model"])]


@pytest.mark.parametrize(("place", "fact"), CASES, ids=lambda its: str(its) if isinstance(its, Place) else its["says"])
def test_a_quoted_number_is_on_the_screen_of_its_step(place: Place, fact: dict):
    step = lessons.step_at(place)
    (number, *_) = NUMBER.findall(fact["says"])
    least = float(number.rstrip("%")) / 100 if "more than" in fact["says"] else None
    linked = read_query({"lesson": str(place), **step.opens, **step.does, **fact.get("with", {})})[0]
    answer = after(place).answer
    screens = [[*numbers([header.get(name) for name in ("answer", "tool", "arrays", "curves")])] for header in (
        payload(replace(state, answer=answer)) for state in (opened_by(place), after(place), linked))]
    shown = [any(least < value <= 1 for value in found) if least else is_shown(number.replace(" ", ""), found)
             for found in screens]
    assert any(shown), f"{place}: no screen shows {number}"


FACTS = [(place, fact) for place in PLACES for fact in lessons.step_at(place).facts]


@pytest.mark.parametrize(("place", "fact"), FACTS, ids=lambda its: str(its) if isinstance(its, Place) else its["says"])
def test_the_facts_of_a_lesson_are_true(place: Place, fact: dict):
    if fact["measure"] == "source":  # a number from the paper, not from the models of this project
        assert fact["paper"] in lessons.lesson(place.lesson).arxiv
        return
    wrong = check(lessons.step_at(place), fact)
    assert not wrong, f"lesson {place} {wrong}"


def test_a_false_fact_is_reported_and_all_measures_are_used():
    step = lessons.step_at(Place("gates", 3))
    fact = {**next(fact for fact in step.facts if fact["measure"] == "answer"), "is": "9"}
    assert "answer is '3', expected {'is': '9'}" in check(step, fact)
    used = {fact["measure"] for _, fact in FACTS} - {"source"}
    assert used == set(MEASURES)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_every_number_rests_on_a_fact(place: Place):
    """Of a question, only the right answer and its reason count: the other choices are wrong on purpose."""
    step = lessons.step_at(place)
    wrong = [choice for i, choice in enumerate(step.question.choices) if i != step.question.right] \
        if step.question else []
    texts = " ".join(words for words in words_of(step) if words not in wrong)
    facts = " ".join(fact["says"] for fact in step.facts)
    for number in NUMBER.findall(texts):
        assert number in facts, f"lesson {place}: {number} rests on no fact"


def test_numbers_are_found_and_looked_for_on_the_screen():
    assert NUMBER.findall("from 93.1% to 0.15, or 40%, of 7 words") == ["93.1%", "0.15", "40%"]
    assert re.fullmatch(NUMBER, "41.0%")
    assert is_shown("29.1%", [0.2911]) and not is_shown("29.1%", [0.295, 2.91])
    assert is_shown("2.87", [2.8651]) and not is_shown("2.87", [2.86])
