"""Comparison of up to four models of a family on one text: answers, losses, and which model gives a token most."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from app import compute
from app.compute import AnyTrace
from app.markdown import literal
from app.panels.choice.labels import model_label
from app.panels.page.text import Reading
from app.panels.prompt import picture
from app.server import serving
from app.state import visitor_models
from app.state.lab_state import LabState
from app.texts import _
from models import Lab, Output, catalogue
from models.errors import InputError
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError
from models.trace import divergence


class Answer(TypedDict):
    """The most probable token of a model and its probability, unmodified (before) and under the plan (after)."""

    before: str
    p_before: float
    after: str
    p_after: float


class Row(TypedDict):
    """The results of one model.

    Attributes:
        answer: the most probable tokens; None if the model predicts nothing.
        loss: loss in nats, unmodified and under the plan; None if unknown.
        kl_from_first: KL divergence from the first model in nats, under the plan; None for the first model, or unknown.
        problem: the reason why the row has no results; empty if it has results.
    """

    answer: Answer | None
    loss: tuple[float, float] | None
    kl_from_first: float | None
    problem: str


@dataclass(frozen=True)
class Compared:
    """One of the compared models, with the traces of the text.

    Attributes:
        state: the state with the parts of plan and selection that fit this model's heads.
        before, after: the baseline trace and the trace under the plan.
    """

    lab: Lab
    state: LabState
    before: AnyTrace
    after: AnyTrace


def read_all(reading: Reading, state: LabState) -> dict[str, Compared | str]:
    """Returns name -> the model with the traces of the text, or the reason why it cannot read the text."""
    return {name: read(name, state, reading.shown) for name in state.models}


def readable(models: Mapping[str, Compared | str]) -> list[Compared]:
    return [one for one in models.values() if isinstance(one, Compared)]


def read(name: str, state: LabState, text: str) -> Compared | str:
    """Returns a model with the traces of the text, or a sentence why the model cannot read the text."""
    serving.give_way()
    try:
        lab = visitor_models.opened(name, state.chat)
        prompt = picture.read(lab, state.model) if lab.task.sees else compute.read(lab, text, target=state.target)
    except (CheckpointError, ForeignError, InputError) as error:
        return _(str(error))
    if lab.longest == lab.limit and prompt.omitted:
        return _("This text has {tokens} tokens; {attention} reads only {limit}.",
                 tokens=len(prompt.ids) + prompt.omitted, attention=_(lab.kinds[0].attention.title), limit=lab.limit)
    fitting = state.for_model(name)
    return Compared(lab, fitting, *compute.traces_of(lab, prompt, fitting.plan))


def trained_unequally(compared: Sequence[Compared]) -> str:
    """Returns a sentence about the models' numbers of training steps; empty if all models have the same number."""
    steps = {one.lab.name: catalogue.find(one.lab.name).steps for one in compared}
    if len(set(steps.values())) < 2 or not all(steps.values()):
        return ""
    return _("These models also differ in steps of training: {steps}.", steps=literal("; ".join(
        _("{model} {n:,} steps", model=model_label(name), n=count) for name, count in steps.items())))


def row(one: Compared | str, compared: Sequence[Compared]) -> Row:
    """Returns the results of one model on the text."""
    result: Row = {"answer": None, "loss": None, "kl_from_first": None, "problem": ""}
    if isinstance(one, str):
        return result | {"problem": one}
    before, after = prediction_of(one, one.before), prediction_of(one, one.after)
    first = prediction_of(compared[0], compared[0].after)
    if not math.isnan(one.before.loss) and not math.isnan(one.after.loss):
        result["loss"] = (one.before.loss, one.after.loss)
    if before is not None and after is not None:
        result["answer"] = answer(before, after)
        if first is not None and one is not compared[0] and first.position == after.position:
            result["kl_from_first"] = divergence(first, after)
    return result


def answer(before: Output, after: Output) -> Answer:
    first, now = before.top()[0], after.top()[0]
    return {"before": before.names[first], "p_before": float(before.distribution[first]),
            "after": after.names[now], "p_after": float(after.distribution[now])}


def prediction_of(one: Compared, seen: AnyTrace) -> Output | None:
    """Returns the prediction that is shown; by default the last prediction."""
    outputs = seen.outputs
    return compute.shown_output(outputs, one.state.prediction) if outputs else None


def prediction_title(compared: Sequence[Compared]) -> str:
    """Returns the title of the prediction, in the words of the first model's task."""
    for one in compared:
        prediction = prediction_of(one, one.before)
        if prediction is not None:
            return _(one.lab.task.headline(prediction, one.before.rows[prediction.row][prediction.position]))
    return ""


def takeaway(compared: Sequence[Compared], state: LabState) -> str:
    """Returns a sentence about the probability of one token: which model gives it most, which least, and how much.

    The token is the right one if the text has it, else the prediction of the first model. Returns an empty text in a
    lesson, where the visitor looks for the difference, and if the models do not predict the same token.
    """
    outputs = [prediction_of(one, one.after) for one in compared]
    if len(outputs) < 2 or state.lesson or state.hides_answer:
        return ""
    known = [output for output in outputs if output is not None]
    first = known[0] if len(known) == len(outputs) else None
    token = "" if first is None else first.names[first.target if first.target >= 0 else first.top()[0]]
    if first is None or any((output.row, output.position) != (first.row, first.position) or token not in output.names
                            for output in known):
        return ""
    values = {one.lab.name: float(output.distribution[output.names.index(token)])
              for one, output in zip(compared, known, strict=True)}
    most, least = max(values, key=values.__getitem__), min(values, key=values.__getitem__)
    points = 100 * (values[most] - values[least])
    shown = {"token": token.strip() or repr(token), "most": model_label(most), "least": model_label(least),
             "high": _percent(values[most]), "low": _percent(values[least]), "points": points}
    if points < 1:
        return _("No difference: all models give “{token}” {high} within 1 point.", **shown)
    if first.target >= 0:
        return _("Right token “{token}”: highest with {most} ({high}), lowest with {least} ({low}), "
                 "{points:.1f} points apart.", **shown)
    return _("“{token}”, the first model's prediction: highest with {most} ({high}), lowest with {least} "
             "({low}), {points:.1f} points apart.", **shown)


def _percent(value: float) -> str:
    """Returns a probability as in the table: 0% and 100% only for exact values."""
    return "<0.1%" if 0 < value < 0.001 else ">99.9%" if 0.999 < value < 1 else f"{100 * value:.1f}%"
