"""Constant patterns (PAPA, arXiv 2211.03495): normalises the patterns and cuts them to a prompt's positions."""

import torch
from torch import Tensor


def seen(queries: int, keys: int, causal: bool) -> Tensor:
    """Returns a tensor (queries, keys): 1 if the key is visible to the query, else 0."""
    every = torch.ones(queries, keys)
    return every.tril() if causal else every


def normalised(matrices: Tensor, causal: bool) -> Tensor:
    """Returns matrices (..., N, M) with rows that sum to 1; a row of zeros becomes uniform over the visible keys."""
    sums, visible = matrices.sum(-1, keepdim=True), seen(matrices.shape[-2], matrices.shape[-1], causal)
    return torch.where(sums > 0, matrices / sums, visible / visible.sum(-1, keepdim=True))


def cut_to(matrices: Tensor, rows: Tensor, columns: Tensor, causal: bool) -> Tensor:
    """Returns matrices (L, H, size, size) cut to a text's positions (L, H, rows, columns), with rows that sum to 1.

    A row of zeros, which no training text reached, becomes uniform over the keys visible to its query.
    """
    return normalised(matrices[:, :, rows[:, None], columns], causal)
