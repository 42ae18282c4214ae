"""The stages that every attention type shares.

    x -> scores -> masked -> computed pattern -> pattern after the plan -> head outputs -> gated -> W_O

An attention type defines the source of its scores and the normalisation of the scores. Interventions are implemented
here, once for all types. Nothing is stored on a module: plan and record are arguments, so one model serves all visitors
at once.

In self-attention, keys and values are computed from the same tokens as the queries. In cross-attention, and in decoding
with a cache, an instance of Keys describes the source of keys and values.

Dimensions: B batch, L layers, H heads, N query tokens, M key tokens (N in self-attention), D width of a head, C width
of the model, V vocabulary.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from models.kind import Traits
from models.nets.attention.cache import Cache
from models.nets.attention.patching import Patch, Values, patch_of
from models.nets.attention.scale import policy_factor
from models.nets.config import Config
from models.plan import HeadPlan, Scale

NEVER = float("-inf")
Rotary = tuple[Tensor, Tensor] | None  # rotations of the queries' positions; None for no rotation


@dataclass(frozen=True)
class Intervention:
    """The interventions on one layer, as tensors; with_baseline adds a first dimension to all but `constant`."""

    is_constant: Tensor | None = None  # (H, 1, 1) bool, heads whose pattern is replaced; or None
    constant: Tensor | None = None  # (H, N, M) constant patterns, which replace the computed patterns of these heads
    gate: Tensor | None = None  # (H, 1, 1) factor on each head's output, 0 to 1; None if all are 1
    factor: Tensor | None = None  # (1 or H, N or 1, 1), factor on q·k / sqrt(D), not the trained one; or None
    share: Tensor | None = None  # (H, 1, 1) fraction of the constant pattern, 0 to 1, if not `is_constant`; or None
    patch: Patch | None = None  # values of a second prompt, which patched heads take; None without patches


@dataclass
class Record:
    """The values of one layer in one forward pass."""

    scores: Tensor  # (B, H, N, M) before normalisation: scaled, masked (-inf), before the mask F is subtracted
    mask: Tensor | None  # (B, N, M) selective mask F (accumulated votes); None for other attention types
    live: Tensor  # (B, H, N, M) attention patterns as the model computes them, before the plan
    weights: Tensor  # (B, H, N, M) attention patterns after the plan
    norms: Tensor  # (B, H, N) Euclidean norm of each head's output after its gate, before W_O
    gates: Tensor | None  # (B, H, N) gates that the model computes, 0 to 1; None if the attention type has none
    values: Tensor  # (B, H, M, D) value vectors
    outputs: Tensor  # (B, H, N, D) the heads' outputs after their gates, before W_O

    @property
    def patch_values(self) -> Values:
        """The values that patched heads of another pass take; the record must be of a pass under the empty plan."""
        return Values(self.weights, self.outputs)


@dataclass(frozen=True, eq=False)
class Keys:
    """The source of the keys and values of a layer."""

    # (B, M, C) hidden states from which keys and values are computed; None if they are computed from x, as the queries
    # are
    memory: Tensor | None = None
    hidden: Tensor | None = None  # (B, 1, 1, M) bool, keys that no query sees, such as padding; or None
    first: int = 0  # position of the first query in its text; `cache` has the positions before it
    cache: Cache | None = None  # keys and values of earlier calls, to which this call adds new ones; None for no cache

    def computed(self, name: str, make: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """Returns (B, H, M, D) keys or values, which `make` computes from `memory` or, if `memory` is None, from x."""
        if self.cache is None:
            return make(x if self.memory is None else self.memory)
        if self.memory is None:
            return self.cache.extend(name, make(x))
        return self.cache.tensors[name] if name in self.cache.tensors else self.cache.extend(name, make(self.memory))

    def columns(self, intervention: Intervention, count: int) -> Intervention:
        """Returns the intervention with constant patterns cut to the first `count` keys, or to the cached keys."""
        if intervention.constant is None:
            return intervention
        cut = intervention.constant[..., :count] if self.cache is None else \
            self.cache.columns(intervention.constant, count)
        return replace(intervention, constant=cut)


OWN = Keys()
NO_INTERVENTION = Intervention()


def intervention_of(plan: HeadPlan, kind: str, layer: int, heads: int,
                    source: Mapping[tuple[str, int], Values]) -> Intervention:
    """Returns a layer's constant heads, gates and patches; `source` is (block, layer) -> second prompt's values."""
    states = [plan.state(kind, layer, head) for head in range(heads)]
    constant, gates = [state.constant for state in states], [state.gate for state in states]
    values = source.get((kind, layer))
    return Intervention(is_constant=torch.tensor(constant)[:, None, None] if any(constant) else None,
                        gate=torch.tensor(gates)[:, None, None] if min(gates) < 1 else None,
                        patch=None if values is None else patch_of([state.patch for state in states], values))


def with_baseline(intervention: Intervention, factor: Tensor) -> Intervention:
    """Returns an intervention for a batch of two: the baseline, and `intervention`; `factor` is the trained factor."""
    def below(tensor: Tensor | None, neutral: float) -> Tensor | None:
        return None if tensor is None else torch.stack((torch.full_like(tensor, neutral), tensor))

    factors = None if intervention.factor is None else torch.stack(torch.broadcast_tensors(factor, intervention.factor))
    return Intervention(below(intervention.is_constant, False), intervention.constant, below(intervention.gate, 1.0),
                        factors, below(intervention.share, 0.0))


def intervene(weights: Tensor, intervention: Intervention) -> Tensor:
    """Returns the patterns (B, H, N, M) after constants, then patches; `gated` applies the gates."""
    if intervention.constant is not None:
        if intervention.share is not None:
            weights = weights + intervention.share * (intervention.constant - weights)
        elif intervention.is_constant is not None:
            weights = torch.where(intervention.is_constant, intervention.constant, weights)
    return weights if intervention.patch is None else intervention.patch.pattern(weights)


def gated(outputs: Tensor, intervention: Intervention) -> Tensor:
    """Returns the patched outputs (B, H, N, D) times gates: Concat(g_h · head_h) W_O (Voita et al. 2019)."""
    if intervention.patch is not None:
        outputs = intervention.patch.output(outputs)
    return outputs if intervention.gate is None else outputs * intervention.gate


def fresh(shape: tuple[int, ...], std: float) -> Tensor:
    """Returns normal random numbers; torch.randn on the meta device would import torch's compiler (66 MB, 1 s)."""
    return torch.empty(shape).normal_(std=std)


