"""The stages that every attention type shares.

    x -> scores -> live weights -> intervened weights -> head outputs -> gated -> W_O

A type says how the first two come about (its own file); what a plan does to the rest is here, once, for
every type. Nothing is stored on a module: a plan and a record are arguments, so one
model serves all visitors at once.

Dimensions: B batch, L layers, H heads, N query tokens, M key tokens (N in self-attention), D width of a
head, C width of the model, V vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.heads import Scale

NEVER = float("-inf")


@dataclass(frozen=True)
class Intervention:
    """What a plan does to one layer, as tensors.

    Attributes:
        is_constant: (H, 1, 1) bool, True where the head's weights are replaced; None if nowhere.
        constant: (H, N, M) the weights that replace them; rows sum to 1.
        gate: (H, 1, 1) factor on each head's output, 0 to 1; None if all are 1.
        scale: factor on the scores' scale.
    """

    is_constant: Tensor | None = None
    constant: Tensor | None = None
    gate: Tensor | None = None
    scale: Scale = Scale()


@dataclass
class Record:
    """What one layer did, B = 1 dropped by the reader.

    Attributes:
        scores: (B, H, N, M) what is normalised: scaled and masked (-inf), before F is subtracted.
        mask: (B, N, M) accumulated mask F of selective attention, or None.
        live: (B, H, N, M) weights that the model computes.
        weights: (B, H, N, M) weights that the plan lets through.
        norms: (B, H, N) Euclidean norm of each head's output after its gate, before W_O.
    """

    scores: Tensor
    mask: Tensor | None
    live: Tensor
    weights: Tensor
    norms: Tensor


UNTOUCHED = Intervention()


def beside_untouched(intervention: Intervention) -> Intervention:
    """For a batch of two: the first row as trained, the second under `intervention` (its scale is trained)."""
    def below(tensor: Tensor | None, neutral: float) -> Tensor | None:
        return None if tensor is None else torch.stack((torch.full_like(tensor, neutral), tensor))

    return Intervention(below(intervention.is_constant, False), intervention.constant, below(intervention.gate, 1.0))


def intervene(weights: Tensor, intervention: Intervention) -> Tensor:
    """(B, H, N, M) weights with the constant heads' rows replaced; order: constant first, gate later."""
    if intervention.is_constant is None:
        return weights
    return torch.where(intervention.is_constant, intervention.constant, weights)


def gated(outputs: Tensor, intervention: Intervention) -> Tensor:
    """(B, H, N, D) head outputs times their gates: MultiHead = Concat(g_h · head_h) W_O (Voita et al. 2019)."""
    return outputs if intervention.gate is None else outputs * intervention.gate


def scale_factor(scale: Scale, n_queries: int, n_keys: int, causal: bool) -> Tensor | float:
    """What 1/sqrt(d) is multiplied by: (N, 1), or 1 where the policy changes nothing.

    log n: log(n) / log(base), n = number of keys that the query sees (i + 1 under a causal mask).
    Source: Su Jianlin, kexue 8823, with the base length in place of 512.
    """
    if scale.policy != "logn":
        return 1.0
    if causal:
        visible = torch.arange(n_keys - n_queries + 1, n_keys + 1).unsqueeze(1)
    else:
        visible = torch.full((n_queries, 1), n_keys)
    return visible.log() / math.log(scale.base)


def causal_mask(n: int, device: torch.device | None = None) -> Tensor:
    """(N, N) True above the diagonal: what a query must not see."""
    return torch.ones(n, n, dtype=torch.bool, device=device).triu(1)


def rotary_table(n: int, width: int, base: float = 10_000.0) -> tuple[Tensor, Tensor]:
    """cos and sin, each (N, D/2), of RoPE's angles (Su et al., arXiv 2104.09864, eq. 15)."""
    frequency = base ** (-torch.arange(0, width, 2).float() / width)
    angle = torch.arange(n).float().unsqueeze(1) * frequency
    return angle.cos(), angle.sin()


def rotate(x: Tensor, rotary: tuple[Tensor, Tensor]) -> Tensor:
    """(B, H, N, D) with each pair (x_k, x_{k + D/2}) turned by its position's angle."""
    cos, sin = (table.to(x.dtype) for table in rotary)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class SelfAttention(nn.Module):
    """Query-key self-attention; a subclass says how scores become weights, or whence scores come.

    Args:
        width: C, of the model; a multiple of heads.
        heads: H.
        causal: True if a query sees only itself and what stands before it.
    """

    title: str
    formula: str
    source: str
    scalable = True  # a scale policy means something: the scores are a query-key product under a softmax
    selects = False  # it has a mask F

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor, rotary: tuple[Tensor, Tensor], intervention: Intervention = UNTOUCHED,
                records: list[Record] | None = None) -> Tensor:
        """(B, N, C) -> (B, N, C); appends what it did to `records` if there is such a list."""
        scores = self.scores(x, rotary, intervention.scale)
        live, mask = self.normalise(scores)
        weights = intervene(live, intervention)
        outputs = gated(weights @ self.split(self.value(x)), intervention)
        if records is not None:
            records.append(Record(scores, mask, live, weights, outputs.norm(dim=-1)))
        return self.output(outputs.transpose(1, 2).flatten(2))

    def split(self, x: Tensor) -> Tensor:
        """(B, N, C) -> (B, H, N, D)"""
        return x.unflatten(2, (self.heads, -1)).transpose(1, 2)

    def scores(self, x: Tensor, rotary: tuple[Tensor, Tensor], scale: Scale) -> Tensor:
        """(B, H, N, N) q·k / sqrt(D), times the scale policy's factor, -inf where masked."""
        query, key = rotate(self.split(self.query(x)), rotary), rotate(self.split(self.key(x)), rotary)
        n, width = query.shape[-2:]
        # Scaling the queries costs N·D products, scaling the scores N·M.
        query = query * (scale_factor(scale, n, n, self.causal) * width**-0.5)
        scores = query @ key.transpose(-1, -2)
        # In place: nothing else holds these scores, and a copy of N·M would cost as much as the product.
        return scores.masked_fill_(causal_mask(n, x.device), NEVER) if self.causal else scores

    def normalise(self, scores: Tensor) -> tuple[Tensor, Tensor | None]:
        """(B, H, N, M) scores -> weights of the same shape, and the mask F (B, N, M) or None."""
        raise NotImplementedError
