"""The choice of a model: first what is asked of it, then the kind of attention, by what people call it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from app.panels.choice.labels import model_label
from app.state.handlers import events
from app.texts import LANGUAGES, _, language, speak
from components import Part, chooser
from components import catalogue as send
from models import catalogue
from models.info import ModelInfo
from models.labs import foreign
from models.labs.foreign import ForeignError
from models.labs.foreign.errors import HUB
from models.storage.checkpoint import CheckpointError
from models.studies import store
from models.tasks import TASKS

# The order in which they are offered.
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")

_SOURCE = re.compile(r"(?:[A-Z][\w’'-]+ )+(?:et al\. )?\d{4}")


def send_catalogue() -> None:
    """What there is to choose from, in all languages: sent once a visit, outside of what is drawn at every click."""
    spoken, offered = language(), {}
    for key in LANGUAGES:
        speak(key)
        offered[key] = groups(entries(catalogue.names()))
    speak(spoken)
    pictures = {name: {"side": found["side"], "heads": found["heads"]} for name in catalogue.names()
                if (found := store.read(name, "picture"))}
    send(key="catalogue", offered=offered, pictures=pictures)


def part(model: str) -> Part:
    """The button that opens the choice of a model, with the present model's name."""
    there = entries([model])
    task, title = (_(there[0].task.title), name_of(there[0])) if there else ("", model)
    mine = [{"name": entry.name, "title": name_of(entry), "line": _(entry.task.title)}
            for entry in entries(sorted({lab.name for lab in foreign.in_memory()}))]
    return chooser.part(key="chooser", model=model, task=task, title=title, foreign=mine,
                        short=title if foreign.is_foreign(model) else model_label(model), on_event=events.on_chooser)


def entries(names: Sequence[str]) -> list[ModelInfo]:
    """Their entries in the catalogue; those that cannot be read are left out."""
    found = []
    for name in names:
        try:
            found.append(catalogue.find(name))
        except (ValueError, CheckpointError, ForeignError):
            continue
    return found


def groups(found: Sequence[ModelInfo]) -> list[dict[str, Any]]:
    """Tasks in order, each with title, line, and its models by source: {source, models: [{name, title, line}]}."""
    tasks: dict[str, list[ModelInfo]] = {}
    for entry in found:
        tasks.setdefault(entry.task.name, []).append(entry)
    order = [name for name in (*FIRST_TASKS, *TASKS) if name in tasks]
    return [{"task": name, "title": _(tasks[name][0].task.title), "line": _(tasks[name][0].task.line),
             "groups": _by_source(tasks[name])} for name in dict.fromkeys(order)]


def _by_source(family: list[ModelInfo]) -> list[dict[str, Any]]:
    found: dict[str, list[ModelInfo]] = {}
    for entry in sorted(family, key=lambda its: (its.attention.title != "Softmax", bool(its.base),
                                                 its.name)):
        found.setdefault(source_of(entry.attention.published), []).append(entry)
    # The first source stays first; after it those with few models, which stand beside each other.
    order = sorted(found, key=lambda source: (source != next(iter(found)), len(found[source])))
    found = {source: found[source] for source in order}
    return [{"source": _(source), "models": [{"name": entry.name, "title": name_of(entry),
                                              "line": line_of(entry, family)} for entry in members]}
            for source, members in found.items()]


def source_of(published: str) -> str:
    """Authors and year of what was published first: `Tay et al. 2020` of `Tay et al. 2020, arXiv 2005.00743`."""
    found = _SOURCE.search(published)
    return found[0] if found else published


def name_of(entry: ModelInfo) -> str:
    """Returns what people call a model: its attention type, with its difference from the base model of that type."""
    return entry.name.removeprefix(HUB) if foreign.is_foreign(entry.name) else _(entry.title)


def line_of(entry: ModelInfo, family: Sequence[ModelInfo], steps: int = 0) -> str:
    """What it does, in one sentence; and how long it was trained, if not for `steps`, by default the family's most."""
    line = _(entry.line)
    steps = steps or max((other.steps for other in family), default=0)
    return _("{line} Trained for {n:,} steps, not {most:,}.", line=line, n=entry.steps, most=steps) \
        if entry.steps not in (0, steps) else line
