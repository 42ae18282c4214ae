"""Dense Synthesizers: each token computes its attention pattern from its own vector, without a comparison with keys.

    dense              A_i = softmax(W2 relu(W1 x_i + b1) + b2),   W1 (C, D), W2 (D, N) per head
    factorised dense   A_i in R^a, B_i in R^b from x_i;   scores C[i, q a + p] = A_i[p] B_i[q],   a · b = N
                                                        Tay et al. 2020, arXiv 2005.00743, sections 3.2 and 3.4

There is no factor 1 / sqrt d. W2 has one column per position, so a text longer than N has no pattern. In the paper, x_i
includes a position code. Our models encode positions with RoPE, which rotates q and k. These types have neither, so a
position code is added to x_i.

One factor is tiled, the other interleaved, so that each of the N products belongs to a different key. Public
implementations tile both or interleave both; then several keys share a product.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from models.messages import N_
from models.nets.attention.base import OWN, Keys, Rotary, SelfAttention, Source, fresh, split
from models.nets.config import Config

INITIAL_STD = 0.02


def sinusoids(n: int, width: int, device: torch.device | None = None) -> Tensor:
    """Returns the position code (N, C): sines, then cosines (Vaswani et al. 2017, section 3.5)."""
    frequency = 10_000.0 ** (-torch.arange(0, width, 2, device=device).float() / width)
    angle = torch.arange(n, device=device).float().unsqueeze(1) * frequency
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


class Hidden(nn.Module):
    """The hidden layer relu(W1 (x + position) + b1) of each head: (B, N, C) -> (B, H, N, D)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads
        self.linear = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor, first: int = 0) -> Tensor:
        """Returns the hidden units; `first` is the position of x's first token in its text."""
        placed = x + sinusoids(first + x.shape[1], x.shape[2], x.device)[first:]
        return split(functional.relu(self.linear(placed)), self.heads)


class Positions(nn.Module):
    """The output layer W2 h + b2 of each head: (B, H, N, D) -> (B, H, N, count)."""

    def __init__(self, config: Config, count: int) -> None:
        super().__init__()
        width = config.width // config.heads
        self.weight = nn.Parameter(fresh((config.heads, width, count), INITIAL_STD))
        self.bias_table = nn.Parameter(torch.zeros(config.heads, 1, count))

    def forward(self, hidden: Tensor, count: int | None = None) -> Tensor:
        """Returns the scores of the first `count` positions; of all positions for None."""
        return hidden @ self.weight[..., :count].to(hidden.dtype) + self.bias_table[..., :count]


class DenseScores(Source):
    """Scores by a network of two layers: C² + C N parameters, and as many multiplications per token."""

    is_limited = True

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.hidden = Hidden(config)
        self.positions = Positions(config, config.trained_length)

    @override
    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        return self.positions(self.hidden(x, keys.first), keys.first + x.shape[1])


class Dense(SelfAttention):
    """The dense Synthesizer."""

    title = N_("Dense Synthesizer")
    label, colour, dash = N_("dense"), 4, 3
    line = N_("Each word computes its weights from itself alone.")
    formula = N_("Aᵢ = softmax(W₂ relu(W₁ (xᵢ + pᵢ) + b₁) + b₂),  pᵢ the position as sines")
    published = "Tay et al. 2020, arXiv 2005.00743"
    source_type = DenseScores


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
