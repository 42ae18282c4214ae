"""Removes pruned heads from the weights of an imported model, if its architecture allows fewer heads.

In transformers, all layers of a model have the same number of heads. Therefore the same number of heads is removed from
every layer: the smallest number of pruned heads of a layer. The other pruned heads keep their zeros in W_O. The config
must have a separate field for the width of a head (`head_dim`, `d_kv`). In BERT and GPT-2 this width is always
hidden_size / heads, so their heads cannot be removed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from models.labs.foreign.opening.facts import HEAD_COUNTS

WIDTHS = ("head_dim", "d_kv")  # config fields that contain the width of a head
BIAS = "relative_attention_bias"  # T5's table of (buckets, heads), which all layers of a stack share


@dataclass(frozen=True)
class Site:
    """One attention layer."""

    # kind and layer: attention block and number of the layer
    kind: str
    layer: int
    module: nn.Module  # the attention module
    output: str  # name of W_O in the state dict
    dim: int  # dimension of W_O that reads the heads
    width: int  # D of each head's output


def cut(config: Any, state: Mapping[str, Tensor], sites: Sequence[Site],
        gates: Mapping[tuple[str, int], Tensor]) -> tuple[Any, dict[str, Tensor], int] | None:
    """Returns a smaller config, weights and number of removed heads, for the caller to compare; or None."""
    smaller = copy.deepcopy(config)
    text = smaller.get_text_config()
    count = next((name for name in HEAD_COUNTS if getattr(text, name, None)), None)
    width = next((name for name in WIDTHS if name in text.to_dict()), None)  # Falcon's is computed
    heads = {len(gate) for gate in gates.values()}
    if count is None or width is None or len(heads) > 1 or len({site.output for site in sites}) < len(sites):
        return None
    (number,) = heads
    groups = getattr(text, "num_key_value_heads", None) or number
    kept = _kept(sites, gates, groups, any(BIAS in name for name in state))
    left, left_groups = len(kept[0]), len({int(head) // (number // groups) for head in kept[0]})
    if left == number:
        return None
    setattr(text, count, left)
    setattr(text, width, getattr(text, width) or text.hidden_size // number)
    if getattr(text, "num_key_value_heads", None):
        text.num_key_value_heads = left_groups
    weights = dict(state)
    for site, heads_left in zip(sites, kept, strict=True):
        _cut_site(weights, site, heads_left, number, groups)
    return smaller, weights, (number - left) * len(sites)


def _kept(sites: Sequence[Site], gates: Mapping[tuple[str, int], Tensor], groups: int,
          shares_bias: bool) -> list[Tensor]:
    """Returns the kept heads of each layer, equally many in every layer and for every key-value head."""
    tied: dict[Any, Tensor] = {}  # layers that must keep the same heads -> True for each open head, (G, H/G)
    keys = [site.kind if shares_bias and site.kind != "cross" else (site.kind, site.layer) for site in sites]
    for key, site in zip(keys, sites, strict=True):
        is_open = (gates[site.kind, site.layer] > 0).view(groups, -1)
        tied[key] = tied[key] | is_open if key in tied else is_open
    most_groups = max(1, *(int(mask.any(1).sum()) for mask in tied.values()))
    most = max(1, *(int(mask.sum(1).max()) for mask in tied.values()))
    chosen = {}
    for key, is_open in tied.items():
        group = _first(is_open.any(1), most_groups)
        chosen[key] = torch.cat([int(g) * is_open.shape[1] + _first(is_open[g], most) for g in group])
    return [chosen[key] for key in keys]


def _first(wanted: Tensor, count: int) -> Tensor:
    """Returns `count` sorted indices: those where `wanted` is True, completed by the first other indices."""
    return torch.argsort(~wanted, stable=True)[:count].sort().values


def _cut_site(weights: dict[str, Tensor], site: Site, kept: Tensor, heads: int, groups: int) -> None:
    """Removes the rows and columns of all heads but `kept` from the weights of one attention layer."""
    by_pointer = {tensor.data_ptr(): name for name, tensor in weights.items()}
    shared = torch.unique_consecutive(kept // (heads // groups))
    for name, parameter in site.module.named_parameters():
        named = by_pointer.get(parameter.data_ptr())
        if named is None or named.rpartition(".")[0] == site.output.rpartition(".")[0]:  # W_O and its bias
            continue
        if BIAS in name:
            weights[named] = weights[named][:, kept]
            continue
        for count, left in ((heads, kept), (groups, shared)):
            # queries, keys and values are rows of their matrices; a sink is one number per head
            if parameter.shape[0] in (count * site.width, *([count] if name == "sinks" else [])):
                weights[named] = weights[named].unflatten(0, (count, -1))[left].flatten(0, 1)
                break
    weights[site.output] = weights[site.output].unflatten(site.dim, (heads, -1)).index_select(
        site.dim, kept).flatten(site.dim, site.dim + 1)
