"""Event handlers for heads: the grid, the large map, and the pages Heads and Pruning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from app.state import session, visit
from app.state.lab_state import FINDS, FORMS, MEANS, SHADINGS, TERMS
from app.state.pages.answer_view import MOST_PLACES
from app.state.pages.heads_view import MEASURES, SOURCES, HeadsView, is_role
from app.state.pages.pruning_view import ALL, ORDERS
from app.state.pages.search import BOUNDS, WANTED, Search
from app.state.pages.selection import Selection, is_scope
from app.state.session import history, is_index, widget
from app.state.shared import fit, policies_of, views_of
from models.analysis.pruning_orders import Order, follows, left_of, pruned
from models.plan import MAX_BASE, MIN_BASE, Address, HeadPlan


def on_heads(event: dict[str, Any]) -> None:
    """Handles an event of the grid of heads: selection, gates, constant heads, scale, exports."""
    past = history()
    present = past.present
    if event.get("type") == "take":
        session.ask_for(event.get("what"), event.get("sequence"))
        return
    if event.get("type") == "scale":
        if event.get("policy") in [*policies_of(present.models)]:
            past.do(replace(present, plan=_scaled(present.plan, event)), merge="scale")
        return
    if event.get("type") == "find":
        if event.get("find") in [*FINDS]:
            past.do(replace(present, find=event["find"]), merge="viewing")
        return
    shape = present.shape
    layer, head, scope = (event.get(key) for key in ("layer", "head", "scope"))
    kind = event.get("kind", next(iter(shape)))
    if kind not in [*shape] or not (is_index(layer, shape[kind][0]) and is_index(head, shape[kind][1])) \
            or not is_scope(scope):
        return
    selection = Selection(layer, head, scope, kind).within(shape)
    if event.get("type") == "select":
        past.do(replace(present, selection=selection), merge="selecting")
    elif event.get("type") == "heads":
        gate, constant = event.get("gate"), event.get("constant")
        if (gate is None or _gate(gate)) and (constant is None or isinstance(constant, bool)):
            patch = "" if constant is False and gate == 1 else None  # resets the patch as well
            plan = present.plan.with_heads(selection.heads(shape), constant=constant, gate=gate, patch=patch)
            plan = fit(plan, present.models)[0]
            # All events of one slider drag are one undo step.
            past.do(replace(present, plan=plan), merge=f"gate {selection}" if event.get("drag") is not None else "")
            if event.get("drag") is False:
                past.settle()


def on_map(event: dict[str, Any]) -> None:
    """Handles a change of the large map: its view, form or colours, the heads whose mean tints the words, or a cell."""
    present, name = history().present, event.get("type")
    offered = {"view": views_of(present.models), "form": FORMS, "mean": MEANS, "shading": SHADINGS}
    if name == "cell" and is_index(event.get("row"), MOST_PLACES) and is_index(event.get("column"), MOST_PLACES):
        history().do(replace(present, section="why",
                             explanation=replace(present.explanation, query=event["row"], key=event["column"])))
    elif name in [*offered] and event.get(name) in offered[name]:
        history().do(replace(present, **{name: event[name]}), merge="viewing")


@session.exclusive
def set_heads(heads: Sequence[Address], change: Mapping[str, Any]) -> None:
    """Changes several heads in one undo step."""
    set_plan(history().present.plan.with_heads(heads, **change))


@session.exclusive
def set_plan(plan: HeadPlan, prediction: int | None = None) -> None:
    """Replaces the plan, for example by the result of a search; heads that none of the models has are removed."""
    present = history().present
    index = present.prediction if prediction is None else prediction
    history().do(replace(present, plan=fit(plan, present.models)[0], prediction=index))


@session.exclusive
def prune_alone(head: Address) -> None:
    """Prunes one head, selects it, and restores all other heads."""
    present, (kind, layer, index) = history().present, head
    history().do(replace(present, plan=HeadPlan().with_heads([head], gate=0.0),
                         selection=Selection(layer, index, "head", kind)))


@session.exclusive
def on_scatter(model: str, addresses: Sequence[Address]) -> None:
    """Handles a selection in the scatter plot: a click selects a head, a rectangle or a lasso picks several heads.

    A selection of another model than the present one is ignored.
    """
    if history().present.model != model:
        return
    indices, is_drawn = _selected(st.session_state.get(session.SCATTER), len(addresses))
    if len(indices) == 1 and not is_drawn:
        kind, layer, head = addresses[indices[0]]
        history().do(replace(history().present, selection=Selection(layer, head, "head", kind)), merge="selecting")
    elif indices or is_drawn:
        visit.current().picked = model, indices


def _selected(value: object, count: int) -> tuple[list[int], bool]:
    """Returns the indices of the heads in plotly's selection, and True if a rectangle or a lasso selected them."""
    selection = value.get("selection") if isinstance(value, Mapping) else None
    if not isinstance(selection, Mapping):
        return [], False
    points = selection.get("points")
    raw = [_index(point) for point in points if isinstance(point, Mapping)] if isinstance(points, list) else []
    indices = [index for index in dict.fromkeys(index for index in raw if isinstance(index, int)) if is_index(index,
                                                                                                              count)]
    return indices, bool(selection.get("box") or selection.get("lasso"))