def causal_mask(n: int, device: torch.device | None = None, first: int = 0) -> Tensor:
    """Returns (N, first + N) bool, True for the keys that are later than a query; queries begin at position `first`.

    Under torch.compile the mask is recomputed for every score. With 64-bit positions, as in `triu`, the softmax over
    256 tokens takes 1.8 times as long as with these 32-bit positions, and a training step 1.2 times.
    """
    positions = torch.arange(first + n, dtype=torch.int32, device=device)
    return positions[first:, None] < positions


def split(x: Tensor, heads: int) -> Tensor:
    """Returns (B, N, C) split into heads, (B, H, N, D)."""
    return x.unflatten(2, (heads, -1)).transpose(1, 2)


class Source(nn.Module):
    """The source of scores. A subclass computes the scores, scaled if its definition has a scale, and not masked.

    Parameters whose name ends with `table` have one number per position, per pair of positions or, in mixtures, per
    source; training gives them a separate learning rate.
    """

    is_limited = False  # True for tables of trained_length positions, without scores for longer texts

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads = config.heads

    def forward(self, x: Tensor, rotary: Rotary, factor: Tensor | float, keys: Keys = OWN) -> Tensor:
        """Returns new scores (B or 1, H, N, M) of x (B, N, C); `factor` multiplies q·k / sqrt(D) only."""
        raise NotImplementedError


