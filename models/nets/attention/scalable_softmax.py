"""Scalable softmax: log n with a factor that each head learns.

    A = softmax(s ln(n) · q k^T / sqrt d),   n = number of visible keys      Nakanishi 2025, arXiv 2501.19399

The initial s makes s ln n equal to 1 on average over the training lengths, as in the source (0.168 for 1,024).
"""

import math

import torch
from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.scale import visible_keys
from models.nets.attention.softmax import Softmax
from models.nets.config import Config


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
