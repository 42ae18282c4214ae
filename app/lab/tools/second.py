"""And another model? Up to four models with the same text, selection and changes, beside each other."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from numpy import ndarray

from app import compute
from app.compute import AnyTrace
from app.content import parts
from app.content.picture import SIDE
from app.content.tool import Tool
from app.lab.view import View
from app.markdown import literal
from app.panels import choosing
from app.panels.choosing import informative_models, model_label
from app.panels.text import read_picture
from app.server import serving
from app.state import visit
from app.state.lab_state import MAX_COMPARED, LabState
from app.state.session import history
from app.texts import N_, _, number
from components.mounting import Content
from models import Lab, Output, catalogue
from models.errors import InputError
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError
from models.tasks.text_scores import loss_per_byte
from models.thumbnails import encoded, pooled, thumbnails
from models.trace import Sketch, Trace, divergence

KEY = "all.second"
ACT = {"type": "act", "tool": KEY}
MOST = 6  # number of suggested models


@dataclass(frozen=True)
class Compared:
    """One of the compared models, with the traces of the text."""

    lab: Lab
    state: LabState  # with the parts of plan and selection that fit this model's heads
    before: AnyTrace  # the baseline trace
    after: AnyTrace  # the trace under the plan


def content(view: View, tool: Tool) -> Content:
    """Returns the models' answers and losses as a table, their tiles, and the models that can be added."""
    models = {name: read(name, view.state, view.reading.shown) for name in view.state.models}
    compared = readable(models)
    family = choosing.entries(catalogue.family(view.lab.name))
    others = [entry for entry in family if entry.name != view.lab.name and entry.name not in view.state.compared]
    suggested = informative_models(view.lab.name, family)
    others.sort(key=lambda entry: suggested.index(entry) if entry in suggested else len(suggested))
    add = parts.choice(_("Add a model"), {"": _("Add a model"), **{
        entry.name: choosing.name_of(entry) for entry in others}}, "", act=ACT, field="model", many=True)
    title = parts.title(_("And another model?"), _("the same text and the same changes"), *([add] if others else []))
    if not view.state.compared:
        return parts.composed(title, parts.texts(
            (parts.said("+"), [choosing.name_of(entry), ": ", _(entry.line)], ACT | {"model": entry.name})
            for entry in others[:MOST]), _caution(compared))
    arrays: dict[str, ndarray] = {}
    tiles = [_tiles(view, one, index, arrays) for index, one in enumerate(compared)]
    sentence = takeaway(compared, view.state)
    header, _none = parts.composed(
        title, *([parts.note(sentence)] if sentence else []), _table(view, models, compared),
        parts.row(*tiles, look="beside"), _caution(compared))
    return header, arrays


def read(name: str, state: LabState, text: str) -> Compared | str:
    """Returns a model with the traces of the text, or a sentence why the model cannot read the text."""
    serving.give_way()
    try:
        lab = visit.opened(name, state.chat)
        prompt = read_picture(lab, state.model) if lab.task.sees else compute.read(lab, text, target=state.target)
    except (CheckpointError, ForeignError, InputError) as error:
        return _(str(error))
    if lab.longest == lab.limit and prompt.omitted:
        return _("This text has {tokens} tokens; {attention} reads only {limit}.",
                 tokens=len(prompt.ids) + prompt.omitted, attention=_(lab.kinds[0].attention.title), limit=lab.limit)
    fitting = state.for_model(name)
    return Compared(lab, fitting, *compute.traces_of(lab, prompt, fitting.plan))


def readable(models: Mapping[str, Compared | str]) -> list[Compared]:
    return [one for one in models.values() if isinstance(one, Compared)]


def _caution(compared: list[Compared]) -> parts.Part:
    return parts.note([_("Each model was trained once: part of a difference is chance."), " ",
                       trained_unequally(compared)])


def trained_unequally(compared: Sequence[Compared]) -> str:
    """Returns a sentence about the models' numbers of training steps; empty if all models have the same number."""
    steps = {one.lab.name: catalogue.find(one.lab.name).steps for one in compared}
    if len(set(steps.values())) < 2 or not all(steps.values()):
        return ""
    return _("These models also differ in steps of training: {steps}.", steps=literal("; ".join(
        _("{model} {n:,} steps", model=model_label(name), n=count) for name, count in steps.items())))


