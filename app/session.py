"""The visitor's History in Streamlit's session: the one place that knows session keys."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl

import streamlit as st

from app import serving
from app.state import History, LabState, Selection, example_text
from models.heads import HeadPlan
from models.lab import Lab

TEXT, MODEL, EXAMPLE = "text", "model", "example"  # keys of Streamlit's widgets
_HISTORY, _ADDRESSES = "history", "addresses"
MAX_ADDRESSES = 300  # that a session remembers as its own


def history() -> History:
    """This visitor's history."""
    return st.session_state.setdefault(_HISTORY, History())


def follow_address() -> None:
    """Opens the address's state on a visit's first run, after back and forward, and for a link that is new here.

    Every other run trusts the session: while a visitor types fast, the browser's address lags behind, and what
    it sends is an older address of this same session.
    """
    asked = _canonical(st.query_params.to_dict())
    known = st.session_state.setdefault(_ADDRESSES, OrderedDict())
    first = _HISTORY not in st.session_state
    if first or serving.went_back_or_forward() or asked not in known:
        history().open(st.query_params)
        if first:
            history().past.clear()  # a link's first state is where undo ends
    remember_address(asked)


def remember_address(query: str | None = None) -> None:
    """Notes an address as one of this session's own; without one, the present state's."""
    known = st.session_state[_ADDRESSES]
    if query is None:
        query = _canonical(dict(parse_qsl(history().present.query(), keep_blank_values=True)))
    known[query] = None
    known.move_to_end(query)
    while len(known) > MAX_ADDRESSES:
        known.popitem(last=False)


def _canonical(params: dict[str, str]) -> str:
    text = repr(sorted(params.items()))
    return hashlib.sha256(text.encode("utf-8", errors="replace")).hexdigest()[:16]


def fill_widgets() -> None:
    """Shows the present state in Streamlit's own widgets; call before they are made."""
    st.session_state[TEXT] = history().present.text
    st.session_state[MODEL] = history().present.model
    st.session_state[EXAMPLE] = None


def on_text() -> None:
    history().do(replace(history().present, text=st.session_state[TEXT]), merge="typing")


def on_model() -> None:
    history().do(history().present.with_model(st.session_state[MODEL]))


def on_example() -> None:
    if st.session_state[EXAMPLE] is not None:
        history().do(replace(history().present, text=st.session_state[EXAMPLE]))


def on_toolbar(event: dict[str, Any]) -> None:
    past = history()
    match event.get("type"):
        case "undo":
            past.undo()
        case "redo":
            past.redo()
        case "reset":
            model = past.present.model
            past.do(LabState(model=model, text=example_text(model)))


def on_heads(event: dict[str, Any], lab: Lab) -> None:
    """A click or a key on the grid, from the browser: nothing in it is trusted."""
    past, (layers, heads) = history(), lab.shape["self"]
    present = past.present
    if event.get("type") == "scale":
        past.do(replace(present, plan=_scaled(present.plan, event)), merge="scale")
        return
    layer, head, scope = (event.get(key) for key in ("layer", "head", "scope"))
    if not (_index(layer, layers) and _index(head, heads) and scope in ("head", "row", "column", "all")):
        return
    selection = Selection(layer, head, scope)
    if event.get("type") == "select":
        past.do(replace(present, selection=selection), merge="selecting")
    elif event.get("type") == "heads":
        gate, constant = event.get("gate"), event.get("constant")
        if (gate is None or _gate(gate)) and constant in (None, True, False):
            plan = present.plan.with_heads(selection.heads(layers, heads), constant=constant, gate=gate)
            # All steps of one drag of the slider are one step of undo.
            past.do(replace(present, plan=plan), merge=f"gate {selection}" if event.get("drag") is not None else "")
            if event.get("drag") is False:
                past.settle()


def on_map(event: dict[str, Any]) -> None:
    if event.get("type") == "view" and event.get("view") in ("used", "live", "constant", "difference", "mask"):
        history().do(replace(history().present, view=event["view"]), merge="viewing")


def _index(value: object, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def _gate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _scaled(plan: HeadPlan, event: dict[str, Any]) -> HeadPlan:
    base = event.get("base")
    if event.get("policy") == "logn" and isinstance(base, int) and 2 <= base <= 9999:
        return plan.with_scale("logn", base)
    return plan.with_scale("trained") if event.get("policy") == "trained" else plan
