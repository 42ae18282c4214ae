"""Constant patterns (PAPA, arXiv 2211.03495): normalises them and cuts them to a prompt."""

from __future__ import annotations

import torch
from torch import Tensor


def seen(queries: int, keys: int, causal: bool) -> Tensor:
    """Returns (queries, keys): 1 where a query sees a key, else 0."""
    every = torch.ones(queries, keys)
    return every.tril() if causal else every


def normalised(matrices: Tensor, causal: bool) -> Tensor:
    """Returns (..., N, M) with rows that sum to 1; a row of zeros becomes uniform over the keys that its query sees."""
    sums, there = matrices.sum(-1, keepdim=True), seen(matrices.shape[-2], matrices.shape[-1], causal)
    return torch.where(sums > 0, matrices / sums, there / there.sum(-1, keepdim=True))


def cut_to(matrices: Tensor, rows: Tensor, columns: Tensor, causal: bool) -> Tensor:
    """Returns (L, H, size, size) matrices cut to a text's positions, (L, H, rows, columns), with rows that sum to 1.

    A row without any training text of that length becomes uniform over the keys that it sees.
    """
    return normalised(matrices[:, :, rows[:, None], columns], causal)
