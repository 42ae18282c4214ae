"""Sampling: chooses the next token greedily, or at random by temperature, top-p and seed.

    p = softmax(logits / T);   of these the likeliest until they make up P together;   argmax of log p + g,  g Gumbel

Top-p is Holtzman et al. 2020, arXiv 1904.09751; drawing by Gumbel numbers is as drawing from p (Gumbel 1954). The
numbers belong to a seed, a place in the text and a token, not to a model: where two plans expect nearly the same,
they choose the same, and two continuations of one seed differ by the plan and not by luck.
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
    """How continuations are chosen.

    Attributes:
        temperature: T, 0 to MAX_TEMPERATURE; 0 for always the likeliest token.
        top_p: P, MIN_TOP_P to 1; 1 leaves all tokens in.
        seed: 0 to MAX_SEED; of two continuations with the same one, what chance decides is the same.

    Both numbers are kept to hundredths, which is what a link can say.

    Raises:
        ValueError: a number outside its range.
    """

    temperature: float = 0.8
    top_p: float = 0.95
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("temperature", "top_p"):  # + 0.0: there is a -0.0, which is in range
            object.__setattr__(self, name, round(getattr(self, name), 2) + 0.0)
        if not (0 <= self.temperature <= MAX_TEMPERATURE and MIN_TOP_P <= self.top_p <= 1
                and 0 <= self.seed <= MAX_SEED):
            raise ValueError(f"no way to sample: {self}")

    @classmethod
    def parse(cls, text: str) -> Sampling:
        """What `str` wrote, like `0.8-0.95-1`; raises ValueError."""
        found = _FORM.fullmatch(text)
        if not found:
            raise ValueError("expected temperature, top-p and seed, like 0.8-0.95-1")
        return cls(float(found[1]), float(found[2]), int(found[3]))

    def __str__(self) -> str:
        return f"{self.temperature:g}-{self.top_p:g}-{self.seed}"

    @property
    def is_greedy(self) -> bool:
        """True if the top-1 token is always chosen."""
        return self.temperature == 0

    def choose(self, logits: Tensor, place: int) -> int:
        """The id of the token at `place` of a text.

        Args:
            logits: (V,)
        """
        if self.is_greedy:
            return int(logits.argmax())
        log_p = (logits.float() / self.temperature).log_softmax(-1)
        return int((nucleus(log_p, self.top_p) + gumbel(len(log_p), self.seed, place)).argmax())


GREEDY = Sampling(temperature=0)


def nucleus(log_p: Tensor, top_p: float) -> Tensor:
    """(V,) log-probabilities, -inf for all but the likeliest that together have `top_p`, the one that reaches it
    included; of equals the first ones.
    """
    if top_p >= 1:
        return log_p
    ordered, order = log_p.sort(descending=True, stable=True)
    before = ordered.exp().cumsum(-1) - ordered.exp()  # of those that are likelier
    return torch.full_like(log_p, float("-inf")).scatter(0, order[before < top_p], ordered[before < top_p])


def gumbel(count: int, seed: int, place: int) -> Tensor:
    """(count,) numbers of Gumbel's distribution, the same for the same seed and place."""
    # Away from 0 and 1, whose logarithms would be infinite.
    uniform = torch.rand(count, generator=generator(seed, place), dtype=torch.float64).clamp(1e-12, 1 - 1e-12)
    return (-(-uniform.log()).log()).float()


def generator(*numbers: int) -> torch.Generator:
    """Returns a random generator seeded by these numbers; neighbouring numbers give independent streams."""
    seed = 0
    for number in numbers:
        seed = (seed * 1_000_003 + number + 1) % (2**61 - 1)
    return torch.Generator().manual_seed(seed)
