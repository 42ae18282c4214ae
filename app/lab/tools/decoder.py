"""Tools of an encoder-decoder: the source words of each written word, and an output text that the visitor types."""

from dataclasses import replace
from typing import Any

import numpy

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.state.fields import MAX_LINK_TEXT
from app.state.selection import CROSS
from app.state.session import history
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.kind import TARGET, TEXT
from models.prompt import TargetPrompt
from models.trace import PassResult

LAYER, HEAD = "layer", "head"
KEY = "answer.own"
ACT = {"type": "act", "tool": KEY}


def align(view: View, tool: Tool) -> Content:
    """Returns the two source words with the largest weight for each written word."""
    kind = view.lab.kind(CROSS)
    layer = min(view.state.selection.layer, kind.layers - 1)
    head = min(view.state.selection.head, kind.heads - 1)
    by = tool.setting(view, "by")
    maps = view.layer(kind=CROSS, layer=layer).weights
    weights = maps[head] if by == HEAD else maps.mean(0)
    target, source = spelt(view.after.rows[TARGET]), spelt(view.after.rows[TEXT])
    rows = []
    for position, row in enumerate(weights[:len(target)]):
        best = numpy.argsort(-row, kind="stable")[:2].tolist()
        written = target[position + 1] if position + 1 < len(target) else _("the end")
        rows.append([parts.word(written), *([parts.word(source[i]), " ", {"share": float(row[i])}] for i in best)])
    return parts.composed(
        parts.title(_("Which word became which?"), _("cross-attention of each word, layer {layer}",
                                                     layer=layer + 1), parts.choice(
            _("Weights"), {LAYER: _("mean of its heads"), HEAD: parts.short((CROSS, layer, head))}, by, name="by")),
        parts.table([_("written"), _("looks at"), _("then at")], rows))


def own(view: View, tool: Tool) -> Content:
    """Returns each target word's probability after those before it, the mean loss, and that of the model's own text."""
    typed = view.state.target
    head = [parts.title(_("Write it yourself"), _("probability of each word after the words before it")),
            parts.row(parts.field(_("Your text"), typed, act=ACT, field="text",
                                  placeholder=_("What would you write?")),
                      *([parts.button(_("The model's own"), ACT | {"text": ""})] if typed else []))]
    words = spelt(view.after.rows[TARGET])
    before, after = shares(view.before), shares(view.after)
    rows = []
    for i, (old, new) in enumerate(zip(before, after, strict=True)):
        output = view.after.outputs[i]
        best = spelt([output.names[output.top()[0]]])[0]
        rows.append([parts.word(words[i + 1]), [*([{"share": old}, " → "] if view.changed else []), {"share": new}],
                     "" if best == words[i + 1] else parts.word(best)])
    note: list[parts.Text] = [_("Mean loss: {loss} nats per token.", loss=number(loss(after), ".2f"))]
    if typed:
        own = compute.read(view.lab, view.reading.shown)
        note += [" ", _("The model's own text: {loss}.", loss=number(
            loss(shares(compute.traces_of(view.lab, own, view.state.plan)[1])), ".2f"))]
    return parts.composed(head, parts.table([_("word"), _("probability"), _("more probable")], rows),
                          parts.note(note))


def shares(seen: PassResult) -> list[float]:
    """Returns the probability of each token of the target after its start token."""
    assert isinstance(seen.prompt, TargetPrompt)
    return [float(output.distribution[token])
            for output, token in zip(seen.outputs, seen.prompt.target[1:], strict=False)]


def loss(probabilities: list[float]) -> float:
    """Returns the mean loss in nats."""
    return float(-numpy.log(numpy.maximum(probabilities, 1e-38)).mean())


def on_own(event: dict[str, Any]) -> None:
    """Sets the typed target; an empty one gives back the model's own output."""
    if isinstance(event.get("text"), str):
        history().do(replace(history().present, target=event["text"][:MAX_LINK_TEXT]), merge="target")


TOOLS = [
    Tool("answer.align", N_("Which word became which?"), N_("alignment"), align, tip="cross",
         settings={"by": (LAYER, HEAD)},
         fits=lambda view: TARGET in view.after.rows and any(kind.name == CROSS for kind in view.lab.kinds)),
    Tool(KEY, N_("Write it yourself"), N_("forced target"), own, act=on_own,
         fits=lambda view: len(view.after.rows.get(TARGET, ())) > 1 and bool(view.after.outputs))]