def _index(point: Mapping[str, Any]) -> object:
    """Returns the index of the head that a point represents; None for the rings, which have no index."""
    index = point.get("customdata")
    return index[0] if isinstance(index, list) and index else index


@session.exclusive
def on_picked(addresses: Sequence[Address]) -> None:
    """Handles a change in the list of picked heads."""
    indices = [index for index in session.widget(session.PICKED, list, []) if is_index(index, len(addresses))]
    visit.current().picked = history().present.model, indices


def picked(addresses: Sequence[Address]) -> list[int]:
    """Returns the indices into `addresses` of the heads that are picked; none if they are of another model."""
    kept = visit.current().picked
    return [index for index in kept[1] if index < len(addresses)] if kept and kept[0] == history().present.model else []


@session.exclusive
def on_heads_view() -> None:
    """Handles a change of measures, source or role on the Heads page."""
    present, value_of = history().present, session.widget
    view = present.heads
    x, y = value_of(session.MEASURE_X, str, view.x), value_of(session.MEASURE_Y, str, view.y)
    source, role = value_of(session.MEASURED, str, view.source), value_of(session.ROLE, str, "")
    if x in MEASURES and y in MEASURES and source in SOURCES and is_role(role):
        history().do(replace(present, heads=HeadsView(x, y, source, role)), merge="viewing")


@session.exclusive
def on_search() -> None:
    """Handles a change of the settings of the search for minimal heads."""
    present, value_of = history().present, session.widget
    old = present.search
    wanted, bound = value_of(session.WANTED, str, ""), value_of(session.BOUND, float, old.bound)
    search = Search(wanted if wanted in WANTED else old.wanted, value_of(session.WHOLE, bool, old.whole),
                    bound if bound in BOUNDS else old.bound, value_of(session.CHANGE, bool, old.constant))
    history().do(replace(present, search=search), merge="viewing")


@session.exclusive
def on_order(orders: Mapping[str, Order], old_name: str) -> None:
    """Handles a change of the pruning order.

    If the plan prunes the first heads of the old order, it is replaced by a plan that prunes as many heads of the new
    order.
    """
    present, name = history().present, widget(session.ORDER, str, "")
    if name not in ORDERS or name not in orders:
        return
    old, plan = orders.get(old_name, ()), present.plan
    if old and follows(plan, old):
        plan = fit(pruned(plan, orders[name], left_of(plan, old)), present.models)[0]
    history().do(replace(present, plan=plan, pruning=replace(present.pruning, order=name)), merge="viewing")


@session.exclusive
def on_term() -> None:
    """Handles the choice of the disagreement term by which the Heads page compares heads."""
    if widget(session.TERM, str) in TERMS:
        history().do(replace(history().present, term=widget(session.TERM, str)), merge="viewing")


@session.exclusive
def on_scope() -> None:
    """Handles a change of the attention block whose heads are pruned."""
    present, scope = history().present, widget(session.SCOPE, str, "")
    if scope in (ALL, *present.shape):
        history().do(replace(present, pruning=replace(present.pruning, scope=scope)), merge="viewing")


def on_left(event: dict[str, Any], order: Order) -> None:
    """Handles a new number of remaining heads, from the slider or a click in the chart."""
    left = event.get("x")
    if event.get("type") != "at" or not is_index(left, len(order) + 1):
        return
    past = history()
    plan = fit(pruned(past.present.plan, order, left), past.present.models)[0]
    # one merge name, so that the steps of a drag, or repeated key presses, are one undo step
    past.do(replace(past.present, plan=plan), merge="pruning")
    if event.get("drag") is False:
        past.settle()


@session.exclusive
def prune_to(order: Order, left: int) -> None:
    """Prunes heads in the given order until `left` heads remain."""
    on_left({"type": "at", "x": left}, order)


def _gate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def _scaled(plan: HeadPlan, event: dict[str, Any]) -> HeadPlan:
    base = event.get("base")
    if event.get("policy") == "logn" and is_index(base, MAX_BASE + 1) and base >= MIN_BASE:
        return plan.with_scale("logn", base)
    return plan if event.get("policy") == "logn" else plan.with_scale(event["policy"])
