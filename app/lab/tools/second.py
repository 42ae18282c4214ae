"""And another model? Up to four models with the same text, selection and changes, beside each other."""

import math
from dataclasses import replace
from typing import Any

import numpy
from numpy import ndarray

from app.content import parts
from app.content.picture import SIDE
from app.content.tool import Tool
from app.lab.view import View
from app.panels.answer import comparison
from app.panels.answer.comparison import Compared
from app.panels.choice import choosing
from app.panels.choice.labels import model_label
from app.state.lab_state import MAX_COMPARED
from app.state.pages.companions import informative_models
from app.state.session import history
from app.texts import N_, _, number
from components.mounting import Content
from models import catalogue
from models.analysis.per_byte import loss_per_byte
from models.thumbnails import encoded, pooled, thumbnails
from models.trace import Sketch, Trace

KEY = "all.second"
ACT = {"type": "act", "tool": KEY}
MOST = 6  # number of suggested models


def content(view: View, tool: Tool) -> Content:
    """Returns the models' answers and losses as a table, their tiles, and the models that can be added."""
    models = comparison.read_all(view.reading, view.state)
    compared = comparison.readable(models)
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
    sentence = comparison.takeaway(compared, view.state)
    header, _none = parts.composed(
        title, *([parts.note(sentence)] if sentence else []), _table(view, models, compared),
        parts.row(*tiles, look="beside"), _caution(compared))
    return header, arrays


def _caution(compared: list[Compared]) -> parts.Part:
    return parts.note([_("Each model was trained once: part of a difference is chance."), " ",
                       comparison.trained_unequally(compared)])


def _table(view: View, models: dict[str, Compared | str], compared: list[Compared]) -> parts.Part:
    """Returns one row per model: answer, losses and KL; the loss per byte if the models have different tokens."""
    differs = len({one.before.prompt.tokens for one in compared}) > 1
    rows = []
    for name, one in models.items():
        row = comparison.row(one, compared)
        label: parts.Text = model_label(name)
        if name != view.lab.name:
            label = [parts.press(label, {"type": "model", "name": name}), " ",
                     parts.press("✕", ACT | {"model": name})]
        if row["problem"] or isinstance(one, str):
            rows.append([label, row["problem"], *[""] * (2 + differs)])
            continue
        answer, loss = row["answer"], row["loss"]
        shown = [] if answer is None else [
            *([parts.word(answer["before"]), " ", {"share": answer["p_before"]}, " → "] if view.state.plan else []),
            parts.word(answer["after"], look="word answer-word"), " ", {"share": answer["p_after"]}]
        rows.append([label, shown, _pair(loss, bool(view.state.plan)),
                     *([_per_byte(one, view.reading.shown)] if differs else []),
                     "" if row["kl_from_first"] is None else f"{row['kl_from_first']:.3f}"])
    columns = [_("model"), comparison.prediction_title(compared), _("loss, nats"),
               *([_("loss per byte")] if differs else []), _("KL from the first, nats")]
    return parts.table(columns, [[cell if not isinstance(cell, tuple) else list(cell) for cell in row] for row in rows])


def _pair(values: tuple[float, float] | None, changed: bool) -> str:
    if values is None:
        return ""
    return f"{values[0]:.3f} → {values[1]:.3f}" if changed else f"{values[1]:.3f}"


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
