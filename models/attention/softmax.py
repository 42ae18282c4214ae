"""Softmax attention: the plain Transformer's, against which every other type is read.

    A = softmax(q k^T / sqrt d) over the keys that a query sees          Vaswani et al. 2017, eq. 1

Rows of A sum to 1. Cost of the weights: N · M · C multiplications.
"""

from __future__ import annotations

from torch import Tensor

from models.attention.base import SelfAttention


class Softmax(SelfAttention):
    title = "Softmax"
    formula = "A = softmax(q kᵀ / √d)"
    source = "Vaswani et al. 2017, arXiv 1706.03762"

    def normalise(self, scores: Tensor) -> tuple[Tensor, None]:
        return scores.softmax(dim=-1), None
