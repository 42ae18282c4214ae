"""Event handlers for heads: selection, gates, constant heads, scale, and an order of pruning."""

from dataclasses import replace
from typing import Any

from app.state.pages.selection import changed, scaled, selected
from app.state.session import history
from app.state.shared import fit, policies_of
from models.analysis.pruning_orders import Order, pruned
from models.plan import HeadPlan


def on_heads(event: dict[str, Any]) -> None:
    """Handles an event of heads: selection, gates, constant heads, scale."""
    past = history()
    present = past.present
    if event.get("type") == "scale":
        past.do(replace(present, plan=scaled(present.plan, event, policies_of(present.models))), merge="scale")
        return
    shape = present.shape
    selection = selected(event, shape)
    if selection is None:
        return
    if event.get("type") == "select":
        past.do(replace(present, selection=selection), merge="selecting")
    elif event.get("type") == "heads" and (plan := changed(present.plan, event, selection, shape)) is not None:
        # All events of one slider drag are one undo step.
        past.do(replace(present, plan=fit(plan, present.models)[0]),
                merge=f"gate {selection}" if event.get("drag") is not None else "")
        if event.get("drag") is False:
            past.settle()


def set_plan(plan: HeadPlan) -> None:
    """Replaces the plan, for example by the result of a search; heads that none of the models has are removed."""
    present = history().present
    history().do(replace(present, plan=fit(plan, present.models)[0]))


def prune_to(order: Order, left: int) -> None:
    """Prunes heads in the given order until `left` heads remain."""
    past = history()
    plan = fit(pruned(past.present.plan, order, left), past.present.models)[0]
    past.do(replace(past.present, plan=plan), merge="pruning")  # repeated key presses are one undo step
