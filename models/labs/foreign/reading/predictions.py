"""Converts the output of an imported model to predicted distributions, losses or vectors."""

from dataclasses import dataclass

import numpy
from numpy import ndarray

from models.labs.foreign.running.positions import Result, blocks
from models.prompt import Prompt
from models.trace import Output, fixed


@dataclass(frozen=True)
class Answer:
    """The results of a model; the attributes are those of PassResult in models/trace.py."""

    outputs: tuple[Output, ...]
    losses: ndarray
    vectors: ndarray | None = None


def no_losses(prompt: Prompt) -> ndarray:
    """Returns the losses (N,) of a prompt without targets: NaN at every position."""
    return fixed(numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32))


def predict_tokens(prompt: Prompt, result: Result, labels: tuple[str, ...]) -> Answer:
    """Returns the predicted distributions at the positions `predict_at`, and the loss of each token with a target."""
    losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
    distributions: dict[int, ndarray] = {}
    positions = set(prompt.predict_at)
    wanted = [i for i in range(len(prompt.ids)) if i in positions or prompt.targets[i] >= 0]
    for block in blocks(wanted, len(labels)):
        logits = result.logits_at(block).float()
        total = logits.logsumexp(-1)
        for row, i in enumerate(block):
            if prompt.targets[i] >= 0:
                losses[i] = float(total[row] - logits[row, prompt.targets[i]])
            if i in positions:
                distributions[i] = fixed(logits[row].softmax(-1).numpy())
    outputs = tuple(Output(i, distributions[i], labels, prompt.targets[i]) for i in prompt.predict_at)
    return Answer(outputs, fixed(losses))
