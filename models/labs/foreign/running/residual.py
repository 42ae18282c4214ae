"""The residual stream of an imported model: hidden states by layer, and the outputs of heads and MLPs.

Hooks are installed on the layers of a model when its residual stream is read for the first time. The hooks record one
pass of one thread (a context variable). W_O, the end of the MLP and the final norm are found by comparing values of
that pass, so that no architecture needs separate code. If the values do not agree, a StructureError is raised.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from models.contexts import setting
from models.errors import StructureError
from models.labs.foreign.running.positions import BodyOutput, at_positions
from models.messages import message

TOLERANCE = 1e-4  # tolerance relative to the largest number, in comparisons of values of one pass
_KEPT = "attention_lab_hooks"  # name of an attribute that marks a model with installed hooks
_installing = threading.Lock()


@dataclass
class Call:
    """One call of a module in a layer: its input and its output at the recorded positions."""

    module: nn.Module
    given: Tensor  # (P, inner)
    returned: Tensor  # (P, outer)


@dataclass
class Recording:
    """The record of one pass."""

    positions: Sequence[int]  # P positions that are recorded
    # hidden states (P, C) before the first layer, and after each layer; None if a layer reads something else
    states: list[Tensor] | None = field(default_factory=list)
    calls: list[list[Call]] = field(default_factory=list)  # for each layer, the calls of the modules in it
    layers: list[nn.Module] = field(default_factory=list)


_current: ContextVar[Recording | None] = ContextVar("residual stream", default=None)


@contextmanager
def recording(positions: Sequence[int]) -> Iterator[Recording]:
    """Context manager that records the pass inside it; yields the Recording."""
    record = Recording(positions)
    with setting(_current, record):
        yield record


def listen(model: nn.Module, sites: Mapping[nn.Module, str]) -> None:
    """Installs the hooks, unless they are already installed."""
    with _installing:
        if getattr(model, _KEPT, False):
            return
        lists = [module for module in model.modules() if isinstance(module, nn.ModuleList)
                 and sites.keys() <= set(module.modules())]
        if not lists:
            raise StructureError(message("this model has no list of layers"))
        for layer in lists[0]:
            layer.register_forward_pre_hook(_begin, with_kwargs=True)
            for part in layer.modules():
                if part is not layer:
                    part.register_forward_hook(_call, with_kwargs=True)
            layer.register_forward_hook(_end)
        setattr(model, _KEPT, True)


def _rows(value: Any, positions: Sequence[int]) -> Tensor | None:
    """Returns the rows (P, width) of a tensor (1, N, width) or (N, width), or of the first tensor of a tuple."""
    tensor = value[0] if isinstance(value, tuple | list) and value else value
    if not isinstance(tensor, Tensor) or tensor.ndim not in (2, 3) or tensor.shape[-2] <= max(positions):
        return None
    return tensor[0, list(positions)] if tensor.ndim == 3 else tensor[list(positions)]


def _begin(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    now = _current.get()
    if now is not None and now.states is not None:
        state = _rows(given[0] if given else named.get("hidden_states"), now.positions)
        if state is None or now.states and state.shape != now.states[-1].shape:
            now.states = None
            return
        now.states[-1:] = [state]  # some models change the hidden state between two layers
        now.calls.append([])
        now.layers.append(module)


def _end(module: nn.Module, given: Any, returned: Any) -> None:
    now = _current.get()
    if now is not None and now.states is not None:
        state = _rows(returned, now.positions)
        now.states = None if state is None else [*now.states, state]


def _call(module: nn.Module, given: tuple[Any, ...], named: dict[str, Any], returned: Any) -> None:
    now = _current.get()
    if now is not None and now.calls:
        before = _rows(given[0] if given else named.get("hidden_states"), now.positions)
        after = _rows(returned, now.positions)
        if before is not None and after is not None:
            now.calls[-1].append(Call(module, before, after))


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
    with at_positions(None):
        for norm in (None, *reversed(norms)):
            result = last if norm is None else _applied(norm, last)
            if result is not None and result.shape == expected.shape and close(result, expected):
                return Head(model, inputs, output, norm)
    raise StructureError(message("its output head does not read the normalised last layer"))


def _applied(norm: nn.Module, x: Tensor) -> Tensor | None:
    try:
        result: Tensor = norm(x)
    except (RuntimeError, TypeError):  # a norm of another width, or with other arguments
        return None
    return result


def close(one: Tensor, other: Tensor) -> bool:
    """Returns True if two tensors are equal within TOLERANCE, relative to the largest number of `other`."""
    return bool((one - other).abs().max() <= TOLERANCE * other.abs().max().clamp_min(1e-6))


def layer_writes(state: Tensor, after: Tensor, layer: nn.Module, calls: Sequence[Call],
                 outputs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Returns (H, C) outputs of a layer's heads after W_O, (C,) the biases of the attention, (C,) the MLP's output."""
    joined = outputs.flatten()
    match = next((call for call in calls if call.given.shape[-1] == len(joined) and torch.equal(call.given[0], joined)
                  and _matrix(call) is not None), None)
    if match is None:
        raise StructureError(message("no linear map of this model reads only the heads' outputs"))
    weight, change = _matrix(match), after - state
    assert weight is not None
    heads = torch.einsum("hd, hdc -> hc", outputs, weight.unflatten(0, (len(outputs), -1)))
    # what is added: the output of W_O, or of a norm that reads it; and an MLP's output or nothing; times one factor
    added = [match, *(call for call in calls if "norm" in type(call.module).__name__.lower()
                      and torch.equal(call.given, match.returned))]
    others = [torch.zeros_like(change), *(call.returned[0] for call in reversed(calls)
                                          if call.returned.shape[-1] == len(change))]
    extra = [torch.zeros_like(change), *(parameter for parameter in layer.parameters()
                                         if parameter.shape == change.shape)]
    for call in added:
        for bias, other in ((bias, other) for bias in extra for other in others):
            total = call.returned[0] + bias + other
            factor = (change * total).sum() / total.square().sum().clamp_min(1e-30)
            if close(factor * total, change):
                gain, is_centred, _ = final_gain(call.module if call is not match else None, match.returned[0])
                centre = heads.mean(-1, keepdim=True) if is_centred else 0.0
                of_heads = factor * gain * (heads - centre)
                attended = factor * (call.returned[0] + bias)
                return of_heads, attended - of_heads.sum(0), change - attended
    raise StructureError(message("its heads and MLP do not add up to the change of the hidden state"))


