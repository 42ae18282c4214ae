"""The table of a link's fields: how each field is written, parsed and carried over to another model."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote, unquote

from app.state.lab_state import CLAIMS, LAST, MAX_COMPARED, MAX_TEXT, PAGES, SHOWN, LabState, fit, fits_memory
from app.state.lab_view import AnswerView, LabView, Search
from app.state.lessons import CHOICES, Place, step_at
from app.state.selection import Selection
from app.state.training_view import TrainingView
from app.texts import LANGUAGES
from models import catalogue
from models.errors import InputError
from models.generate.decoding import Sampling
from models.labs.foreign import ForeignError
from models.messages import cut, listed, message
from models.plan import HeadPlan
from models.prompt import unix_lines
from models.storage.checkpoint import CheckpointError
from models.storage.released import parts_of

# largest number of characters of the text in a link; for a longer text, the link contains the part that the model reads
MAX_LINK_TEXT = 4000
MAX_ASKED = 999  # highest index of a prediction
MIN_BUDGET = 2  # smallest number of tokens that a layer keeps: the first and the current token

Read = tuple[Any, list[str]]  # the value, and a message for each part that could not be parsed


@dataclass(frozen=True)
class Field:
    key: str  # the field's name in the address
    attribute: str  # the field's attribute in LabState
    # (text, state with the fields parsed so far, in the order of FIELDS) -> (value, messages)
    parse: Callable[[str, LabState], Read]
    format: Callable[[Any], str] = str  # value -> text
    # True if the field changes only the presentation (language, lesson, large type). If an address has only such
    # fields, the other fields come from the initial state of a new visitor or of the lesson's step.
    is_setting: bool = False


def _unknown(text: str) -> list[str]:
    return [message("The link has an unknown setting, “{text}”.", text=cut(text))]


def _one_of(known: Collection[str]) -> Callable[[str, LabState], Read]:
    def parse(text: str, state: LabState) -> Read:
        return (text, []) if text in known else (next(iter(known)), _unknown(text))
    return parse


def _number(most: int, default: int) -> Callable[[str, LabState], Read]:
    def parse(text: str, state: LabState) -> Read:
        if re.fullmatch(r"\d{1,9}", text, re.ASCII) and int(text) <= most:
            return int(text), []
        return default, _unknown(text)
    return parse


def _by(view: type[Search] | type[AnswerView] | type[Sampling] | type[LabView]) -> Callable[[str, LabState], Read]:
    """Returns a parser for a value class that has a `parse` method and a default for every argument."""
    def parse(text: str, state: LabState) -> Read:
        try:
            return view.parse(text), []
        except ValueError:
            return view(), _unknown(text)
    return parse


def _parse_model(text: str, state: LabState) -> Read:
    try:
        return catalogue.find(text).name, []
    except ForeignError as error:
        return state.model, [message("{name}: {error}. Open it on this page.",
                                     name=cut(text.removeprefix("hf:")), error=str(error))]
    except CheckpointError as error:
        return state.model, [message("{error}. {model} was opened instead.", error=str(error), model=state.model)]
    except ValueError:
        return state.model, [message("The link's model “{text}” does not exist. "
                                     "{model} was opened.", text=cut(text), model=state.model)]


def _parse_step(text: str, state: LabState) -> Read:
    try:
        return catalogue.at_step(state.model, text), []
    except (ValueError, CheckpointError) as error:
        return state.model, [message("{error}. {model} was opened instead.", error=str(error), model=state.model)]


def _parse_text(text: str, state: LabState) -> Read:
    text = unix_lines(text)
    damaged: list[str] = []
    if "\ufffd" in text:
        damaged = [message("The link was cut or changed.")]
    if len(text) <= MAX_TEXT:
        return text, damaged
    return text[:MAX_TEXT], [*damaged, message("Only the first {most:,} characters are read.", most=MAX_TEXT)]


def _names(names: Sequence[str]) -> str:
    """Returns the names separated by blanks; blanks and percent signs inside a folder's name are percent-encoded."""
    return " ".join(re.sub(r"[\s%]", lambda sign: quote(sign[0]), name) for name in names)


