"""Sampling: chooses the next token greedily, or at random by temperature, top-p and seed.

    p = softmax(logits / T);   keep the likeliest tokens until their sum reaches P;   argmax of log p + g,  g Gumbel

Top-p is that of Holtzman et al. 2020, arXiv 1904.09751. Adding Gumbel numbers is equivalent to sampling from p (Gumbel
1954). The Gumbel numbers depend on seed, position and token, not on the model. Therefore two plans with nearly equal
distributions choose the same tokens, and two continuations with the same seed differ only because of the plans.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import torch
from torch import Tensor

MAX_TEMPERATURE = 2.0
MIN_TOP_P = 0.05
MAX_SEED = 9999
_FORM = re.compile(r"(\d\.?\d{0,2})-(\d\.?\d{0,2})-(\d{1,4})", re.ASCII)


@dataclass(frozen=True)
class Sampling:
    """The settings by which the tokens of continuations are chosen.

    Attributes:
        temperature: T, 0 to MAX_TEMPERATURE; 0 always chooses the likeliest token.
        top_p: P, MIN_TOP_P to 1; 1 keeps all tokens.
        seed: 0 to MAX_SEED; two continuations with the same seed use the same random numbers.

    Both numbers are rounded to hundredths, the precision of a link.

    Raises:
        ValueError: a number is outside its range.
    """

    temperature: float = 0
    top_p: float = 0.95
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):  # -0.0 is within the range, and adding 0.0 turns it into 0.0
            object.__setattr__(self, name, round(getattr(self, name), 2) + 0.0)
        if not (0 <= self.temperature <= MAX_TEMPERATURE and MIN_TOP_P <= self.top_p <= 1
                and 0 <= self.seed <= MAX_SEED):
            raise ValueError(f"no way to sample: {self}")

    @classmethod
    def parse(cls, text: str) -> Sampling:
        """Returns the settings from their text form, for example `0.8-0.95-1`; raises ValueError if it is malformed."""
        match = _FORM.fullmatch(text)
        if not match:
            raise ValueError("expected temperature, top-p and seed, like 0.8-0.95-1")
        return cls(float(match[1]), float(match[2]), int(match[3]))

    def __str__(self) -> str:
        return f"{self.temperature:g}-{self.top_p:g}-{self.seed}"

    @property
    def is_greedy(self) -> bool:
        """True if the top-1 token is always chosen."""
        return self.temperature == 0

    def choose(self, logits: Tensor, place: int) -> int:
        """Returns the id of the token at `place` of a text."""
        if self.is_greedy:
            return int(logits.argmax())
        log_p = (logits.float() / self.temperature).log_softmax(-1)
        return int((nucleus(log_p, self.top_p) + gumbel(len(log_p), self.seed, place)).argmax())


GREEDY = Sampling()


def nucleus(log_p: Tensor, top_p: float) -> Tensor:
    """Returns log-probabilities (V,), set to -inf for all but the likeliest tokens that together reach `top_p`.

    The token at which the sum reaches `top_p` is included. Among tokens with equal probability, the first are included.
    """
    if top_p >= 1:
        return log_p
    ordered, order = log_p.sort(descending=True, stable=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()  # probability of the likelier tokens
    return torch.full_like(log_p, float("-inf")).scatter(0, order[before < top_p], ordered[before < top_p])


def gumbel(count: int, seed: int, place: int) -> Tensor:
    """Returns Gumbel-distributed random numbers (count,), the same for the same seed and position."""
    # clamped away from 0 and 1, whose logarithms would be infinite
    uniform = torch.rand(count, generator=generator(seed, place), dtype=torch.float64).clamp(1e-12, 1 - 1e-12)
    return (-(-uniform.log()).log()).float()


def generator(*numbers: int) -> torch.Generator:
    """Returns a random generator seeded by these numbers; neighbouring numbers give independent streams."""
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number + 1) % (2**61 - 1)
    return torch.Generator().manual_seed(seed)
