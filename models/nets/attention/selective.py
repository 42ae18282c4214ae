"""Selective attention: a token may mask an earlier one for all later tokens.

    S = relu(L_0)             head 0's logits, never on BOS (column 0) and never on the token itself
    F[i, j] = sum_{k < i} S[k, j]        masking of key j by the queries before i
    A = softmax(L - F)                   the same F for every head of the layer, including head 0

Source: Leviathan, Kalman and Matias 2024, arXiv 2410.02703, section 3. Selective attention has as many parameters as
softmax attention, and the gradient flows through F. F never decreases along the text, so a masked token stays masked.
"""

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys
from models.nets.attention.cache import EvictingCache
from models.nets.attention.dot_product import Softmax


def selection(scores: Tensor) -> Tensor:
    """Returns S (B, N, N): how strongly query i masks key j for the queries after it; reads only head 0."""
    n = scores.shape[-1]
    # BOS and the token itself are protected; relu(-inf) = 0, so the causal mask needs no additional step.
    protected = torch.eye(n, dtype=torch.bool, device=scores.device)
    protected[:, 0] = True
    return scores[:, 0].relu().masked_fill(protected, 0.0)


def accumulate(selected: Tensor) -> Tensor:
    """Returns F (B, N, N) from S (B, N, N): F[i, j] = sum_{k < i} S[k, j]. Row 0 is 0; no column ever decreases."""
    return functional.pad(selected, (0, 0, 1, -1)).cumsum(dim=-2)


def memory_in_use(masks: list[Tensor], tau: float = 1.0) -> Tensor:
    """Returns the memory loss without its weight: the sum over layers of max_i M_i, divided by L · number of tokens.

    M_i = i - sum_k min(F[i, k], tau) / tau is the number of keys that query i still needs; a key with F >= tau is not
    needed. The result is the largest M_i of each layer as a fraction of the text's length, averaged over layers and
    texts.

    Source: Leviathan et al. 2024, arXiv 2410.02703, section 5, with the divisor L · tokens.
    """
    n = masks[0].shape[-1]
    position = torch.arange(1, n + 1, device=masks[0].device)
    needed = [position - (mask.clamp_max(tau) / tau).tril().sum(-1) for mask in masks]
    return torch.stack([layer.amax(-1).mean() for layer in needed]).mean() / n


class Selective(Softmax):
    """Softmax attention with the selective mask F."""

    selects = True
    title = N_("Selective")
    label, colour, dash = N_("selective"), 1, 0
    line = N_("Softmax; words can vote to hide earlier words.")
    formula = N_("A = softmax(L − F),  F[i, j] = Σ relu(L₀[k, j]) over j < k < i,  0 for the first token")
    published = "Leviathan et al. 2024, arXiv 2410.02703"

    @override
    def normalise(self, scores: Tensor, keys: Keys = OWN) -> tuple[Tensor, Tensor]:
        # there is one query, and the cache contains F accumulated over the queries before this query
        if isinstance(keys.cache, EvictingCache):
            mask = keys.cache.mask.unsqueeze(1)
            keys.cache.accumulate(scores[:, 0, 0])
            return (scores - mask.unsqueeze(1)).softmax(dim=-1), mask
        # F is kept in float32, because in bf16 a sum over 256 tokens loses small terms.
        mask = accumulate(selection(scores.float()))
        return (scores - mask.unsqueeze(1)).softmax(dim=-1).to(scores.dtype), mask

    @override
    def log_normaliser(self, scores: Tensor) -> Tensor:
        return (scores - accumulate(selection(scores.float())).unsqueeze(1)).logsumexp(dim=-1)
