"""Softmax attention of the original Transformer, with which every other type is compared (Vaswani et al. 2017, eq. 1).

    A = softmax(q k^T / sqrt d) over the keys that a query sees; q and k are rotated if rotations (RoPE) are given

Rows of A sum to 1. The weights take N · M · C multiplications.
"""

import torch
from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source, split
from models.nets.config import Config


def rotary_table(n: int, width: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """Returns cos and sin, each (N, D/2), of RoPE's angles (Su et al., arXiv 2104.09864, eq. 15)."""
    frequency = base ** (-torch.arange(0, width, 2).float() / width)
    angle = torch.arange(n).float().unsqueeze(1) * frequency
    return angle.cos(), angle.sin()


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """Returns x (B, H, N, D) with each pair (x_k, x_{k + D/2}) rotated by its position's angle."""
    cos, sin = (table.to(x.dtype) for table in rotary)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class DotProduct(Source):
    """Scores q·k: N · M · C multiplications and 2 C² parameters per layer (C is the total width of the heads)."""

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.query = nn.Linear(config.width, config.inner_width, bias=False)
        self.key = nn.Linear(config.width, config.inner_width, bias=False)

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        query = self._turned(self.query(x), rotary)
        key = keys.computed("key", lambda seen: self._turned(self.key(seen), rotary), x)
        # Scaling the queries takes N·D multiplications; scaling the scores would take N·M.
        return (query * (factor * query.shape[-1] ** -0.5)).to(key.dtype) @ key.transpose(-1, -2)

    def _turned(self, projected: Tensor, rotary: Rotary) -> Tensor:
        heads = split(projected, self.heads)
        return heads if rotary is None else rotate(heads, rotary)


class Softmax(SelfAttention):
    """Softmax attention."""

    title = N_("Softmax")
    label, colour, dash = N_("softmax"), 0, 0
    line = N_("Each word compares its query with every key.")
    formula = "A = softmax(q kᵀ / √d)"
    published = "Vaswani et al. 2017, arXiv 1706.03762"
    source_type = DotProduct
    policies = ("trained", "sqrt", "logn")
    trained_policy = "sqrt"
