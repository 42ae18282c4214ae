"""Handles the events of the Lab's component; every value of an event is untrusted."""

import base64
from dataclasses import replace
from typing import Any

from app.lab import now, tools
from app.lab.tools import FIRST_TOOLS
from app.panels.page.text import read_picture
from app.state import visit, visitor_models
from app.state.fields import MAX_ASKED
from app.state.handlers import events as page_events
from app.state.handlers import head_events, lesson_events
from app.state.pages.answer_view import MOST_TOKENS, NONE
from app.state.pages.selection import address_of
from app.state.session import history, is_index


def on_lab(event: dict[str, Any]) -> None:
    """Changes the visitor's state by one event; an event with a wrong type or value changes nothing."""
    past = history()
    present = past.present
    match event.get("type"):
        case "text":
            page_events.on_text(event)
        case "model":
            page_events.on_chooser(event.get("name"))
        case "select":
            head_events.on_heads(event)
            _show(event)
        case "heads" | "scale":
            head_events.on_heads(event)
        case "thing" | "tool" | "pin" | "look" | "marks" | "set":
            _show(event)
        case "prediction" if is_index(event.get("index"), MAX_ASKED + 1):
            past.do(replace(present, prediction=event["index"]), merge="prediction")
        case "contribution" if event.get("token") == NONE or is_index(event.get("token"), MOST_TOKENS):
            past.do(replace(present, explanation=replace(present.explanation, token=event["token"])), merge="viewing")
        case "picture":
            _picture(event.get("data"))
        case "act":
            tools.act(event)
        case "notice":
            page_events.on_notice(event.get("name"))
        case "written":
            visit.current().asked = present
        case "source" | "pair" | "patch" | "choose":
            head_events.on_answer(event)
        case "prune":
            _prune(event.get("heads"), event.get("left"))
        case "step" | "answer" | "teach" | "leave":
            lesson_events.on_lesson(event)
        case "undo" | "redo" | "reset":
            page_events.on_toolbar(event)


def _picture(data: object) -> None:
    """Shows a picture file (base64; None: the example) to a vision model. A file that is no picture changes nothing."""
    past = history()
    model = past.present.model
    if data is None:
        visitor_models.set_picture(model, None)
    elif isinstance(data, str) and len(data) <= 2 * visitor_models.MOST_PICTURE:
        former = visitor_models.picture(model)
        try:
            visitor_models.set_picture(model, base64.b64decode(data, validate=True))
            read_picture(visitor_models.opened(model, past.present.chat))
        except now.ERRORS as error:
            visitor_models.set_picture(model, former)
            past.problems = [str(error)]


def _prune(heads: object, left: object) -> None:
    """Prunes heads in an order until `left` remain."""
    shape = history().present.shape
    if not isinstance(heads, list) or not is_index(left, len(heads) + 1):
        return
    order = []
    for head in heads:
        address = address_of(head[0], head[1], head[2], shape) if isinstance(head, list) and len(head) == 3 else None
        if address is None:
            return
        order.append(address)
    head_events.prune_to(tuple(order), left)


def _show(event: dict[str, Any]) -> None:
    present = history().present
    history().do(replace(present, lab=present.lab.after(event, FIRST_TOOLS)), merge="viewing")
