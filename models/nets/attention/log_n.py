"""Softmax whose scores grow with the number of keys, so that the entropy does not have to grow with it.

    log n                  A = softmax(log_512(n) · q k^T / sqrt d)           Su Jianlin, kexue 8823 (entropy-invariant)
    scalable softmax       A = softmax(s ln(n) · q k^T / sqrt d), s learned   Nakanishi 2025, arXiv 2501.19399
    constant temperature   A = softmax(log_512(trained length) · q k^T / sqrt d)

n is the number of keys visible to the query. The initial s makes s ln n equal to 1 on average over the training
lengths, as in the source (0.168 for 1,024).

The constant temperature is the control for log n. If all training texts have the trained length and there is no causal
mask, both types learn the same parameters and differ only at other lengths. Therefore it is the fair control for the
table of kexue 8823.
"""

import math

import torch
from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.dot_product import Softmax
from models.nets.attention.scale import SOURCE_BASE, log_factor, visible_keys
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


class Temperature(Softmax):
    """Softmax attention at the temperature that log n has at the trained length."""

    title = N_("Constant temperature")
    label, colour, dash = N_("constant temperature"), 6, 3
    line = N_("Softmax with scores times one constant: the control for log n.")
    formula = N_("A = softmax(c · q kᵀ / √d),  c = log₅₁₂(trained length)")
    published = "control for Su Jianlin 2021, kexue.fm/archives/8823"
    trained_policy = ""

    @override
    def trained_factor(self, n: int, device: torch.device | None = None) -> float:
        return math.log(self.trained_length) / math.log(SOURCE_BASE)
