"""Event handlers for heads: selection, gates, constant heads, scale, and an order of pruning."""

from dataclasses import replace
from typing import Any

from app.state import session
from app.state.pages.selection import Selection, is_scope
from app.state.session import history, is_index
from app.state.shared import fit, policies_of
from models.analysis.pruning_orders import Order, pruned
from models.plan import MAX_BASE, MIN_BASE, HeadPlan


def on_heads(event: dict[str, Any]) -> None:
    """Handles an event of heads: selection, gates, constant heads, scale."""
    past = history()
    present = past.present
    if event.get("type") == "scale":
        if event.get("policy") in [*policies_of(present.models)]:
            past.do(replace(present, plan=_scaled(present.plan, event)), merge="scale")
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


@session.exclusive
def set_plan(plan: HeadPlan, prediction: int | None = None) -> None:
    """Replaces the plan, for example by the result of a search; heads that none of the models has are removed."""
    present = history().present
    index = present.prediction if prediction is None else prediction
    history().do(replace(present, plan=fit(plan, present.models)[0], prediction=index))


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
