"""The choice of a model: first the task, then the attention type."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from app.panels.choice.labels import model_label
from app.state.handlers import events
from app.texts import LANGUAGES, _, language, speak
from components.chooser import catalogue as send
from components.chooser import chooser
from components.mounting import Part
from models import catalogue
from models.info import ModelInfo
from models.labs import foreign
from models.labs.foreign.errors import HUB
from models.tasks import TASKS
from studies import store

# the order of tasks in the dialog; tasks that are not listed follow
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")

_SOURCE = re.compile(r"(?:[A-Z][\w’'-]+ )+(?:et al\. )?\d{4}")


def send_catalogue() -> None:
    """Sends the model catalogue in all languages to the browser. Called outside of fragments, not at every click."""
    spoken, offered = language(), {}
    for key in LANGUAGES:
        speak(key)
        offered[key] = groups(entries(catalogue.names()))
    speak(spoken)
    pictures = {name: {"side": picture["side"], "heads": picture["heads"]} for name in catalogue.names()
                if (picture := store.read(name, "picture"))}
    send(key="catalogue", offered=offered, pictures=pictures)


def part(model: str) -> Part:
    """Returns the button that opens the choice of a model.

    Args:
        model: name of the page's model, which the button shows.

    Returns:
        The component.
    """
    own_entries = entries([model])
    task, title = (_(own_entries[0].task.title), name_of(own_entries[0])) if own_entries else ("", model)
    imported = [{"name": entry.name, "title": name_of(entry), "line": _(entry.task.title)}
                for entry in entries(sorted({lab.name for lab in foreign.in_memory()}))]
    return chooser.part(key="chooser", model=model, task=task, title=title, foreign=imported,
                        short=title if foreign.is_foreign(model) else model_label(model), on_event=events.on_chooser)


def entries(names: Sequence[str]) -> list[ModelInfo]:
    """Returns the catalogue entries of models.

    Args:
        names: names of models.

    Returns:
        The entries; models that cannot be read are omitted.
    """
    return [entry for name in names if (entry := catalogue.describe(name))]


def groups(models: Sequence[ModelInfo]) -> list[dict[str, Any]]:
    """Returns the content of the dialog, grouped by task and by source.

    Args:
        models: catalogue entries.

    Returns:
        One entry per task in display order: title, line, and a list of {source, models: [{name, title, label, line}]}.
    """
    tasks: dict[str, list[ModelInfo]] = {}
    for entry in models:
        tasks.setdefault(entry.task.name, []).append(entry)
    order = [name for name in (*FIRST_TASKS, *TASKS) if name in tasks]
    return [{"task": name, "title": _(tasks[name][0].task.title), "line": _(tasks[name][0].task.line),
             "groups": _by_source(tasks[name])} for name in dict.fromkeys(order)]


def _by_source(family: list[ModelInfo]) -> list[dict[str, Any]]:
    by_source: dict[str, list[ModelInfo]] = {}
    for entry in sorted(family, key=lambda model: (model.attention.title != "Softmax", bool(model.base),
                                                   model.name)):
        by_source.setdefault(source_of(entry.attention.published), []).append(entry)
    # The first source stays first. Then come the sources with few models, because two of these fit in one row.
    order = sorted(by_source, key=lambda source: (source != next(iter(by_source)), len(by_source[source])))
    by_source = {source: by_source[source] for source in order}
    return [{"source": _(source), "models": [{"name": entry.name, "title": name_of(entry),
                                              "label": model_label(entry.name), "line": line_of(entry, family)}
                                             for entry in members]}
            for source, members in by_source.items()]


def source_of(published: str) -> str:
    """Returns the authors and the year of the first publication.

    Args:
        published: like `Tay et al. 2020, arXiv 2005.00743`.

    Returns:
        Like `Tay et al. 2020`.
    """
    match = _SOURCE.search(published)
    return match[0] if match else published


def name_of(entry: ModelInfo) -> str:
    """Returns a model's title: its attention type and its difference from the base model of this attention type.

    Args:
        entry: the catalogue entry.

    Returns:
        The title in the visitor's language.
    """
    return entry.name.removeprefix(HUB) if foreign.is_foreign(entry.name) else _(entry.title)


def line_of(entry: ModelInfo, family: Sequence[ModelInfo], steps: int = 0) -> str:
    """Returns one sentence about a model, with its training steps if they differ from `steps`.

    Args:
        entry: the catalogue entry.
        family: all entries of the model's family.
        steps: the usual number of training steps; default: the maximum of the family.

    Returns:
        The sentence in the visitor's language.
    """
    line = _(entry.line)
    steps = steps or max((other.steps for other in family), default=0)
    return _("{line} Trained for {n:,} steps, not {most:,}.", line=line, n=entry.steps, most=steps) \
        if entry.steps not in (0, steps) else line
