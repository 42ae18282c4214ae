"""Isolation of modules with a state from earlier texts: each call runs on a copy of the module.

For example, the rotary tables of dynamic NTK and LongRoPE depend on the longest text so far. Without the copy, the same
link could show different maps later, and the threads of two visitors would interfere with each other.
"""

import copy
import functools
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from models.labs.foreign.running.attention import ORIGINAL

# The last name marks a model whose hooks for hidden states are installed; without the mark transformers installs them
# again.
_KEPT = ("_buffers", "_modules", "_parameters", "_non_persistent_buffers_set", "_output_capturing_hooks_installed")
Snapshot = dict[nn.Module, tuple[dict[str, Tensor | None], dict[str, Any]]]


def snapshot(model: nn.Module) -> Snapshot:
    """Returns a copy of every module's buffers and attributes, without submodules and parameters."""
    return {module: (_buffers(module), _attributes(module)) for module in model.modules()}


def restore(before: Snapshot) -> list[nn.Module]:
    """Undoes the changes since the snapshot."""
    changed = []
    for module, (buffers, attributes) in before.items():
        now = _attributes(module)
        if _same_buffers(buffers, module._buffers) and now.keys() == attributes.keys() and all(
                now[name] is attributes[name] for name in now):
            continue
        changed.append(module)
        for name in now.keys() - attributes.keys():
            del module.__dict__[name]
        module.__dict__.update(attributes)
        module._buffers.clear()
        module._buffers.update(buffers)
    return changed


def isolate(modules: Iterable[nn.Module]) -> None:
    """Makes each call of these modules work on a copy of its buffers and attributes; parameters are shared."""
    for module in modules:
        module.forward = functools.partial(_forward_of_copy, module)


def _forward_of_copy(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
    fresh = copy.copy(module)
    fresh.__dict__.pop("forward", None)
    fresh.__dict__[ORIGINAL] = module
    fresh.__dict__["_buffers"] = _buffers(module)
    return type(fresh).forward(fresh, *args, **kwargs)


def _buffers(module: nn.Module) -> dict[str, Tensor | None]:
    return {name: None if buffer is None else buffer.clone() for name, buffer in module._buffers.items()}


def _attributes(module: nn.Module) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if name not in _KEPT}


def _same_buffers(old: dict[str, Tensor | None], new: dict[str, Tensor | None]) -> bool:
    return old.keys() == new.keys() and all(
        old[name] is new[name] or (isinstance(a := old[name], Tensor) and isinstance(b := new[name], Tensor)
                                   and torch.equal(a, b)) for name in old)
