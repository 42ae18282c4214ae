"""Entropy-invariant softmax: scores grow with the number of keys, so that the entropy does not have to grow with it.

    A = softmax(log_512(n) · q k^T / sqrt d),   n = number of keys visible to the query      Su Jianlin, kexue 8823

In training at one length without a causal mask, this factor is a constant temperature; see temperature.py.
"""

import torch
from torch import Tensor
from typing_extensions import override

from models.messages import N_
from models.nets.attention.scale import SOURCE_BASE, log_factor
from models.nets.attention.softmax import Softmax


class LogN(Softmax):
    """Softmax attention with log n scaling."""

    title = N_("Log n")
    label, colour, dash = N_("log n"), 2, 2
    line = N_("Softmax, sharper with more words (entropy-invariant).")
    formula = "A = softmax(log₅₁₂(n) · q kᵀ / √d)"
    published = "Su Jianlin 2021, kexue.fm/archives/8823"
    trained_policy = ""

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor:
        return log_factor(n, self.causal, SOURCE_BASE, device)
