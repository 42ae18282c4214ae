"""Constant matrices on a grid of places, and what of them a text's tokens stand on (PAPA, arXiv 2211.03495)."""

from __future__ import annotations

import torch
from torch import Tensor


def seen(queries: int, keys: int, causal: bool) -> Tensor:
    """(queries, keys) 1 where a query sees a key, else 0."""
    every = torch.ones(queries, keys)
    return every.tril() if causal else every


def cut_to(matrices: Tensor, rows: Tensor, columns: Tensor, causal: bool) -> Tensor:
    """(L, H, size, size) -> (L, H, rows, columns): cut to a text's places, rows renormalised over its keys.

    A row of which nothing is known, as no text was as long, weighs all keys that it sees alike.
    """
    part = matrices[:, :, rows[:, None], columns]
    there = seen(len(rows), len(columns), causal)
    sums = part.sum(-1, keepdim=True)
    return torch.where(sums > 0, part / sums, there / there.sum(-1, keepdim=True))
