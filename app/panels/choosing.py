"""Titles, labels, cards and order of the models; the models that the Lab suggests beside one; the table of *Models*."""

from collections.abc import Mapping, Sequence
from typing import Any

from app.server import caches
from app.state import events, session, visit
from app.state.lab_state import LAB
from app.texts import _
from models import catalogue
from models.info import ModelInfo
from models.labs import foreign
from models.labs.foreign.refusals import HUB
from models.storage import checkpoint
from models.storage.checkpoint import CheckpointError
from models.tasks import TASKS

# the order of tasks in the table of models; tasks that are not listed follow
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")
# labels of the models whose comparison is most instructive, best first
TELLING = ("softmax", "softmax, one pass", "selective", "random", "dense", "GAU relu²/n", "log n")
MOST_TYPED = 4096  # characters of a name or of a folder's path


def entries(names: Sequence[str]) -> list[ModelInfo]:
    """Returns the catalogue entries of models; models that cannot be read are omitted."""
    return [entry for name in names if (entry := catalogue.describe(name))]


def name_of(entry: ModelInfo) -> str:
    """Returns a model's title: its attention type and its difference from the base model of this attention type."""
    return entry.name.removeprefix(HUB) if foreign.is_foreign(entry.name) else _(entry.title)


def model_label(name: str) -> str:
    """Returns a label of one or two words that distinguishes a model within its family, in the visitor's language."""
    info = catalogue.describe(name)
    return name if info is None else _(info.label)


def informative_models(first: str, family: Sequence[ModelInfo]) -> list[ModelInfo]:
    """Returns the models to compare with a model: of the same number of steps first, else of another attention type."""
    own = next((entry for entry in family if entry.name == first), None)
    if own is None:
        return []
    by_label = {str(entry.label): entry for entry in family if entry is not own
                 and (entry.steps == own.steps or entry.kinds[0].attention != own.kinds[0].attention)}
    return sorted((by_label[label] for label in TELLING if label in by_label),
                  key=lambda entry: entry.steps != own.steps)


def card_of(name: str) -> dict[str, Any]:
    """Returns card.json of a model, which need not be loaded. A damaged card raises CheckpointError."""
    return _card(name, checkpoint.stamp(checkpoint.folder_of(name)))


@caches.remembered()
def _card(name: str, changed: tuple[int, ...]) -> dict[str, Any]:
    return catalogue.complete_card(checkpoint.folder_of(name))


def headline(card: Mapping[str, Any], metric: dict[str, Any] | None = None) -> str:
    """Returns the main metrics of a card, or those of another seed, as a sentence."""
    return catalogue.metric_of(card["task"]).describe(card["metric"] if metric is None else metric)


def table() -> dict[str, Any]:
    """Returns the table of the page Models: attention types by tasks; a press on a model opens it in the Lab."""
    known = entries(catalogue.names())
    tasks = [name for name in dict.fromkeys((*FIRST_TASKS, *TASKS))
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
             "cells": [[{"name": entry.name, "title": name_of(entry), "label": _(entry.label),
                         "score": _score(entry.name)}
                        for entry in members if entry.task.name == task] for task in tasks]}
            for title, members in types.items() if members]


def _score(name: str) -> str:
    try:
        return _(headline(card_of(name)))
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