def _matrix(call: Call) -> Tensor | None:
    """Returns the matrix (inner, outer) of a linear map; None for any other module."""
    weight = getattr(call.module, "weight", None)
    bias = getattr(call.module, "bias", None)
    for matrix in (weight.T, weight) if isinstance(weight, Tensor) and weight.ndim == 2 else ():
        if (*matrix.shape,) == (call.given.shape[-1], call.returned.shape[-1]) and close(
                call.given @ matrix + (0 if bias is None else bias), call.returned):
            return matrix
    return None


def final_gain(norm: nn.Module | None, x: Tensor) -> tuple[Tensor, bool, Tensor | None]:
    """Returns a norm at one state (C,): its gain, whether it subtracts the mean, and its bias."""
    if norm is None:
        return torch.ones_like(x), False, None
    after = norm(x.unsqueeze(0))[0]
    eps = next((value for name in ("variance_epsilon", "eps") if isinstance(value := getattr(norm, name, None), float)),
               0.0)
    bias: Any = getattr(norm, "bias", None)
    shift = bias if isinstance(bias, Tensor) else torch.zeros_like(x)
    signs = torch.ones_like(x)
    signs[1::2] = -1  # a state of mean 0 and mean square 1, from which LayerNorm and RMSNorm show their weights
    weight = (norm(signs.unsqueeze(0))[0] - shift) * signs * (1 + eps) ** 0.5
    for is_centred in (False, True):
        centred = x - x.mean() if is_centred else x
        gain = weight * (centred.square().mean() + eps).rsqrt()
        if close(centred * gain + shift, after):
            return gain, is_centred, bias if isinstance(bias, Tensor) else None
    raise StructureError(message("its final norm is neither LayerNorm nor RMSNorm"))


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
        raise StructureError(message("its logits are more than a linear map of the last layer"))
    return rows, biases
