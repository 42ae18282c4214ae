"""Converts a LabState to the query of an address and back.

    ?model=assignment-selective&text=x%3D1%3B+x%3D%3F&plan=self-0.3c&at=0.3&lab=layer.forget

The fields are the table FIELDS of app/state/fields.py; a field with its default value is omitted. A step of a lesson is
on the page `training` if it opens a training, else on the page `lab`. Three short addresses have a special meaning:
`lesson=constant.3`, alone or with a page, opens the initial state of this step; an empty query opens the start page of
a new visitor; `page=lab` alone opens the state after skipping the start page. The link of the default state names the
model instead. Parsing never fails: a field that cannot be parsed gets its default and a message for the visitor.
"""

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from app.state import old_links
from app.state.fields import FIELDS, MAX_LINK_TEXT
from app.state.lab_state import FIRST_PAGE, LAB, START, TRAINING, LabState, default_model, default_text, is_kept
from app.state.lessons import Place, step_at
from app.state.selection import Selection
from models import catalogue

# State after skipping the start page: the text contains the right prediction, and the selected head attends to it.
FIRST_LAB = {"page": FIRST_PAGE, "at": "2.4",
             "text": "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"}
# The first state of a new visitor; tests/app/test_pages.py checks the measurements for which it was chosen.
FIRST_VISIT = FIRST_LAB | {"page": START}
# family -> the head that is seen first: one that aligns, one that finds the value, one that reads the word before
FIRST_HEADS = {"translation": Selection(2, 4, kind="cross"), "assignment": Selection(1, 1), "masked": Selection(1, 2)}


def returning(present: LabState, last: LabState | None, model: str) -> LabState:
    """Returns the state after a change of the model.

    Within a family, this is `present` with the new model. Otherwise it is `last`, the last state of the new model's
    family, with those fields of `present` that do not depend on the model; on a first visit, a head of FIRST_HEADS.
    """
    if catalogue.same_family(present.model, model):
        return present.with_model(model)
    if last is None:
        state = present.with_model(model)
        first = FIRST_HEADS.get(catalogue.find(model).task.name, state.selection)
        return replace(state, selection=first.within(state.shape))
    seen = {field.attribute: getattr(present, field.attribute) for field in FIELDS if is_kept(field.attribute)}
    return replace(last, **seen).with_model(model)


def query_of(state: LabState, read_chars: int = MAX_LINK_TEXT) -> str:
    """Returns a state's query without `?`, empty for the start; a long text is cut after `read_chars` characters."""
    default = LabState(state.model)
    default = replace(default, selection=Selection.default(state.plan, default.shape), model=default_model())
    if len(state.text) > MAX_LINK_TEXT:
        state = replace(state, text=whole_brackets(state.text[:min(read_chars, MAX_LINK_TEXT)], state.text))
    fields = {field: text for field in FIELDS if (text := field.format(getattr(state, field.attribute)))
              != field.format(getattr(default, field.attribute))}
    if state.lesson is not None:  # the step has its own page
        fields = {field: text for field, text in fields.items() if field.attribute != "page"}
    if settled(state, opened_by(state.lesson)) == state:
        fields = {field: text for field, text in fields.items() if field.is_setting}
    # a query of presentation settings alone would open another state, so it also names the model
    elif all(field.is_setting for field in fields):
        fields = {field: state.model for field in FIELDS if field.key == "model"} | fields
    # UTF-8 cannot encode a lone surrogate; the link contains a question mark instead.
    return _linked(urlencode({field.key: text for field, text in fields.items()}, errors="replace"))


def _linked(query: str) -> str:
    """Returns the query, encoded so that programs which detect links in a text do not cut it.

    The query ends in a letter or a digit. It has no sign that formats text in chats (_ * ~), and no two full stops or
    hyphens in a row.
    """
    query = re.sub(r"\+$", "%20", query)
    query = re.sub(r"[_*~]|(?<=[-.])[-.]|[-.]$", lambda sign: f"%{ord(sign[0]):02X}", query)
    return f"{query}&teach=0" if query.endswith("=") else query  # a default value, after an empty text


def opened_by(place: Place | None) -> LabState:
    """Returns the initial state of a lesson's step (None: the start page), the default if its model is unreadable."""
    return _opened(place, tuple(catalogue.names()))


@functools.lru_cache(64)
def _opened(place: Place | None, models: tuple[str, ...]) -> LabState:
    state, problems = _read(FIRST_VISIT if place is None else {"lesson": str(place), **step_at(place).opens})
    return LabState(lesson=place) if problems else state


def first_lab() -> LabState:
    """Returns the state after skipping the start page."""
    return _read(FIRST_LAB)[0]


def lab_of(state: LabState) -> LabState:
    """Returns the state of the header's links: the Lab with the start page's plan, or a step without its lesson."""
    if state.page == START:
        return settled(state, replace(opened_by(None), page=LAB, plan=state.plan))
    return replace(state, lesson=None, answer="")


def settled(state: LabState, other: LabState) -> LabState:
    """Returns `other` with the presentation settings of `state`: language, lesson, answer and classroom display."""
    return replace(other, **{field.attribute: getattr(state, field.attribute) for field in FIELDS if field.is_setting})


def whole_brackets(cut_text: str, text: str) -> str:
    """Returns `cut_text` without an unclosed [bracket at its end, which would reveal a hidden word."""
    opened = cut_text.rfind("[")
    if len(cut_text) < len(text) and opened > cut_text.rfind("]"):
        return cut_text[:opened]
    return cut_text


def read_query(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """Returns the state of a link, and a message for each part that could not be parsed."""
    # `&amp;` of a copied HTML source is read as `&`
    params = {key.removeprefix("amp;"): text for key, text in params.items()}
    params, unread = old_links.translated(params)
    state, problems = _read(params)
    named = {field.attribute: params[field.key] for field in FIELDS if not field.is_setting and field.key in params}
    if not named or (named.keys() == {"page"} and state.lesson is not None):
        state = settled(state, opened_by(state.lesson))
    elif named == {"page": FIRST_PAGE}:
        state = settled(state, first_lab())
    return state, unread + problems


def _read(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """Returns the state with these fields and defaults for all others, and a message per field that is not valid."""
    state = LabState()
    problems: list[str] = []
    for field in FIELDS:
        if field.attribute == "text":  # the default text depends on the model, which the previous field sets
            state = replace(state, text=default_text(state.model))
        if field.key in params:
            value, messages = field.parse(params[field.key], state)
            state, problems = replace(state, **{field.attribute: value}), problems + messages
        elif field.attribute == "selection":
            state = replace(state, selection=Selection.default(state.plan, state.shape))
    if state.lesson is not None:
        state = replace(state, page=TRAINING if step_at(state.lesson).trains else LAB)
    return state, problems
