"""Disagreement of heads: three terms that are maximised in training so that heads differ (Li et al. 2018).

    D_sub = -1/H² sum_i sum_j cos(V_i, V_j)        V_i = X W_V, projected values
    D_pos = -1/H² sum_i sum_j |A_i · A_j|          elementwise product, entries summed, divided by the number of queries
    D_out = -1/H² sum_i sum_j cos(O_i, O_j)        O_i = A_i V_i, outputs before W_O

The terms with i = j are in, as in the source: D_sub and D_out are -|mean of the heads' unit vectors|², from -1 (all
heads alike) over -1/H (orthogonal) to 0. Cosines are of one token's vectors, and averaged over tokens. The source sums
D_pos over the whole matrix, so that it grows with the text; ours is divided by the number of queries: -1 where all
heads put all weight on the same key, -1/H where they never share one. Padding is left out of all three.

Source: Li, Tu, Yang, Lyu and Zhang, EMNLP 2018, arXiv 1810.10183, equations 4 to 8; objective: likelihood + D.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from models.nets.attention.base import Record

TERMS = ("sub", "pos", "out")


def alike(vectors: Tensor) -> Tensor:
    """(B, H, N, D) vectors of heads -> (B, N) the mean over all pairs of heads of their cosine, -D of each token."""
    return functional.normalize(vectors.float(), dim=-1).mean(1).square().sum(-1)


def overlap(weights: Tensor) -> Tensor:
    """(B, H, N, M) weights, at least 0 -> (B, N) the mean over pairs of heads of what rows share, sum of products."""
    return weights.float().mean(1).square().sum(-1)


def disagreement(record: Record, term: str, queries: Tensor, keys: Tensor) -> Tensor:
    """D of one layer, a scalar: at most 0, higher the more its heads differ.

    Args:
        term: one of TERMS.
        queries: (B, N) bool, True for tokens, False for padding.
        keys: (B, M) the same of the keys.
    """
    if term == "pos":
        return -_mean(overlap(record.live), queries)
    vectors = record.values if term == "sub" else record.outputs
    if vectors is None:
        raise ValueError("this record has neither values nor outputs")
    return -_mean(alike(vectors), keys if term == "sub" else queries)


def total(records: Sequence[tuple[Record, Tensor, Tensor]], terms: Sequence[str]) -> Tensor:
    """The sum over terms of the mean over layers, of all kinds; of each layer its record, queries and keys."""
    layers = [torch.stack([disagreement(record, term, queries, keys) for record, queries, keys in records])
              for term in terms]
    return torch.stack([term.mean() for term in layers]).sum()


def _mean(values: Tensor, exists: Tensor) -> Tensor:
    """Over all tokens that there are, (B, N) and (B, N)."""
    return (values * exists).sum() / exists.sum()
