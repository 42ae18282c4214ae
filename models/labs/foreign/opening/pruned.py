"""Checkpoints that transformers 4 pruned: the heads that `pruned_heads` in config.json names have no weights.

transformers 5 builds every head. The missing rows and columns are filled with zeros, so a pruned head adds exactly
nothing, as with a gate of 0. `ForeignLab.closed` contains the pruned heads.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from models.labs.foreign.refusals import refuse

Pruned = Mapping[int, frozenset[int]]  # layer -> heads that were cut


def pruned_heads(folder: Path, layers: int, heads: int) -> Pruned:
    """Returns the heads that are missing from the weights of a folder."""
    given = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("pruned_heads") or {}
    try:
        pruned = {int(layer): frozenset(map(int, cut)) for layer, cut in given.items() if cut}
    except (AttributeError, TypeError, ValueError) as error:
        raise refuse("config damaged", why="pruned_heads") from error
    if any(not 0 <= layer < layers or not all(0 <= head < heads for head in cut) for layer, cut in pruned.items()):
        raise refuse("config damaged", why="pruned_heads")
    return pruned


def whole_weights(files: list[Path], model: Any, pruned: Pruned, heads: int) -> dict[str, Tensor]:
    """Returns the weights with zeros for the pruned heads."""
    shapes = {name: tensor.shape for name, tensor in model.state_dict().items()}
    weights: dict[str, Tensor] = {}
    for file in files:
        weights |= load_file(file)
    for name, tensor in weights.items():
        layer = re.search(r"\.(\d+)\.", name)
        if layer is None or int(layer[1]) not in pruned or "att" not in name:
            continue
        cut, hidden = pruned[int(layer[1])], model.config.hidden_size
        shape = next((shape for known, shape in shapes.items() if f".{known}".endswith(f".{name}")
                      or f".{name}".endswith(f".{known}")), None)
        # transformers 5 renamed the modules of some models; then the shape follows from the number of remaining heads
        left = hidden * (heads - len(cut)) // heads
        shape = shape or torch.Size({left: hidden, 3 * left: 3 * hidden}.get(size, size) for size in tensor.shape)
        if shape != tensor.shape and len(shape) == tensor.ndim:
            weights[name] = _filled(tensor, shape, cut, heads, hidden)
    return weights


def _filled(tensor: Tensor, shape: torch.Size, cut: frozenset[int], heads: int, hidden: int) -> Tensor:
    """Returns the tensor in the unpruned shape, with zeros for the pruned heads.

    A dimension may contain queries, keys and values one after another, as in GPT-2.
    """
    for dim, size in enumerate(shape):
        if tensor.shape[dim] == size:
            continue
        groups = 3 if size == 3 * hidden else 1
        indices = torch.arange(size).view(groups, heads, -1)
        kept = indices[:, [head for head in range(heads) if head not in cut]].flatten()
        if len(kept) != tensor.shape[dim]:
            raise refuse("weights damaged")
        tensor = torch.zeros(*tensor.shape[:dim], size, *tensor.shape[dim + 1:], dtype=tensor.dtype).index_copy_(
            dim, kept, tensor)
    return tensor

