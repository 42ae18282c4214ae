"""The Lab's page: one component below the header, for the Streamlit script and for the events route; its events."""

import base64
import contextlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy

from app import compute
from app.content import picture
from app.lab import tools
from app.lab.view import ERRORS, View, present_view
from app.panels import choosing, frame, lesson, text
from app.server import caches
from app.state import events, session, visit
from app.state.fields import MAX_ASKED
from app.state.lab_state import LabState
from app.state.lab_view import MOST_TOKENS, NONE
from app.state.selection import address_of
from app.state.session import history, is_index
from app.texts import _, sentence
from components.mounting import Part
from models import HeadPlan, Lab, catalogue
from models.kind import TARGET
from models.labs.foreign import is_foreign
from models.messages import cut
from models.prompt import Prompt, TargetPrompt
from models.storage.checkpoint import CheckpointError
from models.storage.released import parts_of

MOST_OFFERED = 3  # number of models of the same task in the menu of the lead


def page() -> None:
    """Displays the Lab in the Streamlit script.

    The page does not wait for a generated text. The browser asks the events route for it with the event `written`; if
    that event arrives here, the route is blocked, and the page waits.
    """
    frame.draw(lambda state, problems: _parts(present_view(state), problems, waits=visit.current().asked == state),
              _read_chars)


def answer(state: LabState, problems: Sequence[str]) -> frame.Answer | None:
    """Returns the components for the events route; None if Streamlit must generate the page."""
    late: list[Callable[[], Part]] = []

    def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
        view = present_view(state)
        made = _parts(view, problems, waits=False, follows=True)
        texts = made[-1].header["written"]
        if texts and "follows" in texts:
            # The view has up to 100 MB of weights, which must not wait with the text for a turn.
            late.append(partial(_completed, view.lab, view.before.prompt, view.plan, made[-1]))
        return made

    return frame.answer(parts, state, problems, late, _read_chars)


def _read_chars(state: LabState) -> int:
    """Returns the number of characters of the text that the model reads."""
    return present_view(state).reading.prompt.read_chars


def _parts(view: View, problems: Sequence[str], waits: bool = True, follows: bool = False) -> list[Part]:
    opened, reading, state = view.lab, view.reading, view.state
    content, arrays = picture.content(view)
    content["written"] = _written(view, waits, follows)
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
    return [Part("lab", "lab", content, arrays | more | pinned, on_lab)]


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
    told = [entry.name for entry in choosing.informative_models(name, choosing.entries(family))]
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
    lab = visit.opened(state.model, state.chat)
    if lab.task.sees:
        return None
    messages = text.left_out(reading, lab, state.text) or text.hints(lab, reading.prompt, state.text)
    if _is_untrained(lab):
        messages = [_("Random weights: the answers mean nothing."), *messages]
    if lab.constant is None and any(head.constant for head in state.plan.heads.values()):
        messages = [_("There are no constant matrices yet: make them in Models."), *messages]
    actions = text.actions(lab, reading, state)
    return {"message": " ".join(map(sentence, messages)), "actions": actions} if messages or actions else None


def _written(view: View, waits: bool = True, follows: bool = False) -> dict[str, Any] | None:
    """Returns the texts {before, after}, None if it writes none; `after` is None unchanged, "" if not generated yet."""
    if TARGET not in view.before.rows or view.state.hides_answer or isinstance(view.reading.prompt, TargetPrompt):
        return None
    before, after = view.before.written or "", view.after.written
    if not view.changed or after is not None:
        return {"before": before, "after": after if view.changed else None}
    if not waits:
        return {"before": before, "after": "", "follows": follows}
    return {"before": before, "after": compute.rewritten(view.lab, view.before.prompt, view.plan)}


def _completed(lab: Lab, prompt: Prompt, plan: HeadPlan, part: Part) -> Part:
    texts = {"before": part.header["written"]["before"], "after": compute.rewritten(lab, prompt, plan)}
    return replace(part, header=part.header | {"written": texts})


def on_lab(event: dict[str, Any]) -> None:
    """Changes the visitor's state by one event, whose values are untrusted; a wrong one changes nothing."""
    past = history()
    present = past.present
    match event.get("type"):
        case "text":
            events.on_text(event)
        case "model":
            events.on_chooser(event.get("name"))
        case "select":
            events.on_heads(event)
            _show(event)
        case "heads" | "scale":
            events.on_heads(event)
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
            events.on_notice(event.get("name"))
        case "written":
            visit.current().asked = present
        case "source" | "pair" | "patch" | "choose":
            events.on_answer(event)
        case "prune":
            _prune(event.get("heads"), event.get("left"))
        case "step" | "answer" | "teach" | "leave":
            events.on_lesson(event)
        case "undo" | "redo" | "reset":
            events.on_toolbar(event)


def _picture(data: object) -> None:
    """Shows a picture file (base64; None: the example) to a vision model. A file that is no picture changes nothing."""
    past = history()
    model = past.present.model
    if data is None:
        visit.set_picture(model, None)
    elif isinstance(data, str) and len(data) <= 2 * visit.MOST_PICTURE:
        former = visit.picture(model)
        try:
            visit.set_picture(model, base64.b64decode(data, validate=True))
            text.read_picture(visit.opened(model, past.present.chat))
        except ERRORS as error:
            visit.set_picture(model, former)
            past.problems = [str(error)]


def _prune(heads: object, left: object) -> None:
    shape = history().present.shape
    if not isinstance(heads, list) or not is_index(left, len(heads) + 1):
        return
    order = []
    for head in heads:
        address = address_of(head[0], head[1], head[2], shape) if isinstance(head, list) and len(head) == 3 else None
        if address is None:
            return
        order.append(address)
    events.prune_to(tuple(order), left)


def _show(event: dict[str, Any]) -> None:
    present = history().present
    history().do(replace(present, lab=present.lab.after(event, tools.FIRST_TOOLS)), merge="viewing")
