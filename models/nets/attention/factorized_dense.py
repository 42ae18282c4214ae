"""Factorised dense Synthesizer: N scores as all products of one of a numbers with one of b numbers, a · b = N.

    A_i in R^a, B_i in R^b from x_i;   C[i, q a + p] = A_i[p] B_i[q]      Tay et al. 2020, arXiv 2005.00743, section 3.4

One factor is tiled, the other interleaved, so that each of the N products belongs to a different key. Public
implementations tile both or interleave both; then several keys share a product.
"""

from torch import Tensor
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source
from models.nets.attention.dense import Hidden, Positions
from models.nets.config import Config


def factors_of(n: int) -> tuple[int, int]:
    """Returns a <= b with a · b = n, as close to each other as possible."""
    a = next(a for a in range(int(n**0.5), 0, -1) if n % a == 0)
    return a, n // a


def products(tiled: Tensor, interleaved: Tensor) -> Tensor:
    """Returns all products (..., a b) of (..., a) and (..., b): entry q a + p is tiled[p] · interleaved[q]."""
    return (interleaved.unsqueeze(-1) * tiled.unsqueeze(-2)).flatten(-2)


class FactorizedDenseScores(Source):
    """Scores as products of two factors: C² + C (a + b) parameters per layer."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        a, b = factors_of(config.trained_length)
        self.hidden = Hidden(config)
        self.tiled, self.interleaved = Positions(config, a), Positions(config, b)
        # If both factors were near 0, the gradient of their product would vanish, so one factor starts near 1.
        self.interleaved.bias_table.data.fill_(1.0)

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        hidden, n = self.hidden(x, keys.first), keys.first + x.shape[1]
        return products(self.tiled(hidden), self.interleaved(hidden))[..., :n].contiguous()


class FactorizedDense(SelfAttention):
    """The factorised dense Synthesizer."""

    title = N_("Factorised dense Synthesizer")
    label, colour, dash = N_("factorised dense"), 2, 4
    line = N_("Like dense, with fewer parameters.")
    formula = N_("Aᵢ = softmax(tile(F_A(xᵢ + pᵢ)) · interleave(F_B(xᵢ + pᵢ))),  pᵢ the position as sines")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = FactorizedDenseScores
