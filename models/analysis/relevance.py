"""Relevance of heads: layer-wise relevance propagation from the top-1 logit down to the embeddings.

    R(u) = sum over v of w(u -> v) R(v),       w(u -> v) = W[u, v] u / v,       v = sum over u of W[u, v] u

Attention patterns, computed gates and the scales of norms are constants, and gelu(u) is u times a constant (Voita et
al. 2019, appendix A, after Ding et al. 2017). The forward pass is then linear without biases, see
models/nets/linearised.py, so R(u) is u times its gradient, and the relevance of every layer sums to the logit. The
rule does not hold for gated attention units, which multiply two parts that both depend on the text.

The relevance of a head is the sum over its neurons before W_O. The share of a head is the absolute value of its
relevance, divided by the sum of these values over the heads of its layer, averaged over the predictions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from models.kind import SELF
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.nets.attention.base import Record
from models.nets.linearised import Linearised
from models.prompt import Prompt

MAX_PREDICTIONS = 24  # largest number of predictions of a prompt that are used, evenly spaced over all predictions


def applies(lab: Lab) -> bool:
    """Returns True if the rule holds for this model: it is one of our models and has no gated attention units."""
    if isinstance(lab, StackLab):
        return not lab.attention.replaces_mlp
    return isinstance(lab, Seq2SeqLab)


def propagated(lab: Lab, prompt: Prompt, positions: Sequence[int]) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Returns the top-1 logits at P positions, the relevance of every head, and the relevance of the embeddings.

    Args:
        positions: P positions in the predicting token sequence, which is the prompt or the decoder's sequence.

    Returns:
        logits (P,), relevance by block -> (P, L, H), and the relevance of the embeddings (P,), equal to the logits.

    Raises:
        ValueError: `applies` returns False for the model.
    """
    records: dict[str, list[Record]] = {kind.name: [] for kind in lab.kinds}
    with Linearised() as linearised:
        if isinstance(lab, StackLab) and applies(lab):
            hidden = lab.model(torch.tensor([prompt.ids]), records=records[SELF])
        elif isinstance(lab, Seq2SeqLab):
            target = lab.anchored(prompt).target
            hidden = lab.model(torch.tensor([prompt.ids]), torch.tensor([target]), records=records)
        else:
            raise ValueError(f"{lab.name}: its layers are not made of sums alone")
    logits = lab.model.logits(hidden[0, list(positions)])
    top = logits.max(-1).values
    embeddings = linearised.embeddings
    leaves = [*embeddings, *(record.outputs for layers in records.values() for record in layers)]
    gradients = torch.autograd.grad(top, leaves, torch.eye(len(top)), is_grads_batched=True)  # shape (P, 1, ...)
    reached = torch.stack([(leaf * gradient).flatten(1).sum(1)
                           for leaf, gradient in zip(embeddings, gradients, strict=False)]).sum(0)
    of_heads = iter(gradients[len(embeddings):])
    relevance = {kind: torch.stack([(record.outputs * next(of_heads)).sum((1, 3, 4)) for record in layers], 1)
                 for kind, layers in records.items()}
    return top.detach(), {kind: values.detach() for kind, values in relevance.items()}, reached.detach()


def shares(lab: Lab, prompt: Prompt, positions: Sequence[int]) -> dict[str, Tensor]:
    """Returns block -> (L, H): each head's mean fraction of the absolute relevance of its layer, which sum to 1.

    Args:
        positions: as in `propagated`; if there are more than MAX_PREDICTIONS, evenly spaced ones are used.
    """
    if len(positions) > MAX_PREDICTIONS:
        positions = [positions[i * len(positions) // MAX_PREDICTIONS] for i in range(MAX_PREDICTIONS)]
    _, relevance, _ = propagated(lab, prompt, positions)
    return {kind: (values.abs() / values.abs().sum(-1, keepdim=True).clamp_min(1e-12)).mean(0)
            for kind, values in relevance.items()}
