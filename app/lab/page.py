"""The Lab's page: one component below the header, for the Streamlit script and for the events route."""

import contextlib
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy

from app.content import picture
from app.lab import events, tools, written
from app.lab.now import present
from app.lab.view import View
from app.panels import choosing
from app.panels.choosing import informative_models
from app.panels.page import frame, lesson, text
from app.server import caches
from app.state import session, visit, visitor_models
from app.state.lab_state import LabState
from app.texts import _, sentence
from components.mounting import Part
from models import Lab, catalogue
from models.labs.foreign import is_foreign
from models.messages import cut
from models.prompt import TargetPrompt
from models.storage.checkpoint import CheckpointError
from models.storage.released import parts_of

MOST_OFFERED = 3  # number of models of the same task in the menu of the lead


def page() -> None:
    """Displays the Lab in the Streamlit script.

    The page does not wait for a generated text. The browser asks the events route for it with the event `written`; if
    that event arrives here, the route is blocked, and the page waits.
    """
    frame.draw(lambda state, problems: _parts(present(state), problems, waits=visit.current().asked == state),
              _read_chars)


def answer(state: LabState, problems: Sequence[str]) -> frame.Answer | None:
    """Returns the components for the events route; None if Streamlit must generate the page."""
    late: list[Callable[[], Part]] = []

    def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
        view = present(state)
        made = _parts(view, problems, waits=False, follows=True)
        texts = made[-1].header["written"]
        if texts and "follows" in texts:
            # The view has up to 100 MB of weights, which must not wait with the text for a turn.
            late.append(partial(written.completed, view.lab, view.before.prompt, view.plan, made[-1]))
        return made

    return frame.answer(parts, state, problems, late, _read_chars)


def _read_chars(state: LabState) -> int:
    """Returns the number of characters of the text that the model reads."""
    return present(state).reading.prompt.read_chars


def _parts(view: View, problems: Sequence[str], waits: bool = True, follows: bool = False) -> list[Part]:
    opened, reading, state = view.lab, view.reading, view.state
    content, arrays = picture.content(view)
    content["written"] = written.content(view, waits, follows)
    content["typed"] = isinstance(reading.prompt, TargetPrompt)
    past = session.history()
    thing_tools = tools.offered(view)
    related = _related(opened.name, tuple(catalogue.family(opened.name)), tuple(catalogue.names()))
    content |= {"model": _model(opened), "models": related, "undo": bool(past.past), "redo": bool(past.future),
                "text": state.text, "examples": [{"title": _(title), "text": example}
                                                 for title, example in opened.task.examples],
                "notice": _notice(reading, state), "problems": [_(problem) for problem in problems],
                "large": state.teach, "tools": [tool.entry for tool in thing_tools]}
    if not past.past and state.lab.tool not in {tool.key for tool in thing_tools}:
        content["problems"].append(_("The link's tool is not available here."))
    if state.lesson is None:
        content["steps"] = _steps(opened.name, catalogue.steps(opened.name))
    content["thing"] = state.lab.thing
    content["lesson"] = lesson.content(state, lesson.outcome(state, view.after.outputs, view.before.outputs)) \
        if state.lesson else None
    if content["model"]["untrained"]:
        content |= {"answer": None, "guesses": None, "contributions": None}
    if opened.task.sees:
        prompt: Any = reading.prompt  # a PicturePrompt, whose module hosted mode imports only for such a model
        content["picture"] = {"columns": prompt.patches[1], "before": prompt.before}
        arrays["picture"] = numpy.frombuffer(prompt.seen, numpy.uint8)
    content["tool"], more = tools.content(view, thing_tools)
    content["pins"], pinned = tools.pinned(view, thing_tools)
    return [Part("lab", "lab", content, arrays | more | pinned, events.on_lab)]


def _model(opened: Lab) -> dict[str, Any]:
    entry = catalogue.describe(opened.name)
    title = choosing.name_of(entry) if entry else opened.name
    return picture.model(opened, title) | {"foreign": is_foreign(opened.name), "untrained": _is_untrained(opened)}


def _is_untrained(opened: Lab) -> bool:
    """Returns True for a model of tests, whose weights are random numbers and whose answers mean nothing."""
    return is_foreign(opened.name) and re.search(r"tiny-random|random-init|dummy", opened.name) is not None


@caches.remembered(worded=True)
def _related(name: str, family: tuple[str, ...], names: tuple[str, ...]) -> list[dict[str, str]]:
    """Returns other models of the family and, after them, a model of each other task, with softmax if there is one."""
    told = [entry.name for entry in informative_models(name, choosing.entries(family))]
    offered = [other for other in dict.fromkeys([*told, *family]) if other != name][:MOST_OFFERED]
    others = {entry.task.name: entry for entry in sorted(
        choosing.entries(names), key=lambda entry: entry.name == f"{entry.task.name}-softmax")}
    others.pop(catalogue.find(name).task.name, None)
    return [*({"name": entry.name, "title": choosing.name_of(entry), "note": _(entry.line),
               "task": _(entry.task.title)} for entry in choosing.entries(offered)),
            *({"name": entry.name, "title": _(entry.task.title), "note": choosing.name_of(entry), "task": ""}
              for entry in others.values())]


@caches.remembered(worded=True)
def _steps(name: str, kept: tuple[int, ...]) -> list[dict[str, Any]]:
    """Returns the checkpoints of a model's training with their scores, and the released model after them."""
    steps = []
    for each in [*(f"{parts_of(name)[0]}@{step}" for step in kept), parts_of(name)[0]] if kept else []:
        with contextlib.suppress(CheckpointError):  # a damaged checkpoint is left out
            stored = choosing.card_of(each)
            steps.append({"name": each, "step": stored["training"]["steps"], "score": _(choosing.headline(stored))})
    return steps


def _notice(reading: text.Reading, state: LabState) -> dict[str, Any] | None:
    if reading.error is not None:
        return {"message": sentence(str(reading.error)), "start": reading.error.start, "stop": reading.error.stop,
                "shown": cut(reading.shown, text.EXCERPT),
                "excerpt": list(text.excerpt(state.text, reading.error.start, reading.error.stop))}
    lab = visitor_models.opened(state.model, state.chat)
    if lab.task.sees:
        return None
    messages = text.left_out(reading, lab, state.text) or text.hints(lab, reading.prompt, state.text)
    if _is_untrained(lab):
        messages = [_("Random weights: the answers mean nothing."), *messages]
    if lab.constant is None and any(head.constant for head in state.plan.heads.values()):
        messages = [_("There are no constant matrices yet: make them in Models."), *messages]
    actions = text.actions(lab, reading, state)
    return {"message": " ".join(map(sentence, messages)), "actions": actions} if messages or actions else None
