"""The link: a LabState as an address, and back.

    ?page=compare&model=assignment-selective&text=x%3D1%3B+x%3D%3F&plan=self-0.3c&at=0.3&view=mask

Its fields are the table of app/state/fields.py; what has its default value is left out. Two addresses are shorter than
their states: `lesson=constant.3` alone is that step as it opens, and nothing at all is a first visit. Reading never
fails: what cannot be read becomes a sentence for the visitor, and the rest opens.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import urlencode

from app.state.fields import FIELDS, MAX_LINK_TEXT
from app.state.lab_state import FIRST_PAGE, START, LabState, default_model, unsaid_text
from app.state.lessons.lesson_files import Place, step_at
from models import catalogue

# What a first visit opens: chosen by measurement, see tests/app/test_opening.py.
FIRST_VISIT = {"page": START, "model": "assignment-selective", "text": "x=1; x=7; y=3; x=?"}
# What who skips it finds in the lab: the answer stands in the text, and the head looks there.
FIRST_LAB = {"page": FIRST_PAGE, "at": "2.4",
             "text": "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"}


def returning(present: LabState, there: LabState | None, model: str) -> LabState:
    """`present` on another model, whose family was left in the state `there`: the experiment that was left, seen as
    things are seen now. None: nobody has been in that family yet."""
    if there is None or catalogue.same_family(present.model, model):
        return present.with_model(model)
    seen = {field.attribute: getattr(present, field.attribute) for field in FIELDS if field.is_kept}
    return replace(there, **seen).with_model(model)


def query_of(state: LabState, read_chars: int = MAX_LINK_TEXT) -> str:
    """The link's query string, without `?`; the empty string for the default state.

    Args:
        read_chars: how much of a text over MAX_LINK_TEXT the model reads: that much stands in the link.
    """
    default = LabState(state.model)
    default = replace(default, selection=default.selection.within(default.shape), model=default_model())
    if len(state.text) > MAX_LINK_TEXT:
        state = replace(state, text=whole_brackets(state.text[:min(read_chars, MAX_LINK_TEXT)], state.text))
    said = {field: field.format(getattr(state, field.attribute)) for field in FIELDS
            if getattr(state, field.attribute) != getattr(default, field.attribute)}
    if settled(state, opened_by(state.lesson)) == state:
        said = {field: text for field, text in said.items() if field.is_setting}
    elif all(field.is_setting for field in said):  # what would be too short to tell is said in full
        said = {FIELDS[0]: FIRST_PAGE} | said
    # A lone surrogate cannot be written as UTF-8; the link holds a question mark in its place.
    return urlencode({field.key: text for field, text in said.items()}, errors="replace")


def opened_by(place: Place | None) -> LabState:
    """The state that a lesson's step opens; of no lesson, the one of a first visit."""
    return _opened(place, tuple(catalogue.names()))


@functools.lru_cache(64)
def _opened(place: Place | None, models: tuple[str, ...]) -> LabState:
    state, problems = _read(FIRST_VISIT if place is None else step_at(place).opens)
    return replace(LabState() if problems else state, lesson=place)


def first_lab() -> LabState:
    """What somebody finds in the lab who skips the first visit."""
    return _read(FIRST_LAB)[0]


def lab_of(state: LabState) -> LabState:
    """Where the header's links lead: from a first visit's experiment to its text in a lab that nothing was done to."""
    return settled(state, replace(opened_by(None), page=FIRST_PAGE)) if state.page == START else state


def settled(state: LabState, other: LabState) -> LabState:
    """`other`, shown as `state` is: in its language, at its step of a lesson, in large type or not."""
    return replace(other, **{field.attribute: getattr(state, field.attribute) for field in FIELDS if field.is_setting})


def whole_brackets(cut_text: str, text: str) -> str:
    """A beginning of `text` that does not end inside [brackets]: half a pair would show what was hidden."""
    opened = cut_text.rfind("[")
    if len(cut_text) < len(text) and opened > cut_text.rfind("]"):
        return cut_text[:opened]
    return cut_text


def read_query(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """The state that a link describes, and a sentence for each part of it that could not be read."""
    state, problems = _read(params)
    if any(field.key in params for field in FIELDS if not field.is_setting):
        return state, problems
    return settled(state, opened_by(state.lesson)), problems


def _read(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """The state whose fields these are."""
    state = LabState()
    problems: list[str] = []
    for field in FIELDS:
        if field.attribute == "text":  # of the model that was just read
            state = replace(state, text=unsaid_text(state.model))
        if field.key in params:
            value, said = field.parse(params[field.key], state)
            state, problems = replace(state, **{field.attribute: value}), problems + said
        elif field.attribute == "selection":
            state = replace(state, selection=state.selection.within(state.shape))
    return state, problems
