"""Moment: one point of a training; its compact form as bytes, for the browser and recordings; HTML for notebooks."""

import base64
import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy
from numpy import ndarray

from models.analysis.answer.head_attribution import HeadAttribution
from models.analysis.answer.logit_lens import LogitLens
from models.kind import SELF
from models.trace import Trace

ANSWERS = 4  # number of tokens of the prediction
PREFIX = 4  # bytes of the length before each part of `joined`
WIDTH, HEIGHT, LEFT = 560, 150, 44  # px of the curve; px left of it
# Draws the tiles of the moment that the slider shows. Layer 1 is at the bottom, as in the Lab.
SCRIPT = """
(root => {
  const { moments, tokens, layers, heads } = JSON.parse(root.dataset.moments);
  const patterns = Uint8Array.from(atob(root.dataset.patterns), sign => sign.charCodeAt(0));
  const [slider, canvas, dot] = ['input', 'canvas', 'circle'].map(name => root.querySelector(name));
  const [cell, step] = [5, tokens * 5 + 10];
  [canvas.width, canvas.height] = [heads * step, layers * step];
  const show = () => {
    const moment = moments[slider.value];
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, canvas.width, canvas.height);
    let at = (slider.value * patterns.length) / moments.length;
    for (let layer = 0; layer < layers; layer++)
      for (let head = 0; head < heads; head++)
        for (let row = 0; row < tokens; row++)
          for (let column = 0; column <= row; column++) {
            context.fillStyle = `rgb(64 96 255 / ${patterns[at++] / 255})`;
            context.fillRect(head * step + column * cell, (layers - 1 - layer) * step + row * cell, cell, cell);
          }
    dot.setAttribute('cx', moment.x);
    dot.setAttribute('cy', moment.y);
    root.querySelector('output').textContent = moment.text;
  };
  slider.oninput = show;
  show();
})(document.getElementById(%s));
"""


@dataclass(frozen=True, eq=False)
class Moment:
    """One point of a training.

    Attributes:
        step: number of optimiser steps that are done.
        loss: cross-entropy in nats of the answers to the held-out sequences.
        accuracy: fraction of right answers to the held-out sequences, 0 to 1.
        trace: pass over the watched text under the plan of the training.
        lens: the prediction after each layer, from the same pass.
        contributions: what each head and MLP adds to the logit of the predicted token, from the same pass.
    """

    step: int
    loss: float
    accuracy: float
    trace: Trace
    lens: LogitLens
    contributions: HeadAttribution

    def packed(self) -> bytes:
        """Returns the moment as bytes, about 1 kB: one line of JSON, then the patterns.

        The patterns are L · H lower triangles of round(255 · sqrt(weight)), row by row.
        """
        output = self.trace.output
        assert output is not None  # every text of a task has a prediction
        head = {"step": self.step, "loss": round(self.loss, 4), "accuracy": round(self.accuracy, 4),
                "tokens": len(self.trace.tokens), "shape": self.trace.weights[SELF].shape[:2],
                "answer": [[output.names[i], round(float(output.distribution[i]), 3)] for i in output.top(ANSWERS)],
                "lens": [[str(label), round(float(first), 3), round(float(last), 3)] for label, first, last in zip(
                    self.lens.labels[:, -1, 0], self.lens.probabilities[:, -1, 0], self.lens.final[:, -1],
                    strict=True)],
                "heads": self.contributions.heads[SELF].round(2).tolist(),
                "rest": {name: round(value, 2) for name, value in self.contributions.rest.items()}}
        return json.dumps(head, separators=(",", ":")).encode() + b"\n" + triangles(self.trace.weights[SELF])


def triangles(weights: ndarray) -> bytes:
    """Returns patterns (L, H, N, N) as bytes: lower triangles of round(255 · sqrt(weight))."""
    rows, columns = numpy.tril_indices(weights.shape[-1])
    return (255 * numpy.sqrt(weights[..., rows, columns].clip(0, 1))).round().astype(numpy.uint8).tobytes()


def joined(parts: Iterable[bytes]) -> bytes:
    """Returns byte strings as one, each after its length."""
    return b"".join(len(part).to_bytes(PREFIX, "big") + part for part in parts)


def divided(data: bytes) -> Iterator[bytes]:
    """Yields the parts that `joined` put together; damaged bytes raise ValueError."""
    place = 0
    while place < len(data):
        start = place + PREFIX
        length = int.from_bytes(data[place:start], "big")
        if start + length > len(data):
            raise ValueError("the recording ends within a moment")
        yield data[start:start + length]
        place = start + length


def html(title: str, baseline: float, packed: Sequence[bytes]) -> str:
    """Returns HTML of a training; without scripts, as on code hosts, only its curve and its result are shown.

    `baseline` is the accuracy without attention, a line beside the curve; `packed` are the moments, see Moment.packed.
    """
    parts = [data.partition(b"\n") for data in packed]
    heads: list[dict[str, Any]] = [json.loads(line) for line, _newline, _body in parts]
    steps = heads[-1]["step"] or 1

    def y(share: float) -> float:
        return round(HEIGHT - 10 - (HEIGHT - 20) * share, 1)

    moments = [{"x": round(LEFT + (WIDTH - LEFT - 10) * head["step"] / steps, 1), "y": y(head["accuracy"]),
                "text": f"Step {head['step']}: {head['accuracy']:.1%} right, loss {head['loss']:.2f} nats. Prediction: "
                        f"{head['answer'][0][0]} ({head['answer'][0][1]:.1%})"} for head in heads]
    layers, count = heads[0]["shape"]
    content = json.dumps({"moments": moments, "tokens": heads[0]["tokens"], "layers": layers, "heads": count})
    patterns = base64.b64encode(b"".join(body for _line, _newline, body in parts)).decode()
    points = " ".join(f"{moment['x']},{moment['y']}" for moment in moments)
    grid = "".join(f'<path d="M{LEFT} {y(share)}H{WIDTH - 10}" stroke="#999" stroke-width="0.5"/><text x="{LEFT - 8}" '
                   f'y="{y(share) + 4}" text-anchor="end">{share:.0%}</text>' for share in (0, 0.5, 1))
    name = f"training-{uuid.uuid4().hex}"
    return (
        f'<div id="{name}" data-moments="{escape(content)}" data-patterns="{patterns}" style="max-width: {WIDTH}px">'
        f"<p><b>{escape(title)}</b>: {heads[-1]['accuracy']:.1%} right after {heads[-1]['step']} steps, without "
        f"attention {baseline:.1%}</p>"
        f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" aria-label="Accuracy during the training" '
        f'fill="currentColor" font-size="12">{grid}<path d="M{LEFT} {y(baseline)}H{WIDTH - 10}" stroke="#999" '
        f'stroke-dasharray="2 4"/><polyline points="{points}" fill="none" stroke="#4060ff" stroke-width="2.5"/>'
        f'<circle r="5" cx="{moments[-1]["x"]}" cy="{moments[-1]["y"]}" fill="#4060ff"/></svg>'
        f'<input type="range" min="0" max="{len(moments) - 1}" value="{len(moments) - 1}" aria-label="Moment of the '
        f'training" style="width: {WIDTH - LEFT}px; margin-left: {LEFT - 8}px"><p><output></output></p>'
        '<p>Attention patterns: layers from below, heads across; rows are queries, columns are keys.</p>'
        f"<canvas></canvas><script>{SCRIPT % json.dumps(name)}</script></div>")
