"""Relevance of heads: layer-wise relevance propagation from the top-1 logit down to the embeddings.

    R(u) = sum over v of w(u -> v) R(v),       w(u -> v) = W[u, v] u / v,       v = sum over u of W[u, v] u

Every nonlinearity is replaced by its linearisation at the values of the pass (Voita et al. 2019, appendix A, after Ding
et al. 2017):

    norm(x) = x · w / RMS(x)          with RMS(x) constant
    gelu(u) = u · (gelu(u) / u)       with the ratio constant
    softmax, sigmoid                  constant: attention patterns and computed gates are factors

The forward pass is then linear in the embeddings and without biases, so R(u) is u times its gradient, and the relevance
of every layer sums to the logit. The forward methods of the networks run unchanged inside the context `Linearised`; no
module is modified. The rule does not hold for gated attention units, which multiply two parts that both depend on the
text.

The code computes gradient x input of the linearised model. LXT (Achtibat et al. 2024), a library for layer-wise
relevance propagation, states in its documentation that the method is patented and free only for personal and scientific
use; no code of LXT is used here.

The relevance of a head is the sum over its neurons before W_O. The share of a head is the absolute value of its
relevance, divided by the sum of these values over the heads of its layer, averaged over the predictions.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from models.kind import SELF, TARGET, TEXT
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.nets.attention.base import Record
from models.plan import HeadPlan
from models.prompt import Prompt
from models.trace import Arrays, fixed

MAX_PREDICTIONS = 24  # largest number of predictions of a prompt that are used, evenly spaced over all predictions


class Linearised(TorchFunctionMode):
    """A context in which the forward passes of this thread are linearised.

    Attributes:
        embeddings: the embedded token sequences of the pass, in order, as leaves of the autograd graph.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embeddings: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = _REPLACEMENTS.get(func, func)(*args, **kwargs or {})
        if func is functional.embedding:
            self.embeddings.append(result.requires_grad_())
        return result


def _norm(x: Tensor, shape: Any, weight: Tensor, eps: float | None = None) -> Tensor:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return x * ((x.detach().square().mean(-1, keepdim=True) + eps).rsqrt() * weight)


def _gelu(x: Tensor, approximate: str) -> Tensor:
    u = x.detach()
    return x * (0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))))  # x times the ratio gelu(u) / u


def _constant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *args, **kwargs: function(*args, **kwargs).detach()


_REPLACEMENTS: dict[Any, Callable[..., Tensor]] = {
    functional.rms_norm: _norm, functional.gelu: _gelu,
    Tensor.softmax: _constant(Tensor.softmax), Tensor.sigmoid: _constant(Tensor.sigmoid)}


def applies(lab: Lab) -> bool:
    """Returns True if the rule holds for this model: it is one of our models and has no gated attention units."""
    if isinstance(lab, StackLab):
        return not lab.attention.replaces_mlp
    return isinstance(lab, Seq2SeqLab)


@dataclass(frozen=True, eq=False)
class HeadRelevance(Arrays):
    """Relevance of heads and tokens for a logit, or for the difference of two logits. Arrays are read-only."""

    heads: Mapping[str, ndarray]  # block -> relevance (L, H) in logits, summed over the positions of the head's output
    rows: Mapping[str, ndarray]  # TEXT, TARGET -> relevance (N,) of the embedded tokens, which sum to `total`
    total: float  # the logit of `token`, or the logit of `token` minus the logit of `against`
    # token and against: token ids; `against` is None for a single logit
    token: int
    against: int | None
    position: int  # position in the predicting token sequence


def relevance_of(lab: Lab, prompt: Prompt, plan: HeadPlan, position: int, token: int | None = None,
                 against: int | None = None) -> HeadRelevance:
    """Returns gradient x input of the linearised model for one logit, or for the difference of two."""
    passed = _linear_pass(lab, prompt, [position], plan)
    first = int(passed.logits[0].argmax()) if token is None else token
    score = passed.logits[0, first] - (0 if against is None else passed.logits[0, against])
    of_embeddings, of_heads = passed.times_gradient(score.unsqueeze(0))
    rows = dict(zip((TEXT, TARGET), of_embeddings, strict=False))
    return HeadRelevance({kind: fixed(values[0].sum(-1).numpy()) for kind, values in of_heads.items()},
                         {row: fixed(values[0].numpy()) for row, values in rows.items()}, float(score.detach()), first,
                         against, position)


def propagated(lab: Lab, prompt: Prompt, positions: Sequence[int]) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Returns the top-1 logits at P positions, the relevance of every head, and the relevance of the embeddings."""
    passed = _linear_pass(lab, prompt, positions, HeadPlan())
    top = passed.logits.max(-1).values
    of_embeddings, of_heads = passed.times_gradient(top)
    reached = torch.stack([values.sum(-1) for values in of_embeddings]).sum(0)
    return top.detach(), {kind: values.sum(-1) for kind, values in of_heads.items()}, reached


@dataclass(frozen=True, eq=False)
class _LinearPass:
    """One linearised pass: logits (P, V), the embedded token sequences, and the records of each block."""

    logits: Tensor
    embeddings: list[Tensor]
    records: dict[str, list[Record]]

    def times_gradient(self, scores: Tensor) -> tuple[list[Tensor], dict[str, Tensor]]:
        """Returns input x gradient of P scores: (P, N) per embedded sequence, and block -> (P, L, H, N)."""
        leaves = [*self.embeddings, *(record.outputs for layers in self.records.values() for record in layers)]
        gradients = torch.autograd.grad(scores, leaves, torch.eye(len(scores)),
                                        is_grads_batched=True)  # shape (P, 1, ...)
        products = iter((leaf.detach() * gradient)[:, 0].sum(-1) for leaf, gradient in zip(leaves, gradients,
                                                                                           strict=True))
        of_embeddings = [next(products) for _ in self.embeddings]
        return of_embeddings, {kind: torch.stack([next(products) for _ in layers], 1)
                               for kind, layers in self.records.items()}


def _linear_pass(lab: Lab, prompt: Prompt, positions: Sequence[int], plan: HeadPlan) -> _LinearPass:
    records: dict[str, list[Record]] = {kind.name: [] for kind in lab.kinds}
    n = len(prompt.ids)
    if isinstance(lab, StackLab) and applies(lab):
        changes = lab.interventions(plan, n, lab.source_values(prompt, plan))
        with Linearised() as linearised:
            hidden = lab.model(torch.tensor([prompt.ids]), changes, records[SELF])
    elif isinstance(lab, Seq2SeqLab):
        target = lab.anchored(prompt).target
        by_block = lab.interventions(plan, n, len(target), lab.source_values(prompt, plan, target))
        with Linearised() as linearised:
            hidden = lab.model(torch.tensor([prompt.ids]), torch.tensor([target]), by_block, records)
    else:
        raise ValueError(f"{lab.name}: its layers are not made of sums alone")
    return _LinearPass(lab.model.logits(hidden[0, list(positions)]), linearised.embeddings, records)


def shares(lab: Lab, prompt: Prompt, positions: Sequence[int]) -> dict[str, Tensor]:
    """Returns block -> (L, H): each head's mean fraction of the absolute relevance of its layer, which sum to 1."""
    if len(positions) > MAX_PREDICTIONS:
        positions = [positions[i * len(positions) // MAX_PREDICTIONS] for i in range(MAX_PREDICTIONS)]
    _, relevance, _ = propagated(lab, prompt, positions)
    return {kind: (values.abs() / values.abs().sum(-1, keepdim=True).clamp_min(1e-12)).mean(0)
            for kind, values in relevance.items()}
