"""The attention function that foreign models call: it computes eager attention, applies a plan, and records values.

    q k^T -> · scale · factor -> + bias + mask = scores -> softmax = live -> constant = weights -> weights v -> · gate

transformers looks up attention functions by name (AttentionInterface). Ours has the name `lab` and uses eager masks.
The settings of a pass are in a context variable, which exists during one forward pass in one thread. Nothing is stored
on a module, so passes of two visitors through one model are independent.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from models.capabilities import Watch
from models.contexts import setting
from models.nets.attention.base import NEVER, Intervention, gated, intervene

NAME = "lab"  # name of the function in transformers' tables
FORBIDDEN = -9e3  # a score or mask below this value excludes a key: models use -inf, the lowest float, or -1e4 (GPT)
ORIGINAL = "isolated_from"  # attribute of a copy that comparison.py runs: the original module


class _Eager(str):
    """A name that also equals `eager`: some models apply a mask or a choice of keys only under this name."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        return other == "eager" or str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other


ALSO_EAGER = _Eager(NAME)


@dataclass(frozen=True)
class LayerRecord:
    """The values of one layer for one text."""

    scores: Tensor  # (H, N, M), as in Trace
    live: Tensor  # (H, N, M)
    weights: Tensor  # (H, N, M); the object `live` if the plan changes no pattern
    norms: Tensor  # (H, N) norm of each head's gated output, before W_O
    outputs: Tensor  # (H, N, D) the gated outputs
    # queries (H, N, D) and keys (H, M, D) as the layer multiplies them, and the factor on q·k, broadcastable to
    # (H, N, 1); None if the layer computes its scores in another way
    vectors: tuple[Tensor, Tensor, Tensor] | None = None


Sink = Callable[[str, int, LayerRecord], None]  # a function of (block, layer, record)


