"""run(lab, text, plan) -> Trace: the only door between the app and the models."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy
import torch
from numpy import ndarray

from models.attention.base import Record, beside_untouched
from models.heads import TRAINED, HeadPlan
from models.lab import Lab
from models.tasks.base import Prompt


@dataclass(frozen=True)
class Output:
    """A distribution over the vocabulary, at one position.

    Attributes:
        position: index of the token after which it stands.
        distribution: (V,) float32 probabilities, in the vocabulary's order.
        names: V texts, in the vocabulary's order.
        target: id of the right answer where it is known, else -1.
    """

    position: int
    distribution: ndarray
    names: tuple[str, ...]
    target: int = -1

    @functools.cached_property
    def order(self) -> ndarray:
        """(V,) ids, the most probable first."""
        return numpy.argsort(-self.distribution, kind="stable")

    @property
    def labels(self) -> list[str]:
        """V texts, the most probable first."""
        return [self.names[i] for i in self.order]

    @property
    def probabilities(self) -> ndarray:
        """(V,) float32, the highest first; sums to 1."""
        return self.distribution[self.order]


@dataclass(frozen=True)
class Trace:
    """What one forward pass did. Arrays are read-only; L layers, H heads, N queries, M = N keys.

    Attributes:
        tokens: N texts.
        scores: kind -> (L, H, N, M) what is normalised: after scale and causal mask (-inf), before F.
        live: kind -> (L, H, N, M) weights that the model computes.
        weights: kind -> (L, H, N, M) weights that the plan lets through.
        mask: F, (L, N, N), of selective attention; else None.
        norms: kind -> (L, H, N) norm of each head's gated output, before W_O.
        outputs: a prediction for each position that the text asks about, in order.
        losses: (N,) nats for the token after each position; NaN where none is known.
        prompt: the text as it was read.
    """

    tokens: list[str]
    scores: Mapping[str, ndarray]
    live: Mapping[str, ndarray]
    weights: Mapping[str, ndarray]
    mask: ndarray | None
    norms: Mapping[str, ndarray]
    outputs: tuple[Output, ...]
    losses: ndarray
    prompt: Prompt

    @property
    def output(self) -> Output | None:
        """The last prediction; None if the text asks for none."""
        return self.outputs[-1] if self.outputs else None

    @property
    def loss(self) -> float:
        """Mean of the known losses, nats; NaN if none is known."""
        known = self.losses[~numpy.isnan(self.losses)]
        return float(known.mean()) if known.size else float("nan")

    @property
    def nbytes(self) -> int:
        """Memory of the arrays; one that serves as live and as used weights counts once."""
        arrays = [a for m in (self.scores, self.live, self.weights, self.norms) for a in m.values()]
        arrays += [self.losses, *(output.distribution for output in self.outputs)]
        arrays += [] if self.mask is None else [self.mask]
        return sum({id(array): array.nbytes for array in arrays}.values())


def run(lab: Lab, text: str, plan: HeadPlan = HeadPlan()) -> Trace:
    """One forward pass over `text` under `plan`, with everything captured.

    Raises:
        InputError: the text cannot be read; the message says what and where.
        ValueError: the plan names a head that the model hasn't.
    """
    return run_prompt(lab, lab.read(text), plan)


def run_prompt(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan()) -> Trace:
    """`run` for a text that has been read already."""
    return _run(lab, prompt, [plan])[0]


def run_both(lab: Lab, prompt: Prompt, plan: HeadPlan) -> tuple[Trace, Trace]:
    """As trained and under the plan: the same as two calls of run_prompt, in less time than two."""
    before, after = _run(lab, prompt, [HeadPlan(), plan])
    return before, after


@torch.inference_mode()
def _run(lab: Lab, prompt: Prompt, plans: list[HeadPlan]) -> list[Trace]:
    """One forward pass over a batch that holds the prompt once for each plan; one Trace a plan."""
    records: list[Record] = []
    n = len(prompt.ids)
    interventions = lab.interventions(plans[-1], n)
    if interventions and len(plans) > 1:
        trained = [block.attention.factor(TRAINED, n) for block in lab.model.blocks]
        interventions = [beside_untouched(*pair) for pair in zip(interventions, trained, strict=True)]
    hidden = lab.model(torch.tensor([prompt.ids] * len(plans)), interventions, records)
    wanted = sorted({*prompt.asked, *(i for i, target in enumerate(prompt.targets) if target >= 0)})
    log_probabilities = lab.model.logits(hidden[:, wanted]).log_softmax(-1).numpy()
    return [_trace(lab, prompt, plan, records, row, dict(zip(wanted, log_probabilities[row], strict=True)))
            for row, plan in enumerate(plans)]


def _trace(lab: Lab, prompt: Prompt, plan: HeadPlan, records: list[Record], row: int,
           log_probabilities: dict[int, ndarray]) -> Trace:
    """The Trace of one row of the batch; `log_probabilities` by position."""
    losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
    for position, target in enumerate(prompt.targets):
        if target >= 0:
            losses[position] = -log_probabilities[position][target]
    live = _stack(record.live[row] for record in records)
    constants = any(state.constant for state in plan.heads.values())
    return Trace(
        tokens=list(prompt.tokens),
        scores={"self": _stack(record.scores[row] for record in records)},
        live={"self": live},
        weights={"self": _stack(record.weights[row] for record in records) if constants else live},
        mask=None if records[0].mask is None else _stack(record.mask[row] for record in records),
        norms={"self": _stack(record.norms[row] for record in records)},
        outputs=tuple(Output(p, _fixed(numpy.exp(log_probabilities[p])), lab.task.labels, prompt.targets[p])
                      for p in prompt.asked),
        losses=_fixed(losses), prompt=prompt)


@torch.inference_mode()
def generate(lab: Lab, prompt: Prompt, plan: HeadPlan = HeadPlan(), count: int = 40) -> Iterator[str]:
    """The most probable continuation under the plan, a token at a time; stops at BOS or at the limit.

    Every step is a whole forward pass, so constant heads, gates and F mean what they mean in `run`.
    """
    ids = list(prompt.ids)
    for _ in range(min(count, lab.limit - len(ids))):
        hidden = lab.model(torch.tensor([ids]), lab.interventions(plan, len(ids)))[0, -1]
        ids.append(int(lab.model.logits(hidden).argmax()))
        if ids[-1] == 0:
            return
        yield lab.task.labels[ids[-1]]


def divergence(before: Output, after: Output) -> float:
    """KL(before ‖ after) in nats, at least 0: what is lost by believing `after` where `before` holds."""
    p, q = before.distribution.astype(numpy.float64), after.distribution.astype(numpy.float64)
    seen = p > 0
    return max(0.0, float((p[seen] * numpy.log(p[seen] / numpy.maximum(q[seen], 1e-30))).sum()))


def entropy(weights: ndarray) -> ndarray:
    """(..., N, M) rows that sum to 1 -> (..., N) their entropy in nats, 0 to ln M."""
    logs = numpy.log(weights, out=numpy.zeros_like(weights), where=weights > 0)
    return (weights * -logs).sum(-1) + 0.0  # + 0.0 turns -0.0 into 0.0


def row_entropy(weights: ndarray) -> ndarray:
    """`entropy` of rows that need not sum to 1, as relu²'s: each is made to sum to 1 first."""
    return entropy(weights / weights.sum(-1, keepdims=True).clip(1e-9))


def _stack(layers: Iterator[torch.Tensor]) -> ndarray:
    return _fixed(torch.stack(list(layers)).float().numpy())


def _fixed(array: ndarray) -> ndarray:
    """The array, read-only from now on: visitors share traces."""
    array.flags.writeable = False
    return array
