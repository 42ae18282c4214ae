"""The residual stream of an imported model: hidden states by layer, and the outputs of heads and MLPs.

Hooks are installed on the layers of a model when its residual stream is read for the first time. The hooks record one
pass of one thread (a context variable). W_O, the end of the MLP and the final norm are found by comparing values of
that pass, so that no architecture needs separate code. If the values do not agree, a StructureError is raised.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from models.errors import StructureError
from models.labs.foreign.running.positions import BodyOutput, at_positions, whole
from models.messages import message

TOLERANCE = 1e-4  # tolerance relative to the largest number, in comparisons of values of one pass
_KEPT = "attention_lab_hooks"  # name of an attribute that marks a model with installed hooks
_installing = threading.Lock()


@dataclass
class Linear:
    """One call of a linear map: its inputs and outputs at the recorded positions."""

    module: nn.Module
    given: Tensor  # inputs, (P, inner)
    returned: Tensor  # outputs, (P, C)


@dataclass
class Recording:
    """The record of one pass."""

    positions: Sequence[int]  # P positions that are recorded
    # hidden states (P, C) before the first layer, and after each layer
    states: list[Tensor] = field(default_factory=list)
    linears: list[list[Linear]] = field(default_factory=list)  # for each layer, the calls of linear maps in it


_current: ContextVar[Recording | None] = ContextVar("residual stream", default=None)


@contextmanager
def recording(positions: Sequence[int]) -> Iterator[Recording]:
    """Context manager that records the pass inside it; yields the Recording."""
    record = Recording(positions)
    token = _current.set(record)
    try:
        yield record
    finally:
        _current.reset(token)


def listen(model: nn.Module, sites: Mapping[nn.Module, str]) -> None:
    """Installs the hooks, unless they are already installed."""
    with _installing:
        if getattr(model, _KEPT, False):
            return
        lists = [module for module in model.modules() if isinstance(module, nn.ModuleList) and len(module)
                 and all(any(part in sites for part in layer.modules()) for layer in module)]
        if not lists:
            raise StructureError(message("this model has no list of layers"))
        for layer in lists[0]:
            layer.register_forward_pre_hook(_begin, with_kwargs=True)
            layer.register_forward_hook(_end)
            for part in layer.modules():
                if isinstance(part, (nn.Linear, Conv1D)):
                    part.register_forward_hook(_linear)
        setattr(model, _KEPT, True)


def _rows(tensor: Tensor, positions: Sequence[int]) -> Tensor:
    return tensor[0, list(positions)] if tensor.ndim == 3 else tensor[list(positions)]


def _begin(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    now = _current.get()
    if now is not None:
        if not now.states:
            now.states.append(_rows(given[0] if given else named["hidden_states"], now.positions))
        now.linears.append([])


def _end(module: nn.Module, given: Any, returned: Any) -> None:
    now = _current.get()
    if now is not None:
        now.states.append(_rows(returned if isinstance(returned, Tensor) else returned[0], now.positions))


def _linear(module: nn.Module, given: tuple[Tensor, ...], returned: Tensor) -> None:
    now = _current.get()
    if now is not None and now.linears and given[0].ndim in (2, 3) and given[0].shape[-2] > max(now.positions):
        now.linears[-1].append(Linear(module, _rows(given[0], now.positions), _rows(returned, now.positions)))


@dataclass(frozen=True, eq=False)
class Head:
    """The final norm and the language-model head, as functions."""

    model: Any
    inputs: Mapping[str, Any]
    output: Any
    norm: nn.Module | None  # the final norm; None if the head reads the last layer's output

    def normed(self, states: Tensor) -> Tensor:
        """Returns the states (..., C) after the final norm."""
        return states if self.norm is None else self.norm(states)

    def read(self, normed: Tensor) -> Tensor:
        """Returns the logits (P, V) of hidden states (P, C) after the final norm."""
        body = BodyOutput(range(len(normed)))
        body._output = type(self.output)(**{**self.output, "last_hidden_state": normed.unsqueeze(0)})
        with at_positions(body):
            return self.model(**self.inputs).logits[0].float()

    def logits(self, states: Tensor) -> Tensor:
        """Returns the logits (P, V) of hidden states (P, C) before the final norm."""
        return self.read(self.normed(states))


def head_of(model: Any, body: nn.Module, inputs: Mapping[str, Any], output: Any, last: Tensor,
            positions: Sequence[int]) -> Head:
    """Finds the final norm: the module outside the layers that converts the last hidden state to the head's input."""
    expected = output.last_hidden_state[0, list(positions)]
    norms = [module for name, module in body.named_modules()
             if "norm" in type(module).__name__.lower() and not any(part.isdigit() for part in name.split("."))]
    with whole():
        for norm in (None, *reversed(norms)):
            result = last if norm is None else _applied(norm, last)
            if result is not None and result.shape == expected.shape and close(result, expected):
                return Head(model, inputs, output, norm)
    raise StructureError(message("the output head of this model does not read a normalised output of its last layer"))


