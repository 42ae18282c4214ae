"""Activation patching: heads take their output, or only their attention pattern, from a pass over a second prompt.

Source: Vig et al. 2020, arXiv 2004.12265; Wang et al. 2022, arXiv 2211.00593.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor

from models.plan import OUTPUT, PATTERN, Address


class Values(NamedTuple):
    """The values of one layer in the pass over the second prompt, which has n tokens."""

    weights: Tensor  # (B or 1, H, n, m) attention patterns
    outputs: Tensor  # (B or 1, H, n, D) head outputs, before W_O


@dataclass(frozen=True, eq=False)
class Patch:
    """The patches of one layer."""

    values: Values  # values of the second prompt
    of_output: Tensor | None = None  # (H, 1, 1) or (B, H, 1, 1) bool, heads whose output is replaced
    of_pattern: Tensor | None = None  # the same for the attention pattern

    def pattern(self, weights: Tensor) -> Tensor:
        """Returns patterns (B, H, N, M) in which the first n rows and m columns of patched heads are replaced."""
        return weights if self.of_pattern is None else _replaced(weights, self.values.weights, self.of_pattern)

    def output(self, outputs: Tensor) -> Tensor:
        """Returns outputs (B, H, N, D) in which the first n rows of patched heads are replaced."""
        return outputs if self.of_output is None else _replaced(outputs, self.values.outputs, self.of_output)

    def with_values(self, values: Values) -> Patch:
        """Returns the patch of the same heads with other values."""
        return replace(self, values=values)


def patch_of(patches: Sequence[str], values: Values) -> Patch | None:
    """Returns the Patch of a layer; `patches` has OUTPUT, PATTERN or "" per head. None if no head is patched."""
    if not any(patches):
        return None
    masks = [torch.tensor([patch == what for patch in patches])[:, None, None] if what in patches else None
             for what in (OUTPUT, PATTERN)]
    return Patch(values, *masks)


def each_alone(addresses: Sequence[Address | None], values: Mapping[tuple[str, int], Values],
               what: str) -> dict[tuple[str, int], Patch]:
    """Returns (block, layer) -> Patch with masks (B, H, 1, 1): each row patches one head, or none for None."""
    patches = {}
    for kind, layer in {address[:2] for address in addresses if address}:
        of = values[kind, layer]
        mask = torch.zeros(len(addresses), of.outputs.shape[-3], 1, 1, dtype=torch.bool)
        for row, address in enumerate(addresses):
            if address is not None and address[:2] == (kind, layer):
                mask[row, address[2]] = True
        patches[kind, layer] = Patch(of, mask) if what == OUTPUT else Patch(of, of_pattern=mask)
    return patches


def _replaced(tensor: Tensor, values: Tensor, where: Tensor) -> Tensor:
    """Returns the tensor with its first rows and columns, as many as `values` has, replaced where `where` is True.

    A text that is being generated has more tokens than the second prompt; the other tokens keep their values.
    """
    rows, columns = values.shape[-2:]
    new = torch.where(where, values.to(tensor.dtype), tensor[..., :rows, :columns])
    if (rows, columns) == tuple(tensor.shape[-2:]):
        return new
    whole = tensor.expand(*new.shape[:-2], *tensor.shape[-2:]).clone()
    whole[..., :rows, :columns] = new
    return whole