class ForwardPass:
    """The settings of one forward pass: the number of the next layer, the interventions, and the function for records.

    Layers are numbered in the order in which they run, because some models do not number their layers, and ALBERT runs
    one layer many times.
    """

    def __init__(self, sites: Mapping[nn.Module, str], intervention: Callable[[str, int, int, int], Intervention],
                 base: int | None = None, sink: Sink | None = None, watch: Watch | None = None) -> None:
        """Starts before the first layer; `intervention` has the arguments block, layer, queries, keys.

        `watch` gets the patterns of each layer of a pass over several texts of one length.
        """
        self._sites, self._intervention, self._base, self._sink = sites, intervention, base, sink
        self._watch = watch
        self._ran: Counter[str] = Counter()
        self._vectors: tuple[Tensor, Tensor, Tensor] | None = None  # of the layer that is running

    @staticmethod
    def original(module: nn.Module) -> nn.Module:
        """Returns the original of a module copy that comparison.py runs; returns any other module unchanged."""
        result: nn.Module = getattr(module, ORIGINAL, module)
        return result

    @property
    def scales(self) -> bool:
        """Returns True if the plan multiplies scores by log n."""
        return self._base is not None

    def factor(self, scores: Tensor, mask: Tensor | None) -> Tensor | None:
        """Returns log(visible keys of each query) / log(base), (..., N or 1, 1); None if the plan does not scale."""
        if self._base is None:
            return None
        if mask is None:
            seen = torch.full((1, 1), float(scores.shape[-1]))
        else:
            seen = (mask > FORBIDDEN).sum(-1, keepdim=True).to(scores.dtype)
        return seen.log() / math.log(self._base)

    def keep(self, query: Tensor, key: Tensor, scaling: float, mask: Tensor | None) -> None:
        """Keeps queries (B, H, N, D) and keys (B, H, M, D) of the running layer; `mask` is added to the scores."""
        if self._sink is not None:
            factor = self.factor(key.transpose(2, 3), mask)
            self._vectors = query[0], key[0], scaling * (torch.ones(1, 1, 1) if factor is None else factor[-1])

    def finish(self, module: nn.Module, scores: Tensor, mix: Callable[[Tensor], Tensor],
               live: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Applies the plan; returns the head outputs (B, H, N, D) before W_O, and the pattern after the plan."""
        kind = self._sites[self.original(module)]
        layer, n, m = self._ran[kind], *scores.shape[-2:]
        self._ran[kind] += 1
        intervention = self._intervention(kind, layer, n, m)
        live = scores.softmax(dim=-1) if live is None else live
        weights = intervene(live, intervention)
        outputs = gated(mix(weights), intervention)
        if self._sink is not None:
            self._sink(kind, layer, LayerRecord(scores[0], live[0], live[0] if weights is live else weights[0],
                                               outputs[0].norm(dim=-1), outputs[0], self._vectors))
            self._vectors = None
        if self._watch is not None:
            self._watch(kind, layer, weights)
        return outputs, weights


_current: ContextVar[ForwardPass | None] = ContextVar("pass", default=None)


def during(what: ForwardPass) -> AbstractContextManager[None]:
    """Context manager: inside it, the forward passes of this thread use the settings `what`."""
    return setting(_current, what)


def current_pass() -> ForwardPass:
    """Returns the settings of the pass in this thread; raises RuntimeError outside of `during`."""
    current = _current.get()
    if current is None:
        raise RuntimeError("a foreign model runs only inside `during`")
    return current


def attend(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None,
           scaling: float | None = None, dropout: float = 0.0, position_bias: Tensor | None = None,
           softcap: float | None = None, **others: Any) -> tuple[Tensor, Tensor]:
    """Returns head outputs (B, N, H, D) and the pattern; transformers calls this function.

    Of `others`, only the sink scores `s_aux` are used. If another argument changed the result, the comparison at the
    opening of the model would find the difference.
    """
    groups = query.shape[1] // key.shape[1]
    if groups > 1:  # key and value heads that several query heads share are repeated for each query head
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scaling = query.shape[-1]**-0.5 if scaling is None else scaling
    current_pass().keep(query, key, scaling, attention_mask)
    scores = torch.matmul(query, key.transpose(2, 3)).mul_(scaling)
    outputs, weights = complete(module, scores, value, attention_mask, position_bias, softcap, others.get("s_aux"))
    return outputs.transpose(1, 2).contiguous(), weights


def complete(module: nn.Module, scores: Tensor, value: Tensor, mask: Tensor | None, bias: Tensor | None = None,
             softcap: float | None = None, sink: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Returns the result of `complete_with` for values (B, H, M, D) that the pattern multiplies."""
    return complete_with(module, scores, lambda weights: torch.matmul(weights, value), mask, bias, softcap, sink)


def complete_with(module: nn.Module, scores: Tensor, mix: Callable[[Tensor], Tensor], mask: Tensor | None,
                  bias: Tensor | None = None, softcap: float | None = None,
                  sink: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Computes the final scores and applies the plan; returns head outputs (B, H, N, D) before W_O, and the pattern."""
    # scores (B, H, N, M) = q·k times scale are overwritten. The sink (H,) is the score of an additional key without a
    # value (gpt-oss), whose weight is not part of the pattern.
    current = current_pass()
    factor = current.factor(scores, mask)
    if factor is not None:
        scores = scores.mul_(factor)
    if softcap is not None:
        scores = (scores / softcap).tanh_() * softcap  # not in place: the gradient of tanh needs its result
    if bias is not None:
        scores = scores.add_(bias)
    if mask is not None:
        scores = scores.add_(mask)
    return current.finish(module, scores, mix, None if sink is None else _softmax_with(sink, scores))


def _softmax_with(sink: Tensor, scores: Tensor) -> Tensor:
    """Returns the softmax over keys and sink, without the sink's column, by the operations of gpt-oss."""
    every = torch.cat([scores, sink.reshape(1, -1, 1, 1).expand(*scores.shape[:-1], 1)], dim=-1)
    return (every - every.max(dim=-1, keepdim=True).values).softmax(dim=-1)[..., :-1]


def mask(*args: Any, **kwargs: Any) -> Tensor | None:
    """Returns transformers' eager mask, with -inf in place of the lowest number of the dtype."""
    result = eager_mask(*args, **kwargs)
    return None if result is None else result.masked_fill_(result < 0, NEVER)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, mask)