def _applied(norm: nn.Module, x: Tensor) -> Tensor | None:
    try:
        result: Tensor = norm(x)
    except (RuntimeError, TypeError):  # a norm of another width, or with other arguments
        return None
    return result


def close(one: Tensor, other: Tensor) -> bool:
    """Returns True if two tensors are equal within TOLERANCE, relative to the largest number of `other`."""
    return bool((one - other).abs().max() <= TOLERANCE * other.abs().max().clamp_min(1e-6))


def layer_writes(state: Tensor, after: Tensor, linears: Sequence[Linear],
                 outputs: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Returns (H, C) outputs of a layer's heads after W_O, (C,) the bias of W_O or None, (C,) the MLP's output."""
    joined = outputs.flatten()
    match = next((linear for linear in linears if linear.given.shape[-1] == len(joined) and torch.equal(linear.given[0],
                                                                                                        joined)),
                 None)
    if match is None:
        raise StructureError(message("the layers of this model have no linear map that reads only the outputs of the "
                                     "heads"))
    weight = match.module.weight if isinstance(match.module, Conv1D) else match.module.weight.T  # shape (inner, C)
    assert isinstance(weight, Tensor)
    heads = torch.einsum("hd, hdc -> hc", outputs, weight.unflatten(0, (len(outputs), -1)))
    mlp = after - state - match.returned[0]
    if not close(linears[-1].returned[0], mlp) or linears[-1] is match:
        raise StructureError(message("the layers of this model do not only add to a residual stream: a norm or a "
                                     "factor follows the sum, so the contributions of the parts cannot be separated"))
    bias: Any = match.module.bias
    return heads, bias, mlp


def final_gain(norm: nn.Module | None, x: Tensor) -> tuple[Tensor, bool, Tensor | None]:
    """Returns the final norm at one state: its gain, whether it subtracts the mean, and its bias."""
    if norm is None:
        return torch.ones_like(x), False, None
    after = norm(x.unsqueeze(0))[0]
    if isinstance(norm, nn.LayerNorm):
        gain = (x.var(correction=0) + norm.eps).rsqrt() * (1 if norm.weight is None else norm.weight)
        if close((x - x.mean()) * gain + (0 if norm.bias is None else norm.bias), after):
            return gain.expand_as(x), True, norm.bias
    known = (getattr(norm, name, None) for name in ("variance_epsilon", "eps"))
    eps = next((value for value in known if isinstance(value, float)), 0.0)
    weight = norm(torch.ones_like(x).unsqueeze(0))[0] * (1 + eps) ** 0.5
    gain = weight * (x.square().mean() + eps).rsqrt()
    if not close(x * gain, after):
        raise StructureError(message("this model's final norm is neither LayerNorm nor RMSNorm"))
    return gain, False, None


def unembedding(head: Head, normed: Tensor, tokens: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Returns the rows of the output matrix and the biases of some tokens, by differentiating the head."""
    with torch.enable_grad():
        leaf = normed.detach().clone().requires_grad_()
        logits = head.read(leaf.unsqueeze(0))[0, list(tokens)]
        rows = torch.stack([torch.autograd.grad(logit, leaf, retain_graph=True)[0] for logit in logits])
    biases = logits.detach() - rows @ normed
    with torch.no_grad():
        twice = head.read(2 * normed.unsqueeze(0))[0, list(tokens)]
    if not close(2 * rows @ normed + biases, twice):
        raise StructureError(message("between this model's last layer and its logits there is more than a linear map"))
    return rows, biases
