"""Row sums of relu² attention, which are not 1 and depend on the text's length.

The rows of a constant pattern are scaled to the mean row sum that computed patterns have at the prompt's length.
Without this scaling, row sums of a mean pattern computed at 128 tokens would be a half to a sixth of computed
row sums at 20 tokens. The card stores the row sums per scale policy, layer and head.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from models.nets.attention.base import Intervention, Record
from models.nets.transformer import Transformer
from models.plan import Scale

KEY = "constant_masses"  # key of the row sums in a card
LENGTHS = (8, 16, 32, 64, 128)  # lengths at which row sums are measured; between them they are interpolated


@torch.inference_mode()
def measured(model: Transformer, texts: Tensor) -> dict[str, Any]:
    """Returns `lengths`, and `policies`: scale policy -> mean row sum by layer, head and length, of texts (B, N)."""
    lengths = [n for n in LENGTHS if n <= texts.shape[1]]
    sums: dict[str, Any] = {}
    for policy in type(model.blocks[0].attention).policies:
        by_length = []
        for n in lengths:
            plan = [Intervention(factor=block.attention.factor(Scale(policy), n)) for block in model.blocks]
            records: list[Record] = []
            model(texts[:, :n], plan, records)
            by_length.append(torch.stack([record.live.sum(-1).mean((0, 2)) for record in records]))  # shape (L, H)
        sums[policy] = [[[round(value, 5) for value in head] for head in layer]
                        for layer in torch.stack(by_length, -1).tolist()]
    return {"lengths": lengths, "policies": sums}


def at(masses: Mapping[str, Any], policy: str, layer: int, n: int) -> Tensor:
    """Returns the mean row sum (H, 1, 1) of a layer in a text of n tokens.

    Between two measured lengths, the row sum is interpolated in log n; outside them, it is that of the nearest length.
    """
    lengths = masses["lengths"]
    values = torch.tensor(masses["policies"][policy][layer])  # shape (H, K)
    above = next((i for i, length in enumerate(lengths) if length >= n), len(lengths) - 1)
    below = max(0, above - 1) if lengths[above] > n else above
    way = 0.0 if below == above else math.log(n / lengths[below]) / math.log(lengths[above] / lengths[below])
    return (values[:, below] + min(1.0, max(0.0, way)) * (values[:, above] - values[:, below]))[:, None, None]


def with_row_sum(matrices: Tensor, mass: Tensor) -> Tensor:
    """Returns matrices (H, N, M) whose mean row sum is `mass` (H, 1, 1); a head with only zeros is unchanged."""
    return matrices * (mass / matrices.sum(-1).mean(-1)[:, None, None].clamp_min(1e-9))
