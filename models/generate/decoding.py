"""Sampling, and decoding one token at a time with a key-value cache that may evict keys.

    kept = the keys kept so far and the new key; if they are more than K_l, the key with the largest F is evicted
    A_i  = softmax over kept of (L_i - F);   F[j] += relu(L_i, head 0) for each kept j except BOS and i
    p    = softmax(logits / T);   keep the likeliest tokens until their sum reaches P;   argmax of log p + g,  g Gumbel

The selective mask F (accumulated votes of earlier queries) never decreases, so an evicted key is not needed again. All
heads of a layer keep the same keys. BOS, the token itself and, if a layer keeps three or more keys, the previous token
are never evicted, because their F is 0. Among keys with equal F, the oldest is evicted. Attention without F thus keeps
BOS and a sliding window: this is the control of studies/corpus/forgetting.py.

Source: Leviathan, Kalman and Matias 2024, arXiv 2410.02703, on context pruning. Keys stay rotated (RoPE) by their
positions in the text. As in training, n of a log n scale is the number of keys read, not the number of keys kept.

Top-p is that of Holtzman et al. 2020, arXiv 1904.09751. Adding Gumbel numbers is equivalent to sampling from p (Gumbel
1954). The Gumbel numbers depend on seed, position and token, not on the model. Therefore two plans with nearly equal
distributions choose the same tokens, and two continuations with the same seed differ only because of the plans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from models.nets.attention.base import Intervention, Keys
from models.nets.attention.cache import EvictingCache
from models.nets.attention.dot_product import DotProduct, Softmax
from models.nets.transformer import Transformer

MAX_TEMPERATURE = 2.0
MIN_TOP_P = 0.05
MAX_SEED = 9999
_FORM = re.compile(r"(\d\.?\d{0,2})-(\d\.?\d{0,2})-(\d{1,4})", re.ASCII)
FEWEST = 2  # smallest number of keys that a layer keeps: BOS and the token itself


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
    """Returns log-probabilities (V,), -inf for all but the fewest likeliest tokens that together reach `top_p`."""
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


def can_decode(model: Transformer) -> bool:
    """Returns True if the attention is causal softmax (or selective) over q·k, which a cache of keys can decode."""
    attention = model.blocks[0].attention
    return isinstance(attention, Softmax) and type(attention.source) is DotProduct and attention.causal


class Decoder:
    """Reads B texts of at most `longest` tokens in parallel, one token of each at a time.

    `budgets` are the numbers of keys that each layer keeps (None: all), and `interventions` one per layer, for a text
    of `longest` tokens. A row of a constant pattern is cut to the kept keys and divided by its sum.
    """

    @torch.inference_mode()
    def __init__(self, model: Transformer, texts: int, longest: int, budgets: Sequence[int] | None = None,
                 interventions: Sequence[Intervention] | None = None, by_age: bool = False) -> None:
        if not can_decode(model):
            raise ValueError(f"{model.blocks[0].attention.title} attention cannot be decoded a token at a time")
        layers = model.config.layers
        if budgets is not None and (len(budgets) != layers or min(budgets) < FEWEST):
            raise ValueError(f"expected {layers} budgets of {FEWEST} tokens or more, got {list(budgets)}")
        self.model, self.longest, self.read = model, longest, 0
        self.caches = [EvictingCache(texts, min(longest, budget), by_age) for budget in budgets or [longest] * layers]
        self._interventions = interventions

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """Reads the next ids (B,) and returns hidden states (B, C) after the last norm, for Transformer.logits."""
        if self.read >= self.longest:
            raise ValueError(f"this decoder was made for texts of {self.longest} tokens")
        keys = [Keys(first=self.read, cache=cache) for cache in self.caches]
        interventions = self._interventions and [rows_of(of_layer, self.read, 1) for of_layer in self._interventions]
        self.read += 1
        return self.model(ids.unsqueeze(1), interventions, keys=keys)[:, 0]


def rows_of(intervention: Intervention, first: int, count: int) -> Intervention:
    """Returns the part of an intervention for `count` queries from `first` on; `Keys.columns` cuts the keys."""
    constant, factor = intervention.constant, intervention.factor
    return replace(intervention,
                   constant=None if constant is None else constant[:, first:first + count],
                   factor=factor[:, first:first + count] if factor is not None and factor.shape[-2] > 1 else factor)


@dataclass(frozen=True)
class Step:
    """One step of decoding."""

    token: str  # the token that was read, as a string; `start` for BOS
    is_new: bool  # True if the model generated it, False if it belongs to the prompt
    kept: tuple[tuple[int, ...], ...]  # the positions in the text of the tokens that each layer keeps, in order


def continuation(decoder: Decoder, ids: Sequence[int], labels: Sequence[str],
                 sampling: Sampling = GREEDY) -> Iterator[Step]:
    """Reads a prompt and samples its continuation, one token per step; stops at BOS or at the decoder's `longest`."""
    following = 0
    for position in range(decoder.longest):
        is_new = position >= len(ids)
        chosen = following if is_new else ids[position]
        if is_new and chosen == 0:
            return
        with torch.inference_mode():
            hidden = decoder.step(torch.tensor([chosen]))
            writes = position + 1 >= len(ids)
            following = sampling.choose(decoder.model.logits(hidden[0]), position + 1) if writes else 0
        yield Step(labels[chosen], is_new, tuple(tuple(cache.kept()[0].tolist()) for cache in decoder.caches))
