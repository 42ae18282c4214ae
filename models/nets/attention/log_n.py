"""Softmax whose scores grow with the number of keys, so that the entropy does not have to grow with it.

    log n              A = softmax(log_512(n) · q k^T / sqrt d)            Su Jianlin, kexue 8823 (entropy-invariant)
    scalable softmax   A = softmax(s ln(n) · q k^T / sqrt d), s learned    Nakanishi 2025, arXiv 2501.19399

n is the number of keys visible to the query. In training at one length without a causal mask, log n is a constant
temperature; see temperature.py. The initial s makes s ln n equal to 1 on average over the training lengths, as in the
source (0.168 for 1,024).
"""

import math

import torch
from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.scale import SOURCE_BASE, log_factor, visible_keys
from models.nets.attention.softmax import Softmax
from models.nets.config import Config


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


class ScalableSoftmax(Softmax):
    """Softmax attention with a learned factor on ln n per head."""

    title = N_("Scalable softmax")
    label, colour, dash = N_("scalable softmax"), 5, 1
    line = N_("Softmax that sharpens with length; each head learns how much.")
    formula = N_("A = softmax(s ln(n) · q kᵀ / √d),  s learned per head")
    published = "Nakanishi 2025, arXiv 2501.19399"
    trained_policy = ""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        n = config.trained_length
        mean = sum(math.log(i) for i in range(1, n + 1)) / n if config.causal else math.log(n)
        self.scalable = nn.Parameter(torch.full((config.heads,), 1 / mean))

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor:
        return self.scalable.view(-1, 1, 1) * visible_keys(n, self.causal, device).log()
