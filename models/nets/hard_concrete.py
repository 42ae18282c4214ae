"""Hard Concrete gates: one random number a head, exactly 0 or 1 with some probability, and a gradient for both.

    u ~ U(eps, 1 - eps);   s = sigmoid((ln u - ln(1 - u) + ln a) / beta)
    g = min(1, max(0, s (zeta - gamma) + gamma)),     beta = 0.33, gamma = -0.1, zeta = 1.1
    P(g > 0) = sigmoid(ln a - beta ln(-gamma / zeta)),   P(g = 1) = sigmoid(ln a - beta ln((1 - gamma) / (zeta - 1)))
    penalty = sum over heads of P(g > 0)

Louizos, Welling and Kingma 2018, arXiv 1712.01312, section 2.2; beta as Voita et al. 2019, arXiv 1905.09418, section 5,
have it, whose rule for tests is kept too: a gate is 0 or 1, whichever is more probable. With these limits that is the
sign of ln a.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

BETA, GAMMA, ZETA, EPS = 0.33, -0.1, 1.1, 1e-6


def quantile(log_a: Tensor, u: Tensor) -> Tensor:
    """Gates, 0 to 1, that uniform numbers u in (0, 1) stand for; same shapes."""
    s = ((u.log() - (-u).log1p() + log_a) / BETA).sigmoid()
    return (s * (ZETA - GAMMA) + GAMMA).clamp(0, 1)


def sample(log_a: Tensor, random: torch.Generator) -> Tensor:
    """Gates for one step of training."""
    u = torch.rand(log_a.shape, generator=random).clamp(EPS, 1 - EPS).to(log_a.device)
    return quantile(log_a, u)


def open_probability(log_a: Tensor) -> Tensor:
    """P(g > 0)."""
    return (log_a - BETA * math.log(-GAMMA / ZETA)).sigmoid()


def full_probability(log_a: Tensor) -> Tensor:
    """P(g = 1)."""
    return (log_a - BETA * math.log((1 - GAMMA) / (ZETA - 1))).sigmoid()


def penalty(log_a: Tensor) -> Tensor:
    """Expected number of gates that are not 0."""
    return open_probability(log_a).sum()


def decided(log_a: Tensor) -> Tensor:
    """bool, True for gates that are 1 at test, False for those that are 0: P(g = 1) against P(g = 0)."""
    return full_probability(log_a) > 1 - open_probability(log_a)
