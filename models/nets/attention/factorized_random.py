"""Factorised random Synthesizer: the random Synthesizer's table as a product of two narrow tables.

    A = softmax(R1 R2^T),   R1, R2 (N, k) per head, k = 8      Tay et al. 2020, arXiv 2005.00743, section 3.4

It has 2 N k instead of N² numbers per head. With k = N and R1 the identity it is the random Synthesizer.
"""

from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source, fresh
from models.nets.config import Config

RANK = 8
INITIAL_STD = 0.1  # standard deviation of the factors; their product then has a standard deviation of 0.03


class FactorizedTable(Source):
    """A product of two tables: 2 H N k parameters per layer; H N² k multiplications, the same for every text."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        shape = config.heads, config.trained_length, RANK
        self.query_table = nn.Parameter(fresh(shape, INITIAL_STD))
        self.key_table = nn.Parameter(fresh(shape, INITIAL_STD))

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        n = keys.first + x.shape[1]
        return (self.query_table[:, keys.first:n] @ self.key_table[:, :n].transpose(-1, -2)).unsqueeze(0)


class FactorizedRandom(SelfAttention):
    """The factorised random Synthesizer."""

    title = N_("Factorised random Synthesizer")
    label, colour, dash = N_("factorised random"), 7, 4
    line = N_("Like random, with fewer parameters.")
    formula = N_("A = softmax(R₁ R₂ᵀ),  rank 8, the same for every text")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = FactorizedTable
    reads_text = False
