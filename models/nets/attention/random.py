"""Random Synthesizer: each head's scores are a table, the same for every text.

    A = softmax(R),   R (N, N) per head, trained      Tay et al. 2020, arXiv 2005.00743, section 3.3

There is no query, no key, and no factor 1 / sqrt d. A text longer than the table has no pattern. Under a causal mask
row i reads R[i, 0..i] only, so the upper half of the table is never used.
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