class SelfAttention(nn.Module):
    """Attention with one source of scores; a subclass names the source and normalises its scores."""

    # the type's description, see Traits
    title: str
    line = ""
    label = ""
    colour = 0
    dash = 0
    formula: str
    published: str
    policies: tuple[str, ...] = ("trained",)
    trained_policy = ""
    is_distribution = True
    reads_text = True
    selects = False

    source_type: type[Source]  # the class of the source, which is built from the Config
    replaces_mlp = False  # True if no MLP follows the attention layer
    parts: tuple[str, ...] = ()  # titles of the sources that a mixture adds; empty for other types

    @classmethod
    def traits(cls) -> Traits:
        """Returns the description of the attention type, for catalogues, links and pages, which have no module."""
        return Traits(cls.title, cls.formula, cls.published, cls.policies, cls.trained_policy, cls.is_distribution,
                      cls.reads_text, cls.selects, cls.line, cls.label, cls.colour, cls.dash)

    @classmethod
    def longest(cls, config: Config) -> int | None:
        """Returns the largest number of tokens for which a model of this shape has weights; None without a limit."""
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
        """Returns the layer's output (B, N, C) for x (B, N, C); appends a Record to `records` if it is a list."""
        scores = self.scores(x, rotary, intervention.factor, keys)
        live, mask = self.normalise(scores, keys)
        intervention = keys.columns(intervention, live.shape[-1])
        weights = intervene(live, intervention)
        values = keys.computed("value", self.values, x)
        outputs, gates = self.outputs(weights, values, x), self.gates(x)
        outputs = gated(outputs if gates is None else outputs * gates.unsqueeze(-1), intervention)
        if records is not None:
            scores, live, weights = (t.expand(len(x), -1, -1, -1) for t in (scores, live, weights))
            records.append(Record(scores, mask, live, weights, outputs.norm(dim=-1), gates, values, outputs))
        return self.output(outputs.transpose(1, 2).flatten(2))

    def scores(self, x: Tensor, rotary: Rotary, factor: Tensor | None = None, keys: Keys = OWN) -> Tensor:
        """Returns the source's scores (B or 1, H, N, M), -inf for masked keys; `factor` as in Intervention."""
        count = keys.first + x.shape[1] if keys.memory is None else keys.memory.shape[1]
        if self.source.is_limited and count > self.trained_length:
            raise ValueError(f"{self.title} attention has tables for {self.trained_length} tokens; "
                             f"this text has {count}")
        trained = self.trained_factor(count, x.device)
        if isinstance(trained, Tensor):
            trained = trained[:, -x.shape[1]:]  # the factors of the queries in x, which are the last of the text
        scores = self.source(x, rotary, trained if factor is None else factor, keys)
        # a single query sees all keys; masked in place, because a copy takes as long as the product
        if self.causal and x.shape[1] > 1:
            scores = scores.masked_fill_(causal_mask(x.shape[1], x.device, keys.first), NEVER)
        return scores if keys.hidden is None else scores.masked_fill(keys.hidden, NEVER)

    def trained_factor(self, n: int, device: torch.device | None = None) -> Tensor | float:
        """Returns the trained factor on q·k / sqrt(D): a number, or a tensor broadcastable to (H, N, 1)."""
        return 1.0

    def factor(self, scale: Scale, n: int) -> Tensor:
        """Returns the factor under a scale policy for a text of n tokens, broadcastable to (H, N, 1)."""
        if scale.policy == "trained":
            factor = self.trained_factor(n)
            return factor if isinstance(factor, Tensor) else torch.full((1, 1, 1), factor)
        return policy_factor(scale, n, self.causal, self.trained_length)

    def normalise(self, scores: Tensor, keys: Keys = OWN) -> tuple[Tensor, Tensor | None]:
        """Returns the pattern (B, H, N, M) of scores, and the selective mask F (B, N, M) or None."""
        return scores.softmax(dim=-1), None

    def log_normaliser(self, scores: Tensor) -> Tensor:
        """Returns ln Z (B, H, N) of the scores (B, H, N, M), the logarithm of each row's divisor."""
        return scores.logsumexp(dim=-1)

    def gates(self, x: Tensor) -> Tensor | None:
        """Returns the type's computed gates (B, H, N), applied before those of a plan; None if it has none."""
        return None

    def values(self, x: Tensor) -> Tensor:
        """Returns the value vectors (B, H, M, D) of x (B, M, C)."""
        return split(self.value(x), self.heads)

    def outputs(self, weights: Tensor, values: Tensor, x: Tensor) -> Tensor:
        """Returns head outputs (B, H, N, D) before gates, from patterns (B or 1, H, N, M) and values."""
        if len(weights) < len(x):  # all texts share the pattern, so one matrix product per head is sufficient
            return torch.einsum("hnm, bhmd -> bhnd", weights[0].to(values.dtype), values)
        return weights @ values
