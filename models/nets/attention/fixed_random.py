"""Fixed random Synthesizer: the random Synthesizer with tables that are sampled once and never trained.

    A = softmax(R),   R ~ N(0, 1), fixed      Tay et al. 2020, arXiv 2005.00743, section 3.3

The paper does not give R's scale. With standard deviation 1, the patterns of the heads differ from each other and from
a uniform pattern. With the default initialiser of the T5 code, which is close to 0, all patterns would be uniform.
"""

from models.messages import N_
from models.nets.attention.base import SelfAttention, Source, fresh
from models.nets.attention.random import Table
from models.nets.config import Config


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