def _table(view: View, models: dict[str, Compared | str], compared: list[Compared]) -> parts.Part:
    """Returns one row per model: answer, losses and KL; the loss per byte if the models have different tokens."""
    differs = len({one.before.prompt.tokens for one in compared}) > 1
    rows = []
    for name, one in models.items():
        label: parts.Text = model_label(name)
        if name != view.lab.name:
            label = [parts.press(label, {"type": "model", "name": name}), " ",
                     parts.press("✕", ACT | {"model": name})]
        if isinstance(one, str):
            rows.append([label, one, *[""] * (2 + differs)])
            continue
        answers, loss, kl = results(one, compared[0])
        shown: list[Any] = []
        if answers is not None:
            shown = [*([*_answer(answers[0]), " → "] if view.state.plan else []),
                     *_answer(answers[1], look="word answer-word")]
        rows.append([label, shown, " → ".join(f"{value:.3f}" for value in loss[0 if view.state.plan else 1:]),
                     *([_per_byte(one, view.reading.shown)] if differs else []), "" if kl is None else f"{kl:.3f}"])
    columns = [_("model"), prediction_title(compared), _("loss, nats"),
               *([_("loss per byte")] if differs else []), _("KL from the first, nats")]
    return parts.table(columns, rows)


def results(one: Compared, first: Compared) -> tuple[tuple[Output, Output] | None, tuple[float, ...], float | None]:
    """Returns a model's predictions and losses without and with the plan, and its KL from the first model, in nats."""
    before, after = (prediction_of(one, seen) for seen in (one.before, one.after))
    base = prediction_of(first, first.after)
    losses = one.before.loss, one.after.loss
    loss = () if any(map(math.isnan, losses)) else losses
    if before is None or after is None:
        return None, loss, None
    is_other = base is not None and one is not first and base.position == after.position
    return (before, after), loss, divergence(base, after) if base is not None and is_other else None


def _answer(output: Output, **look: str) -> list[Any]:
    """Returns the most probable token and its probability."""
    token = output.top()[0]
    return [parts.word(output.names[token], **look), " ", {"share": float(output.distribution[token])}]


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


def _per_byte(one: Compared, text: str) -> str:
    loss = loss_per_byte(one.lab.task, text, one.after.prompt, one.after.losses)
    return "" if math.isnan(loss) else number(loss, ".3f")


def _tiles(view: View, one: Compared, index: int, arrays: dict[str, ndarray]) -> parts.Part:
    """Returns the tiles of the selected attention block of one model."""
    names = [kind.name for kind in one.lab.kinds]
    kind = one.lab.kinds[names.index(view.kind.name) if view.kind.name in names else 0]
    seen = one.after
    if isinstance(seen, Sketch):
        maps = pooled(seen.thumbnails[kind.name], SIDE)
    else:
        assert isinstance(seen, Trace)
        weights = seen.weights[kind.name]
        if not kind.attention.is_distribution and not kind.attention.has_sink:
            weights = weights / max(float(weights.max()), 1e-9)
        maps = thumbnails(weights, kind.attention.has_sink, SIDE)
    arrays[f"tool.{index}"] = maps if maps.dtype == numpy.uint8 else encoded(maps)
    states = [[{"gate": state.gate, "constant": state.constant} for state in (
        one.state.plan.state(kind.name, layer, head) for head in range(kind.heads))] for layer in range(kind.layers)]
    return {"part": "tiles", "array": f"tool.{index}", "layers": kind.layers, "heads": kind.heads, "kind": kind.name,
            "side": list(maps.shape[2:]), "causal": kind.causal, "has_sink": kind.attention.has_sink, "states": states,
            "title": model_label(one.lab.name)}


def act(event: dict[str, Any]) -> None:
    """Adds a model to the comparison, or removes it; a fourth one replaces the first."""
    present, name = history().present, event.get("model")
    if not isinstance(name, str) or name == present.model or name not in catalogue.family(present.model):
        return
    chosen = [each for each in present.compared if each != name]
    if len(chosen) == len(present.compared):
        chosen = [*chosen, name][-MAX_COMPARED:]
    history().do(replace(present, compared=tuple(chosen)).with_model(present.model))


TOOLS = [Tool(KEY, N_("And another model?"), N_("compare"), content, act=act,
              fits=lambda view: len(catalogue.family(view.lab.name)) > 1)]
