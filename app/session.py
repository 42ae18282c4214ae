"""The visitor's History in Streamlit's session: the one place that knows session keys.

What the browser sends is checked here: widgets and events can hold anything.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from app import serving
from app.state import (
    CLAIMS,
    LAST,
    MAX_COMPARED,
    MAX_TEXT,
    SCOPES,
    SECTIONS,
    History,
    LabState,
    Selection,
    family_of,
    fit,
    policies_of,
    read_query,
    size_of,
    views_of,
)
from models.heads import MAX_BASE, MIN_BASE, HeadPlan
from models.recipes import RECIPES, task_of

# Keys of Streamlit's widgets.
TEXT, MODEL, EXAMPLE, COMPARED, LENGTH, HIDDEN, MEMORY, SECTION, CLAIM = (
    "text", "model", "example", "compared", "length", "hidden", "memory", "section", "claim")
HISTORY, _ADDRESSES, _DRAWN = "history", "addresses", "library drawn"
MAX_ADDRESSES = 300  # that a session remembers as its own
MAX_PREDICTIONS = 1000
MAX_LENGTH = 9999


def history() -> History:
    """This visitor's history."""
    return st.session_state.setdefault(HISTORY, History())


def once(draw: Callable[[], None]) -> None:
    """Draws something that the browser keeps until the visitor leaves."""
    if not st.session_state.get(_DRAWN):
        draw()
    st.session_state[_DRAWN] = True


def follow_address() -> None:
    """Opens the address's state on a visit's first run, after back and forward, and for a link that is new here.

    Every other run trusts the session: while a visitor types fast, the browser's address lags behind, and what
    it sends is an older address of this same session.
    """
    params = st.query_params.to_dict()
    asked = _canonical(params)
    known: OrderedDict[str, LabState] = st.session_state.setdefault(_ADDRESSES, OrderedDict())
    first = HISTORY not in st.session_state
    if first or serving.went_back_or_forward() or asked not in known:
        # A state of this session comes back whole: its text may be longer than what its address holds.
        state, problems = (known[asked], []) if asked in known else read_query(params)
        history().open(state, problems)
        if first:
            history().past.clear()  # a link's first state is where undo ends
        _remember(asked)


def remember_address(query: str) -> None:
    """Notes the present state's address, its query string, as one of this session's own."""
    _remember(_canonical(dict(parse_qsl(query, keep_blank_values=True))))


def _remember(address: str) -> None:
    known = st.session_state[_ADDRESSES]
    known[address] = history().present
    known.move_to_end(address)
    while len(known) > MAX_ADDRESSES or sum(len(state.text) for state in known.values()) > 5 * MAX_TEXT:
        known.popitem(last=False)


def _canonical(params: dict[str, str]) -> str:
    text = repr(sorted(params.items()))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


def fill_widgets() -> None:
    """Shows the present state in Streamlit's own widgets; call before they are made."""
    st.session_state[TEXT] = history().present.text
    st.session_state[MODEL] = history().present.model
    st.session_state[EXAMPLE] = None
    st.session_state[COMPARED] = list(history().present.compared)


def on_text() -> None:
    text = st.session_state[TEXT] or ""
    set_text(text, merge="typing")
    if len(text) > MAX_TEXT:
        history().problems = [f"The text has {len(text):,} characters; the first {MAX_TEXT:,} were kept."]


def set_text(text: str, merge: str = "") -> None:
    """Another text; `merge` as in History.do."""
    history().do(replace(history().present, text=text[:MAX_TEXT], asked=LAST), merge)


def on_model() -> None:
    if st.session_state[MODEL] in RECIPES:
        history().do(history().present.with_model(st.session_state[MODEL]))


def on_example() -> None:
    text = st.session_state[EXAMPLE]
    if text in (example for _, example in task_of(history().present.model).examples):
        set_text(text)


def on_compared() -> None:
    present = history().present
    chosen = [name for name in st.session_state[COMPARED] or () if name in family_of(present.model)]
    history().do(replace(present, compared=tuple(chosen[:MAX_COMPARED])).with_model(present.model))


def on_length() -> None:
    length = st.session_state[LENGTH]
    if _index(length, MAX_LENGTH + 1):
        history().do(replace(history().present, length=length), merge="length")


def on_section() -> None:
    section = st.session_state[SECTION] or ""
    if section in ("", *SECTIONS):
        history().do(replace(history().present, section=section), merge="viewing")


def on_claim() -> None:
    if st.session_state[CLAIM] in CLAIMS:
        history().do(replace(history().present, claim=st.session_state[CLAIM]), merge="viewing")


def set_budgets(budgets: tuple[int, ...]) -> None:
    """Another memory to write with; none for all of it."""
    history().do(replace(history().present, budgets=budgets))


def on_toolbar(event: dict[str, Any]) -> None:
    past = history()
    match event.get("type"):
        case "undo":
            past.undo()
        case "redo":
            past.redo()
        case "reset":  # the heads come back; the text stays, and what the pages show
            past.do(replace(past.present, plan=HeadPlan(), selection=Selection(), view="used", asked=LAST, budgets=()))


def on_heads(event: dict[str, Any]) -> None:
    """A click or a key on the grid."""
    past = history()
    present = past.present
    layers, heads = size_of(present.models)
    if event.get("type") == "scale":
        if event.get("policy") in [*policies_of(present.models)]:  # a list has `in` for what has no hash, too
            past.do(replace(present, plan=_scaled(present.plan, event)), merge="scale")
        return
    layer, head, scope = (event.get(key) for key in ("layer", "head", "scope"))
    if not (_index(layer, layers) and _index(head, heads) and scope in SCOPES):
        return
    selection = Selection(layer, head, scope)
    if event.get("type") == "select":
        past.do(replace(present, selection=selection), merge="selecting")
    elif event.get("type") == "heads":
        gate, constant = event.get("gate"), event.get("constant")
        if (gate is None or _gate(gate)) and (constant is None or isinstance(constant, bool)):
            plan = present.plan.with_heads(selection.heads(layers, heads), constant=constant, gate=gate)
            plan = fit(plan, *present.models)[0]
            # All steps of one drag of the slider are one step of undo.
            past.do(replace(present, plan=plan), merge=f"gate {selection}" if event.get("drag") is not None else "")
            if event.get("drag") is False:
                past.settle()


def on_map(event: dict[str, Any]) -> None:
    """Another matrix of the selected head."""
    present = history().present
    if event.get("type") == "view" and event.get("view") in views_of(*present.models):
        history().do(replace(present, view=event["view"]), merge="viewing")


def on_effect(event: dict[str, Any]) -> None:
    """Another of the text's predictions."""
    if event.get("type") == "prediction" and _index(event.get("index"), MAX_PREDICTIONS):
        history().do(replace(history().present, asked=event["index"]), merge="asking")


def _index(value: object, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def _gate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _scaled(plan: HeadPlan, event: dict[str, Any]) -> HeadPlan:
    base = event.get("base")
    if event.get("policy") == "logn" and _index(base, MAX_BASE + 1) and base >= MIN_BASE:
        return plan.with_scale("logn", base)
    return plan if event.get("policy") == "logn" else plan.with_scale(event["policy"])
