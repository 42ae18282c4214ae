"""Scores from queries and keys: q·k / sqrt(D), with q and k rotated (RoPE) if given (Vaswani et al. 2017, eq. 1)."""

from torch import Tensor, nn
from typing_extensions import override

from models.nets.attention.base import OWN, Keys, Rotary, Source, split
from models.nets.attention.rotary import rotate
from models.nets.config import Config


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
