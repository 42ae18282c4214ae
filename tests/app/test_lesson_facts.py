"""Measures every claim of the lessons; a test that fails quotes the lesson's words."""

import re

import pytest

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import Place
from tests.app.lesson_facts import MEASURES, check
from tests.app.test_lessons import NUMBER, PLACES, words_of

FACTS = [(place, fact) for place in PLACES for fact in lesson_files.step_at(place).facts]


@pytest.mark.parametrize(("place", "fact"), FACTS, ids=lambda its: str(its) if isinstance(its, Place) else its["says"])
def test_the_facts_of_a_lesson_are_true(place: Place, fact: dict):
    if fact["measure"] == "source":  # a number from the paper, not from the models of this project
        assert fact["paper"] in lesson_files.lesson(place.lesson).arxiv
        return
    wrong = check(lesson_files.step_at(place), fact)
    assert not wrong, f"lesson {place} {wrong}"


def test_a_false_fact_is_reported():
    step = lesson_files.step_at(Place("gates", 3))
    fact = {**next(fact for fact in step.facts if fact["measure"] == "answer"), "is": "9"}
    assert "answer is '3', expected {'is': '9'}" in check(step, fact)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_every_number_rests_on_a_fact(place: Place):
    """Every percentage and decimal number in the text of a step is part of a measured fact. In a question only the
    right answer and its reason are checked, because the other choices are intentionally wrong."""
    step = lesson_files.step_at(place)
    wrong = [choice for i, choice in enumerate(step.question.choices) if i != step.question.right] \
        if step.question else []
    texts = " ".join(words for words in words_of(step) if words not in wrong)
    facts = " ".join(fact["says"] for fact in step.facts)
    for number in NUMBER.findall(texts):
        assert number in facts, f"lesson {place}: {number} rests on no fact"


def test_all_measures_are_used_and_known():
    used = {fact["measure"] for _, fact in FACTS} - {"source"}
    assert used == set(MEASURES)


def test_the_numbers_regular_expression_finds_them():
    assert NUMBER.findall("from 93.1% to 0.15, or 40%, of 7 words") == ["93.1%", "0.15", "40%"]
    assert re.fullmatch(NUMBER, "41.0%")
