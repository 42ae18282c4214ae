"""Write it yourself: an encoder-decoder reads a typed output text, and predicts each of its words."""

from dataclasses import replace
from typing import Any

import numpy

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.state.fields import MAX_LINK_TEXT
from app.state.session import history
from app.texts import N_, _, number, spelt
from components.mounting import Content
from models.kind import TARGET
from models.prompt import TargetPrompt
from models.trace import PassResult

KEY = "answer.own"
ACT = {"type": "act", "tool": KEY}


def content(view: View, tool: Tool) -> Content:
    """Returns the probability of each word of the target after the words before it, and the mean loss. For a typed
    target, also returns the mean loss of the text that the model writes itself.
    """
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


def act(event: dict[str, Any]) -> None:
    """Sets the typed target; an empty one gives back the model's own output."""
    if isinstance(event.get("text"), str):
        history().do(replace(history().present, target=event["text"][:MAX_LINK_TEXT]), merge="target")


TOOLS = [Tool(KEY, N_("Write it yourself"), N_("forced target"), content, act=act,
              fits=lambda view: len(view.after.rows.get(TARGET, ())) > 1 and bool(view.after.outputs))]
