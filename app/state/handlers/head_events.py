"""Event handlers for heads (selection, gates, constant heads, scale, an order of pruning) and for explaining tools."""

from dataclasses import replace
from typing import Any

from app.state.fields import MAX_LINK_TEXT
from app.state.pages.answer_view import MEASURES, MOST_TOKENS, NONE
from app.state.pages.selection import address_of, changed, scaled, selected
from app.state.session import history, is_index
from app.state.shared import fit, policies_of
from models.analysis.pruning_orders import Order, pruned
from models.plan import OUTPUT, PATTERN, HeadPlan


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


def on_answer(event: dict[str, Any]) -> None:
    """Handles an event of a tool that explains the prediction: choice of tokens, second prompt, patches."""
    past = history()
    present = past.present
    match event.get("type"):
        case "patch":
            address = address_of(event.get("kind"), event.get("layer"), event.get("head"), present.shape)
            if address is not None:
                what = present.explanation.what if event.get("on") is True else ""
                past.do(replace(present, plan=fit(present.plan.patch(*address, what), present.models)[0]))
        case "choose" if event.get("name") in ("token", "against"):
            token = event.get("value")
            if token == NONE or is_index(token, MOST_TOKENS):
                change: dict[str, Any] = {event["name"]: token}
                past.do(replace(present, explanation=replace(present.explanation, **change)), merge="viewing")
        case "choose" if event.get("name") == "measure" and event.get("value") in [*MEASURES.values()]:
            past.do(replace(present, explanation=replace(present.explanation, measure=event["value"])), merge="viewing")
        case "choose" if event.get("name") == "what" and event.get("value") in (OUTPUT, PATTERN):
            heads = [address for address, state in present.plan.heads.items() if state.patch]
            past.do(replace(present, explanation=replace(present.explanation, what=event["value"]),
                            plan=present.plan.with_heads(heads, patch=event["value"])), merge="viewing")
        case "source" if isinstance(event.get("text"), str):
            past.do(replace(present, source=event["text"][:MAX_LINK_TEXT]), merge="second prompt")
        case "pair" if isinstance(event.get("text"), str) and isinstance(event.get("source"), str):
            past.do(replace(present, text=event["text"][:MAX_LINK_TEXT], source=event["source"][:MAX_LINK_TEXT],
                            plan=present.plan.without_patches()))
