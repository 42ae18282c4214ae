"""A number that a lesson step quotes is visible on the page that the step opens.

pytest tests/app/test_lesson_screens.py

Numbers from model cards, studies, predictions and bars of heads are searched in the texts and payloads of the page,
before and after the task is done. Attention weights are read off the map, and numbers from papers are not on the page.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl

import pytest

from app.state.lessons import lesson_files
from app.state.lessons.lesson_files import Place
from app.state.link import query_of
from app.texts import LANGUAGES, catalogue
from tests.app.test_lessons import NUMBER, PLACES, after
from tests.app.test_pages import all_sent, opened

SHOWN = ("study", "card", "probability", "contribution", "moved")
# language -> the label that a task quotes, for example: choose *random* under *Compare softmax with*
UNDER = {"en": re.compile(r"under \*([^*]+)\*"), "zh": re.compile(r"在 \*([^*]+)\* 下")}
QUOTING = [place for place in PLACES if UNDER["en"].search(lesson_files.step_at(place).task)]
COMPONENTS = ("effect", "comparison", "figure", "written", "contributions")


@functools.cache
def screen(fields: tuple[tuple[str, str], ...]) -> tuple[str, tuple[float, ...]]:
    """Returns the visible texts of a page and the numbers in the payloads of its components."""
    app = opened(**dict(fields))
    assert not app.exception
    texts = [its.value for group in (app.markdown, app.caption, app.info) for its in group]
    texts += [str(table.value.to_dict()) for table in app.table]
    headers = [header for name in COMPONENTS for header, _ in all_sent(app, name)]
    texts = [re.sub("[\\\\\u2060]", "", text) for text in texts]  # removes escapes of Markdown
    return "\n".join([*texts, *(str(header) for header in headers)]), tuple(number for header in headers
                                                                             for number in numbers(header))


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


def is_shown(number: str, text: str, values: tuple[float, ...]) -> bool:
    """Returns whether a page displays a number such as `29.1%` or `2.87`.

    The number is displayed if it is in the text, or if a value rounds to it.
    """
    if number in text:
        return True
    digits = len(number.rstrip("%").partition(".")[2])
    if number.endswith("%"):
        return any(f"{value:.{digits}%}" == number or f"{value:.{digits}f}%" == number for value in values)
    return any(f"{value:.{digits}f}" == number for value in values)


CASES = [(place, fact) for place in PLACES for fact in lesson_files.step_at(place).facts
         if fact["measure"] in SHOWN and NUMBER.search(fact["says"])]


@pytest.mark.parametrize(("place", "fact"), CASES, ids=lambda its: str(its) if isinstance(its, Place) else its["says"])
def test_a_quoted_number_is_on_the_screen_of_its_step(place: Place, fact: dict):
    step = lesson_files.step_at(place)
    (number, *_) = NUMBER.findall(fact["says"])
    least = float(number.rstrip("%")) / 100 if "more than" in fact["says"] else None
    links = [step.opens, {**step.opens, **step.does}, {**step.opens, **fact.get("with", {})}]
    screens = [screen(tuple(sorted({"page": "explore", **link, "lesson": str(place)}.items()))) for link in links]
    shown = [any(least < value <= 1 for value in found[1]) if least else is_shown(number.replace(" ", ""), *found)
             for found in screens]
    assert any(shown), f"{place}: no screen shows {number}"


def test_a_number_that_no_screen_shows_is_noticed():
    assert is_shown("29.1%", "", (0.2911,)) and not is_shown("29.1%", "", (0.295, 2.91))
    assert is_shown("2.87", "", (2.8651,)) and not is_shown("2.87", "about 2.9", (2.86,))


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("place", QUOTING, ids=str)
def test_a_label_that_a_task_quotes_is_on_the_page(place: Place, lang: str):
    """The quotation is the beginning of the label; `…` stands for words that it leaves out."""
    task = lesson_files.step_at(place).task
    match = UNDER[lang].search(task if lang == "en" else str(catalogue(lang).get(task).string))
    assert match
    app = opened(**dict(parse_qsl(query_of(after(place)))), lang=lang)
    labels = [re.sub("[\\\\\u2060]", "", its.label) for its in app.get("button_group")]
    quoted = re.compile(".+".join(map(re.escape, match[1].split("…"))))
    assert any(quoted.match(label) for label in labels), (match[1], labels)


def test_tasks_quote_labels():
    assert QUOTING
