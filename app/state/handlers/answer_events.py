"""Event handlers of the tools that explain the model's prediction: choice of tokens, second prompt, patches."""

from dataclasses import replace
from typing import Any

from app.state.fields import MAX_LINK_TEXT
from app.state.pages.answer_view import MEASURES, MOST_TOKENS, NONE
from app.state.pages.selection import address_of
from app.state.session import history, is_index
from app.state.shared import fit
from models.plan import OUTPUT, PATTERN


def on_answer(event: dict[str, Any]) -> None:
    """Handles an event of a tool that explains the prediction."""
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
