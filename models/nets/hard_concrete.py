"""Hard Concrete gates: one random number per head, exactly 0 or 1 with some probability, and differentiable.

    u ~ U(eps, 1 - eps);   s = sigmoid((ln u - ln(1 - u) + ln a) / beta)
    g = min(1, max(0, s (zeta - gamma) + gamma)),     beta = 0.33, gamma = -0.1, zeta = 1.1
    P(g > 0) = sigmoid(ln a - beta ln(-gamma / zeta)),   P(g = 1) = sigmoid(ln a - beta ln((1 - gamma) / (zeta - 1)))
    penalty = sum over heads of P(g > 0)

Louizos, Welling and Kingma 2018, arXiv 1712.01312, section 2.2. beta and the rule at test time are from Voita et al.
2019, arXiv 1905.09418, section 5: a gate is set to 0 or 1, whichever is more probable. With these gamma and zeta, the
rule depends only on the sign of ln a.
"""

import math

import torch
from torch import Tensor

BETA, GAMMA, ZETA, EPS = 0.33, -0.1, 1.1, 1e-6


def quantile(log_a: Tensor, u: Tensor) -> Tensor:
    """Returns the gates, 0 to 1, at the quantiles u in (0, 1); `log_a`, `u` and the result have the same shape."""
    s = ((u.log() - (-u).log1p() + log_a) / BETA).sigmoid()
    return (s * (ZETA - GAMMA) + GAMMA).clamp(0, 1)


def sample(log_a: Tensor, random: torch.Generator) -> Tensor:
    """Returns random gates for one training step."""
    u = torch.rand(log_a.shape, generator=random).clamp(EPS, 1 - EPS).to(log_a.device)
    return quantile(log_a, u)


def open_probability(log_a: Tensor) -> Tensor:
    """Returns P(g > 0)."""
    return (log_a - BETA * math.log(-GAMMA / ZETA)).sigmoid()


def full_probability(log_a: Tensor) -> Tensor:
    """Returns P(g = 1)."""
    return (log_a - BETA * math.log((1 - GAMMA) / (ZETA - 1))).sigmoid()


def penalty(log_a: Tensor) -> Tensor:
    """Returns the expected number of gates that are not 0."""
    return open_probability(log_a).sum()


def decided(log_a: Tensor) -> Tensor:
    """Returns a bool tensor, True for gates that are 1 at test time: P(g = 1) > P(g = 0)."""
    return full_probability(log_a) > 1 - open_probability(log_a)
