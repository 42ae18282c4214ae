"""Moment: one point of a training; its compact form as bytes, for the browser and for recorded trainings."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy
from numpy import ndarray

from models.analysis.answer.head_attribution import HeadAttribution
from models.analysis.answer.logit_lens import LogitLens
from models.kind import SELF
from models.trace import Trace

ANSWERS = 4  # number of tokens of the prediction
PREFIX = 4  # bytes of the length before each part of `joined`


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
