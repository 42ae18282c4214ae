"""Mixtures of Synthesizers: a layer's scores are a weighted sum of the scores of its parts, with learned weights.

A = softmax(sum_n alpha_n S_n(X)),   alpha = softmax(a), a learned per layer; all alpha are equal at first
Tay et al. 2020, arXiv 2005.00743, section 3.5
"""

import torch
from torch import Tensor, nn
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source
from models.nets.attention.dense import DenseScores
from models.nets.attention.dot_product import DotProduct
from models.nets.attention.random import Table
from models.nets.config import Config


class Mixed(Source):
    """The weighted sum of the scores of several sources; a subclass names the sources in `part_types`."""

    is_limited = True
    part_types: tuple[type[Source], ...]

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.parts = nn.ModuleList(part(config) for part in self.part_types)
        self.mixing_table = nn.Parameter(torch.zeros(len(self.parts)))

    @property
    def alpha(self) -> Tensor:
        """Returns the weights of the parts, which sum to 1."""
        return self.mixing_table.softmax(0)

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        return sum(alpha * part(x, rotary, factor, keys) for alpha, part in zip(self.alpha, self.parts, strict=True))


class RandomAndDense(Mixed):
    """A learned table plus dense scores."""

    part_types = (Table, DenseScores)


class DenseAndDotProduct(Mixed):
    """Dense scores plus q·k."""

    part_types = (DenseScores, DotProduct)


class RandomAndDotProduct(Mixed):
    """A learned table plus q·k."""

    part_types = (Table, DotProduct)


class RandomDense(SelfAttention):
    """The mixture of the random and the dense Synthesizer."""

    title = N_("Random + dense Synthesizer")
    label, colour, dash = N_("random + dense"), 5, 3
    line = N_("Partly a learned table of positions, partly from each word alone.")
    formula = N_("A = softmax(α₁ R + α₂ dense(x)),  α learned")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = RandomAndDense
    parts = ("random", "dense")


class DenseSoftmax(SelfAttention):
    """The mixture of the dense Synthesizer and softmax attention."""

    title = N_("Dense Synthesizer + softmax")
    label, colour, dash = N_("dense + softmax"), 1, 5
    line = N_("Partly from each word alone, partly softmax.")
    formula = N_("A = softmax(α₁ dense(x) + α₂ q kᵀ / √d),  α learned")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = DenseAndDotProduct
    parts = ("dense", "q·k")


class RandomSoftmax(SelfAttention):
    """The mixture of the random Synthesizer and softmax attention."""

    title = N_("Random Synthesizer + softmax")
    label, colour, dash = N_("random + softmax"), 7, 2
    line = N_("Partly a learned table of positions, partly softmax.")
    formula = N_("A = softmax(α₁ R + α₂ q kᵀ / √d),  α learned")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = RandomAndDotProduct
    parts = ("random", "q·k")
