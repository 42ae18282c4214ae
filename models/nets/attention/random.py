"""Random Synthesizers: each head's scores are a table, the same for every text (Tay et al. 2020, arXiv 2005.00743).

    random               A = softmax(R),         R (N, N) per head, trained                  section 3.3
    fixed random         A = softmax(R),         R ~ N(0, 1), sampled once, never trained    section 3.3
    factorised random    A = softmax(R1 R2^T),   R1, R2 (N, k) per head, k = 8               section 3.4

There is no query, no key, and no factor 1 / sqrt d. A text longer than the table has no pattern. Under a causal mask
row i reads R[i, 0..i] only, so the upper half of the table is never used.

The paper does not give the scale of the fixed R. With standard deviation 1, the patterns of the heads differ from each
other and from a uniform pattern. With the default initialiser of the T5 code, which is close to 0, all patterns would
be uniform. The factorised table has 2 N k instead of N² numbers per head; with k = N and R1 the identity it is the
random Synthesizer.
"""

from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source, fresh
from models.nets.config import Config

INITIAL_STD = 0.02


class Table(Source):
    """A table of scores: H N² parameters per layer, and no multiplication."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        n = config.trained_length
        self.table = nn.Parameter(fresh((config.heads, n, n), INITIAL_STD))

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        n = keys.first + x.shape[1]
        return self.table[None, :, keys.first:n, :n].clone()


class Random(SelfAttention):
    """The random Synthesizer."""

    title = N_("Random Synthesizer")
    label, colour, dash = N_("random"), 3, 1
    line = N_("A learned table of positions, the same for every text.")
    formula = N_("A = softmax(R),  R learned, the same for every text")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = Table
    reads_text = False


class FixedTable(Source):
    """A table of scores: H N² random numbers per layer, which are not parameters."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        n = config.trained_length
        self.register_buffer("table", fresh((config.heads, n, n), config.table_std))

    forward = Table.forward


class FixedRandom(SelfAttention):
    """The random Synthesizer with a table that is not trained."""

    title = N_("Fixed random Synthesizer")
    label, colour, dash = N_("fixed random"), 6, 5
    line = N_("A random table of positions that was never trained.")
    formula = N_("A = softmax(R),  R drawn once, never trained")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = FixedTable
    reads_text = False


RANK = 8
FACTOR_STD = 0.1  # standard deviation of the factors; their product then has a standard deviation of 0.03


class FactorizedTable(Source):
    """A product of two tables: 2 H N k parameters per layer; H N² k multiplications, the same for every text."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        shape = config.heads, config.trained_length, RANK
        self.query_table = nn.Parameter(fresh(shape, FACTOR_STD))
        self.key_table = nn.Parameter(fresh(shape, FACTOR_STD))

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
