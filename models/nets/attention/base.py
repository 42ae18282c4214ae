"""The stages that every attention type shares.

    x -> scores -> masked -> live weights -> intervened weights -> head outputs -> gated -> W_O

A type says whence the scores come (its sources) and how they are normalised; what a plan does to the rest is
here, once, for every type. Nothing is stored on a module: a plan and a record are arguments, so one
model serves all visitors at once.

In self-attention keys and values come from the queries' own tokens; in cross-attention, and where a text is read a
token at a time, from elsewhere, which Keys says.

Dimensions: B batch, L layers, H heads, N query tokens, M key tokens (N in self-attention), D width of a
head, C width of the model, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from models.kind import Traits
from models.nets.attention.cache import Cache
from models.nets.attention.patching import Patch, Values
from models.nets.attention.scale import policy_factor
from models.nets.config import Config
from models.plan import Scale

NEVER = float("-inf")
Rotary = tuple[Tensor, Tensor] | None  # of the queries' positions; None to turn nothing


@dataclass(frozen=True)
class Intervention:
    """What a plan does to one layer, as tensors.

    Attributes:
        is_constant: (H, 1, 1) bool, True where the head's weights are replaced; None if nowhere.
        constant: (H, N, M) the weights that replace them.
        gate: (H, 1, 1) factor on each head's output, 0 to 1; None if all are 1.
        factor: (1 or H, N or 1, 1), what q·k / sqrt(D) is multiplied by in place of the type's own factor; or None.
        share: (H, 1, 1) how much of each head's weights is the constant, 0 to 1, in place of `is_constant`; or None.
        patch: what heads take from a second prompt; None without patches.

    In a batch of two, the first as trained, all but `constant` have a dimension B in front; see with_baseline.
    """

    is_constant: Tensor | None = None
    constant: Tensor | None = None
    gate: Tensor | None = None
    factor: Tensor | None = None
    share: Tensor | None = None
    patch: Patch | None = None


@dataclass
class Record:
    """What one layer did, B = 1 dropped by the reader.

    Attributes:
        scores: (B, H, N, M) what is normalised: scaled and masked (-inf), before F is subtracted.
        mask: (B, N, M) accumulated mask F of selective attention, or None.
        live: (B, H, N, M) weights that the model computes.
        weights: (B, H, N, M) weights that the plan lets through.
        norms: (B, H, N) Euclidean norm of each head's output after its gate, before W_O.
        gates: (B, H, N) the gates that the model computes itself, 0 to 1; None if its type has none.
        values: (B, H, M, D) what the weights add up.
        outputs: (B, H, N, D) the heads' outputs after their gates, before W_O.
    """

    scores: Tensor
    mask: Tensor | None
    live: Tensor
    weights: Tensor
    norms: Tensor
    gates: Tensor | None
    values: Tensor
    outputs: Tensor

    @property
    def patch_values(self) -> Values:
        """The values that patched heads of another pass take; of a pass under the empty plan."""
        return Values(self.weights, self.outputs)


@dataclass(frozen=True, eq=False)
class Keys:
    """What queries look at, where that is not just their own tokens.

    Attributes:
        memory: (B, M, C) what keys and values are made of; None for the queries' own x.
        hidden: (B, 1, 1, M) bool, True for keys that no query sees, as padding; None if all are seen.
        first: place of the first query in its text; with `cache`, those before it were read in earlier calls.
        cache: keys and values of earlier calls; this call adds its own. None to keep nothing.
    """

    memory: Tensor | None = None
    hidden: Tensor | None = None
    first: int = 0
    cache: Cache | None = None

    def made(self, name: str, make: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """(B, H, M, D) keys or values, as `make` makes them of (B, M, C): of x, or of what there is to look at."""
        if self.cache is None:
            return make(x if self.memory is None else self.memory)
        if self.memory is None:
            return self.cache.extend(name, make(x))
        return self.cache.tensors[name] if name in self.cache.tensors else self.cache.extend(name, make(self.memory))

    def columns(self, intervention: Intervention, count: int) -> Intervention:
        """Returns the intervention with constant patterns cut to the `count` keys that there are."""
        if intervention.constant is None:
            return intervention
        cut = intervention.constant[..., :count] if self.cache is None else \
            self.cache.columns(intervention.constant, count)
        return replace(intervention, constant=cut)


OWN = Keys()
NO_INTERVENTION = Intervention()


def with_baseline(intervention: Intervention, factor: Tensor) -> Intervention:
    """For a batch of two: the first row as trained, the second under `intervention`; `factor` is the trained one."""
    def below(tensor: Tensor | None, neutral: float) -> Tensor | None:
        return None if tensor is None else torch.stack((torch.full_like(tensor, neutral), tensor))

    factors = None if intervention.factor is None else torch.stack(torch.broadcast_tensors(factor, intervention.factor))
    return Intervention(below(intervention.is_constant, False), intervention.constant, below(intervention.gate, 1.0),
                        factors, below(intervention.share, 0.0))


def intervene(weights: Tensor, intervention: Intervention) -> Tensor:
    """(B, H, N, M) patterns after the plan; order: constant, patch, gate (of the outputs, see `gated`)."""
    if intervention.constant is not None:
        if intervention.share is not None:
            weights = weights + intervention.share * (intervention.constant - weights)
        elif intervention.is_constant is not None:
            weights = torch.where(intervention.is_constant, intervention.constant, weights)
    return weights if intervention.patch is None else intervention.patch.pattern(weights)


def gated(outputs: Tensor, intervention: Intervention) -> Tensor:
    """(B, H, N, D) patched outputs times their gates: MultiHead = Concat(g_h · head_h) W_O (Voita et al. 2019)."""
    if intervention.patch is not None:
        outputs = intervention.patch.output(outputs)
    return outputs if intervention.gate is None else outputs * intervention.gate


def fresh(shape: tuple[int, ...], std: float) -> Tensor:
    """Normal numbers for a table. torch.randn on no device (models/storage/checkpoint.py reads models there) is
    Python, and imports torch's compiler and sympy first: 66 MB and a second.
    """
    return torch.empty(shape).normal_(std=std)


def causal_mask(n: int, device: torch.device | None = None, first: int = 0) -> Tensor:
    """(N, first + N) True above the diagonal: what queries from place `first` on must not see.

    Compiled, it is computed anew for every score. With places of 64 bits, as `triu` has them, the softmax over 256
    tokens takes 1.8 times as long as with these of 32, and a step of training 1.2 times.
    """
    places = torch.arange(first + n, dtype=torch.int32, device=device)
    return places[first:, None] < places


def split(x: Tensor, heads: int) -> Tensor:
    """(B, N, C) -> (B, H, N, D)"""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


class Source(nn.Module):
    """Whence scores come; a subclass says how. Scaled where its definition has a scale, not masked.

    Parameters whose name ends with `table` hold one number a position, a pair of positions or, in mixtures, a source;
    training gives them a rate of their own.
    """

    is_limited = False  # it has tables of trained_length positions, and no score beyond them

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads

    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        """(B, N, C) -> (B or 1, H, N, M) scores, fresh: the caller may write into them.

        `factor` multiplies q·k / sqrt(D) and nothing else.
        """
        raise NotImplementedError


class SelfAttention(nn.Module):
    """Attention over one source of scores; a subclass names the source and says how scores become weights.

    Class attributes:
        title, formula, published: for people: its name, its formula, and where it was published.
        line: the same in one plain sentence.
        label: its name in charts, in a word or two.
        colour, dash: its line in charts: indices of the models' colours in assets/colours.json, and of dash patterns.
        source_type: builds the source from the Config.
        policies: scale policies that mean something here; `trained` is always the first.
        trained_policy: the one of them that says the same as `trained`, or an empty string.
        is_distribution: True if rows of the weights sum to 1.
        reads_text: False if the weights are the same for every text of a length.
        selects: True if it has a mask F.
        replaces_mlp: True if no MLP follows it.
        parts: titles of the sources that a mixture adds up; none of other types.
    """

    title: str
    line = ""
    label = ""
    colour = 0
    dash = 0
    formula: str
    published: str
    source_type: type[Source]
    policies: tuple[str, ...] = ("trained",)
    trained_policy = ""
    is_distribution = True
    reads_text = True
    selects = False
    replaces_mlp = False
    parts: tuple[str, ...] = ()

    @classmethod
    def traits(cls) -> Traits:
        """What is said of it where no module is: in catalogues, links and on pages."""
        return Traits(cls.title, cls.formula, cls.published, cls.policies, cls.trained_policy, cls.is_distribution,
                      cls.reads_text, cls.selects, cls.line, cls.label, cls.colour, cls.dash)

    @classmethod
    def longest(cls, config: Config) -> int | None:
        """Most tokens of a text that a model of this shape has weights for; None if there is no such limit."""
        return config.trained_length if cls.source_type.is_limited else None

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.causal, self.trained_length = config.heads, config.causal, config.trained_length
        self.source = self.source_type(config)
        self._make_values(config)

    def _make_values(self, config: Config) -> None:
        self.value = nn.Linear(config.width, config.inner_width, bias=False)
        self.output = nn.Linear(config.inner_width, config.width, bias=False)

    def forward(self, x: Tensor, rotary: Rotary, intervention: Intervention = NO_INTERVENTION,
                records: list[Record] | None = None, keys: Keys = OWN) -> Tensor:
        """(B, N, C) -> (B, N, C); appends what it did to `records` if there is such a list."""
        scores = self.scores(x, rotary, intervention.factor, keys)
        live, mask = self.normalise(scores, keys)
        intervention = keys.columns(intervention, live.shape[-1])
        weights = intervene(live, intervention)
        values = keys.made("value", self.values, x)
        outputs, gates = self.outputs(weights, values, x), self.gates(x)
        outputs = gated(outputs if gates is None else outputs * gates.unsqueeze(-1), intervention)
        if records is not None:
            scores, live, weights = (t.expand(len(x), -1, -1, -1) for t in (scores, live, weights))
            records.append(Record(scores, mask, live, weights, outputs.norm(dim=-1), gates, values, outputs))
        return self.output(outputs.transpose(1, 2).flatten(2))

    def scores(self, x: Tensor, rotary: Rotary, factor: Tensor | None = None, keys: Keys = OWN) -> Tensor:
        """(B or 1, H, N, M) what the source says, -inf where masked; `factor` as in Intervention.

        Raises:
            ValueError: the text is longer than the source's tables.
        """
        count = keys.first + x.shape[1] if keys.memory is None else keys.memory.shape[1]
        if self.source.is_limited and count > self.trained_length:
            raise ValueError(f"{self.title} attention has tables for {self.trained_length} tokens; "
                             f"this text has {count}")
        trained = self.trained_factor(count, x.device)
        if isinstance(trained, Tensor):
            trained = trained[:, -x.shape[1]:]  # of the queries that are here
        scores = self.source(x, rotary, trained if factor is None else factor, keys)
        if self.causal and x.shape[1] > 1:  # one query sees all keys; in place, as a copy costs as much as the product
            scores = scores.masked_fill_(causal_mask(x.shape[1], x.device, keys.first), NEVER)
        return scores if keys.hidden is None else scores.masked_fill(keys.hidden, NEVER)

    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor | float:
        """What q·k / sqrt(D) is multiplied by as trained: 1, or broadcastable to (H, N, 1)."""
        return 1.0

    def factor(self, scale: Scale, n: int) -> Tensor:
        """The same under a scale policy, for a text of n tokens: broadcastable to (H, N, 1)."""
        if scale.policy == "trained":
            factor = self.trained_factor(n)
            return factor if isinstance(factor, Tensor) else torch.full((1, 1, 1), factor)
        return policy_factor(scale, n, self.causal, self.trained_length)

    def normalise(self, scores: Tensor, keys: Keys = OWN) -> tuple[Tensor, Tensor | None]:
        """(B, H, N, M) scores -> weights of the same shape, and the mask F (B, N, M) or None."""
        return scores.softmax(dim=-1), None

    def log_normaliser(self, scores: Tensor) -> Tensor:
        """(B, H, N, M) scores -> (B, H, N) ln Z, what each row of exponentials is divided by."""
        return scores.logsumexp(dim=-1)

    def gates(self, x: Tensor) -> Tensor | None:
        """(B, N, C) -> (B, H, N) what the type itself multiplies head outputs by, before a plan's gates; or None."""
        return None

    def values(self, x: Tensor) -> Tensor:
        """(B, M, C) -> (B, H, M, D)"""
        return split(self.value(x), self.heads)

    def outputs(self, weights: Tensor, values: Tensor, x: Tensor) -> Tensor:
        """(B, H, N, D) head outputs, before gates, from weights (B or 1, H, N, M) and values."""
        if len(weights) < len(x):  # weights that all texts share: one product a head
            return torch.einsum("hnm, bhmd -> bhnd", weights[0].to(values.dtype), values)
        return weights @ values
