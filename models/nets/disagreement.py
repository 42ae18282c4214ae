"""Disagreement of heads: three terms that are maximised in training so that heads differ (Li et al. 2018).

    D_sub = -1/H² sum_i sum_j cos(V_i, V_j)        V_i = X W_V, projected values
    D_pos = -1/H² sum_i sum_j |A_i · A_j|          sum of the elementwise product, divided by the number of queries
    D_out = -1/H² sum_i sum_j cos(O_i, O_j)        O_i = A_i V_i, outputs before W_O

The terms with i = j are included, as in the source. So D_sub and D_out equal -|mean of the heads' unit vectors|², which
is -1 if all vectors are equal, -1/H if they are orthogonal, and at most 0. Cosines are computed per token and
averaged over tokens. The source sums D_pos over the whole matrix, so that D_pos grows with the text. Here D_pos is
divided by the number of queries: -1 if all heads attend to one and the same key, -1/H if no two heads attend to the
same key. Padding is left out of all three terms.

Source: Li, Tu, Yang, Lyu and Zhang, EMNLP 2018, arXiv 1810.10183, equations 4 to 8; objective: likelihood + D.
"""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from models.nets.attention.base import Record

TERMS = ("sub", "pos", "out")


def alike(vectors: Tensor) -> Tensor:
    """Returns, for each token (B, N), the mean cosine over all pairs of heads; the disagreement is minus this."""
    return functional.normalize(vectors.float(), dim=-1).mean(1).square().sum(-1)


def overlap(weights: Tensor) -> Tensor:
    """Returns, for each token (B, N), the mean over pairs of heads of their weights' product, summed over keys."""
    return weights.float().mean(1).square().sum(-1)


def disagreement(record: Record, term: str, queries: Tensor, keys: Tensor) -> Tensor:
    """Returns D of one layer, at most 0; `queries` (B, N) and `keys` (B, M) are False for padding."""
    if term == "pos":
        return -_mean(overlap(record.live), queries)
    return -_mean(alike(record.values), keys) if term == "sub" else -_mean(alike(record.outputs), queries)


def total(records: Sequence[tuple[Record, Tensor, Tensor]], terms: Sequence[str]) -> Tensor:
    """Returns the sum over terms of the mean over the layers of all blocks."""
    layers = [torch.stack([disagreement(record, term, queries, keys) for record, queries, keys in records])
              for term in terms]
    return torch.stack([term.mean() for term in layers]).sum()


def _mean(values: Tensor, exists: Tensor) -> Tensor:
    """Returns the mean of values (B, N) over the tokens where `exists` (B, N) is True."""
    return (values * exists).sum() / exists.sum()
