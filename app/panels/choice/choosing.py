"""The choice of a model: first what is asked of it, then the kind of attention, by what people call it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from app.state.handlers import events
from app.texts import LANGUAGES, _, language, speak
from components import Part, chooser
from components import catalogue as send
from components.charts import called
from models import catalogue
from models.info import ModelInfo
from models.kind import Traits
from models.labs import foreign
from models.labs.foreign import ForeignError
from models.labs.foreign.errors import HUB
from models.messages import N_
from models.storage.checkpoint import CheckpointError
from models.studies import store
from models.tasks import TASKS

# The order in which they are offered.
FIRST_TASKS = ("stories", "masked", "assignment", "translation", "summary", "dialogue")
PRUNED = "pruned-"  # and how many heads are left
# What a model's id has beyond others of the same kind of attention -> what that does.
LINES = {
    "memory": N_("The same, trained to need few of its words."),
    "wide": N_("Softmax with twice the heads and twice the attention parameters."),
    "512": N_("The same, trained on texts of 512 tokens, twice as long."),
    "memory-512": N_("Trained to need few of its words, on texts of 512 tokens."),
    "one-pass": N_("Softmax with one pass over the pairs, to compare others with."),
    "disagreement-sub": N_("Heads were trained to carry different values."),
    "disagreement-pos": N_("Heads were trained to look at different places."),
    "disagreement-out": N_("Heads were trained to write different things."),
    "disagreement-all": N_("Heads were trained to differ in all three.")}
WORDS = {"memory": N_("memory"), "one-pass": N_("one pass"), "wide": N_("twice the heads"), "512": N_("512 tokens"),
         "memory-512": N_("memory, 512 tokens")}  # where `called` would repeat the kind of attention

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
    task, title = (_(there[0].task.title), name_of(there[0], there)) if there else ("", model)
    mine = [{"name": entry.name, "title": name_of(entry, []), "line": _(entry.task.title)}
            for entry in entries(sorted({lab.name for lab in foreign.in_memory()}))]
    title = _in_family(model, title)
    return chooser.part(key="chooser", model=model, task=task, title=title, foreign=mine,
                        short=title if foreign.is_foreign(model) else called(model), on_event=events.on_chooser)


def _in_family(model: str, title: str) -> str:
    """The title as the choice has it, which tells models of one kind of attention apart."""
    if foreign.is_foreign(model) or not title:
        return title
    try:
        return name_of(catalogue.find(model), entries(catalogue.family(model)))
    except (ValueError, CheckpointError, ForeignError):
        return title


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
    for entry in sorted(family, key=lambda its: (_attention(its).title != "Softmax", bool(_beyond(its, family)),
                                                 its.name)):
        found.setdefault(source_of(_attention(entry).published), []).append(entry)
    # The first source stays first; after it those with few models, which stand beside each other.
    order = sorted(found, key=lambda source: (source != next(iter(found)), len(found[source])))
    found = {source: found[source] for source in order}
    return [{"source": _(source), "models": [{"name": entry.name, "title": name_of(entry, family),
                                              "line": line_of(entry, family)} for entry in members]}
            for source, members in found.items()]


def _attention(entry: ModelInfo) -> Traits:
    """Its kind of attention; of a model that writes one text from another, its decoder's."""
    return entry.kinds[1 if len(entry.kinds) > 1 else 0].attention


def source_of(published: str) -> str:
    """Authors and year of what was published first: `Tay et al. 2020` of `Tay et al. 2020, arXiv 2005.00743`."""
    found = _SOURCE.search(published)
    return found[0] if found else published


def name_of(entry: ModelInfo, family: Sequence[ModelInfo]) -> str:
    """What people call a model: its kind of attention; with what its id has beyond others of the same kind."""
    if foreign.is_foreign(entry.name):
        return entry.name.removeprefix(HUB)
    title, beyond = _(_attention(entry).title), _beyond(entry, family)
    if not beyond:
        return title
    if beyond in WORDS:
        return f"{title} · {_(WORDS[beyond])}"
    is_named = beyond in LINES or beyond.startswith(PRUNED)
    return f"{title} · {called(entry.name) if is_named else beyond.replace('-', ' ')}"


def _beyond(entry: ModelInfo, family: Sequence[ModelInfo]) -> str:
    """What its id has that the shortest of the same kind of attention has not; empty for that one itself."""
    title, own = _attention(entry).title, f"{entry.task.name}-"
    same = sorted((other.name for other in family if _attention(other).title == title), key=len)
    if len(same) < 2 or entry.name == same[0]:
        return ""
    return entry.name.removeprefix(own).removeprefix(same[0].removeprefix(own)).strip("-")


def line_of(entry: ModelInfo, family: Sequence[ModelInfo], steps: int = 0) -> str:
    """What it does, in one sentence; and how long it was trained, if not for `steps`, by default the family's most."""
    beyond = _beyond(entry, family)
    if beyond.startswith(PRUNED):
        return _("Learned gates have closed the others; its weights went on learning.")
    line = _(LINES.get(beyond, _attention(entry).line))
    steps = steps or max((other.steps for other in family), default=0)
    return _("{line} Trained for {n:,} steps, not {most:,}.", line=line, n=entry.steps, most=steps) \
        if entry.steps not in (0, steps) else line
