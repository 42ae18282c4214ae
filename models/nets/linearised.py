"""Linearised forward pass: every nonlinearity is replaced by its linearisation at the values of that pass.

    norm(x) = x · w / RMS(x)          with RMS(x) constant
    gelu(u) = u · (gelu(u) / u)       with the ratio constant
    softmax, sigmoid                  constant: attention patterns and computed gates are factors

The output is then linear in the embeddings, and its gradients are the relevances of the epsilon rule (Voita et al.
2019, appendix A). The forward methods of the networks run unchanged inside the context; no module is modified.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class Linearised(TorchFunctionMode):
    """A context in which the forward passes of this thread are linearised.

    Attributes:
        embeddings: the embedded token sequences of the pass, in order, as leaves of the autograd graph.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embeddings: list[Tensor] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = _REPLACEMENTS.get(func, func)(*args, **kwargs or {})
        if func is functional.embedding:
            self.embeddings.append(result.requires_grad_())
        return result


def _norm(x: Tensor, shape: Any, weight: Tensor, eps: float | None = None) -> Tensor:
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    return x * ((x.detach().square().mean(-1, keepdim=True) + eps).rsqrt() * weight)


def _gelu(x: Tensor, approximate: str) -> Tensor:
    u = x.detach()
    return x * (0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))))  # x times the ratio gelu(u) / u


def _constant(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    return lambda *args, **kwargs: function(*args, **kwargs).detach()


_REPLACEMENTS: dict[Any, Callable[..., Tensor]] = {
    functional.rms_norm: _norm, functional.gelu: _gelu,
    Tensor.softmax: _constant(Tensor.softmax), Tensor.sigmoid: _constant(Tensor.sigmoid)}