def _parse_compared(text: str, state: LabState) -> Read:
    fitting: list[str] = []
    unknown: list[str] = []
    strange: list[str] = []
    family = catalogue.family(state.model)
    for name in dict.fromkeys(map(unquote, text[:MAX_LINK_TEXT].split())):
        if name in family:
            fitting += [name] if name != state.model else []
        elif name in catalogue.names():
            strange.append(name)
        else:
            unknown.append(f"“{cut(name)}”")
    problems: list[str] = []
    if unknown:
        problems.append(message("The link's model {names} does not exist.", names=", ".join(unknown[:3])))
    if strange:
        problems.append(message("{names} and {model} cannot be compared.",
                                names=", ".join(strange[:3]), model=state.model))
    if len(fitting) > MAX_COMPARED:
        problems.append(message("At most four models are compared, without {names}.",
                                names=", ".join(fitting[MAX_COMPARED:][:3])))
    return tuple(fitting[:MAX_COMPARED]), problems


def _parse_plan(text: str, state: LabState) -> Read:
    plan, unread = HeadPlan.read(text)
    plan, outside = fit(plan, state.models)
    parts = (unread + outside)[:4]
    return plan, [message("Left out of the link's plan: {parts}.", parts=listed(parts,
                          "; "))] if parts else []


def _parse_selection(text: str, state: LabState) -> Read:
    shape = state.shape
    try:
        selection = Selection.parse(text)
        # Without an attention block in the link, the block is `self`, or the model's first block if it has no `self`.
        selection = selection if selection.kind in shape or "-" in text else replace(selection, kind=next(iter(shape)))
        if selection == selection.within(shape):
            return selection, []
    except ValueError:
        pass
    return Selection().within(shape), [message("This model has no head “{text}”.",
                                               text=cut(text))]


def _parse_budgets(text: str, state: LabState) -> Read:
    kept = tuple(map(int, text.split("-"))) if re.fullmatch(r"\d{1,4}(-\d{1,4})*", text, re.ASCII) else ()
    if kept and min(kept) >= MIN_BUDGET and fits_memory(state.model, kept):
        return kept, []
    return (), [message("This model has no memory budgets “{text}”.", text=cut(text))]


def _parse_lesson(text: str, state: LabState) -> Read:
    try:
        return Place.parse(text), []
    except ValueError:
        return None, [message("The link's lesson step “{step}” does not exist.", step=cut(text))]


def _parse_answer(text: str, state: LabState) -> Read:
    question = step_at(state.lesson).question if state.lesson else None
    known = question is not None and (text == SHOWN or text in [*CHOICES[:len(question.choices)]])
    return (text, []) if known else ("", [message("The link's answer “{answer}” is not a choice.",
                                     answer=cut(text))])


def _parse_chat(text: str, state: LabState) -> Read:
    if text == "1" and not catalogue.find(state.model).task.chats:
        return False, [message("This model has no chat template.")]
    return text == "1", []


def _parse_training(text: str, state: LabState) -> Read:
    try:
        return TrainingView.parse(text), []
    except InputError as error:
        return TrainingView(), [message("The link's training was not opened: {reason}.", reason=error.args[0])]


FIELDS = (
    Field("page", "page", _one_of(PAGES)),
    Field("model", "model", _parse_model, lambda name: parts_of(name)[0]),
    Field("step", "model", _parse_step, lambda name: parts_of(name)[1]),
    Field("text", "text", _parse_text),
    Field("chat", "chat", _parse_chat, lambda chat: str(int(chat))),
    Field("with", "compared", _parse_compared, _names),
    Field("plan", "plan", _parse_plan),
    Field("at", "selection", _parse_selection),
    Field("ask", "prediction", _number(MAX_ASKED, LAST)),
    Field("keep", "budgets", _parse_budgets, lambda budgets: "-".join(map(str, budgets))),
    Field("draw", "sampling", _by(Sampling)),
    Field("need", "search", _by(Search)),
    Field("source", "source", _parse_text),
    Field("write", "target", _parse_text),
    Field("tokens", "explanation", _by(AnswerView)),
    Field("lab", "lab", _by(LabView)),
    Field("train", "training", _parse_training),
    Field("claim", "claim", _one_of(CLAIMS)),
    Field("lang", "language", _one_of(LANGUAGES), is_setting=True),
    Field("lesson", "lesson", _parse_lesson, is_setting=True),
    Field("say", "answer", _parse_answer, is_setting=True),
    Field("teach", "teach", lambda text, state: (text == "1", []), lambda teach: str(int(teach)), is_setting=True),
)
