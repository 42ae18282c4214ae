"""The table of our models on the page Models: ways to attend by tasks, a dot a model; a press opens the Lab."""

from typing import Any

from app.panels.choice import card, choosing
from app.state import session, visit
from app.state.handlers import events
from app.state.lab_state import LAB
from app.texts import _
from models import catalogue
from models.info import ModelInfo
from models.storage.checkpoint import CheckpointError
from models.tasks import TASKS

MOST_TYPED = 4096  # characters of a name or of a folder's path


def table() -> dict[str, Any]:
    """Returns the content of the table for the component: tasks, rows, present."""
    known = choosing.entries(catalogue.names())
    tasks = [name for name in dict.fromkeys((*choosing.FIRST_TASKS, *TASKS))
             if any(entry.task.name == name for entry in known)]
    titles = {entry.task.name: _(entry.task.title) for entry in known}
    return {"tasks": [titles[task] for task in tasks], "rows": _rows(known, tasks),
            "present": session.history().present.model}


def _rows(known: list[ModelInfo], tasks: list[str]) -> list[dict[str, Any]]:
    """Returns a row per attention type, in the order of the catalogue but softmax first."""
    types: dict[str, list[ModelInfo]] = {"Softmax": []}
    for entry in sorted(known, key=lambda entry: bool(entry.base)):
        types.setdefault(entry.attention.title, []).append(entry)
    return [{"title": _(title), "line": _(members[0].line),
             "cells": [[{"name": entry.name, "title": choosing.name_of(entry), "label": _(entry.label),
                         "score": _score(entry.name)}
                        for entry in members if entry.task.name == task] for task in tasks]}
            for title, members in types.items() if members]


def _score(name: str) -> str:
    try:
        return _(card.headline(card.card_of(name)))
    except CheckpointError:
        return ""


def on_models(event: dict[str, Any]) -> None:
    """Opens a model of the table in the Lab; the next run of the script handles the other events of the page."""
    match event.get("type"):
        case "model" if event.get("model") in catalogue.names():
            session.history().go_to_model(event["model"])
            events.go_to(LAB)
        case "find" if isinstance(event.get("text"), str):
            visit.current().request = {"type": "find", "text": event["text"].strip()[:MOST_TYPED]}
        case "load":
            visit.current().request = {"type": "load"}
