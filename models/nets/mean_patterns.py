"""PAPA's constant matrices (arXiv 2211.03495, section 3.1): mean patterns over texts, cut to a prompt's positions.

Row sums of relu² attention are not 1 and depend on the text's length. The rows of its constant pattern are scaled to
the mean row sum that computed patterns have at the prompt's length. Without this scaling, row sums of a mean pattern
computed at 128 tokens would be a half to a sixth of computed row sums at 20 tokens. The card stores the row sums per
scale policy, layer and head.
"""

import math
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from models.kind import CROSS, DECODER, ENCODER
from models.nets.attention.base import Intervention, Record
from models.nets.config import PADDING
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Transformer
from models.plan import Scale

ROW_SUMS = "constant_masses"  # key of the row sums in a card
SUM_LENGTHS = (8, 16, 32, 64, 128)  # lengths at which row sums are measured; between them they are interpolated


def seen(queries: int, keys: int, causal: bool) -> Tensor:
    """Returns a tensor (queries, keys): 1 if the key is visible to the query, else 0."""
    every = torch.ones(queries, keys)
    return every.tril() if causal else every


def normalised(matrices: Tensor, causal: bool) -> Tensor:
    """Returns matrices (..., N, M) with rows that sum to 1; a row of zeros becomes uniform over the visible keys."""
    sums, visible = matrices.sum(-1, keepdim=True), seen(matrices.shape[-2], matrices.shape[-1], causal)
    return torch.where(sums > 0, matrices / sums, visible / visible.sum(-1, keepdim=True))


def cut_to(matrices: Tensor, rows: Tensor, columns: Tensor, causal: bool) -> Tensor:
    """Returns matrices (L, H, size, size) cut to a text's positions; rows sum to 1, and a row of zeros is uniform."""
    return normalised(matrices[:, :, rows[:, None], columns], causal)


@torch.inference_mode()
def mean_patterns(model: Transformer, texts: Tensor) -> Tensor:
    """Returns constant matrices (L, H, N, N): each head's mean pattern over texts (B, N) of one length."""
    layers: list[Tensor] = []
    for part in texts.split(32):
        records: list[Record] = []
        model(part, records=records)
        sums = [record.live.sum(0) for record in records]
        layers = [a + b for a, b in zip(layers, sums, strict=True)] if layers else sums
    return torch.stack(layers) / len(texts)


@torch.inference_mode()
def mean_pair_patterns(model: Seq2Seq, texts: Tensor, targets: Tensor) -> dict[str, Tensor]:
    """Returns PAPA's constant matrices of each block: an entry is the mean over the text pairs with both positions.

    Encoder (L, H, M, M), decoder (L, H, N, N), cross (L, H, N, M). Entries are means over different numbers of pairs,
    so rows need not sum to 1 and are divided by their sums. A row that no pair reaches becomes uniform over the keys
    visible to its query (arXiv 2211.03495, section 3.1; the code of the paper leaves such rows 0).
    """
    means: dict[str, Tensor] = {}
    counts: dict[str, Tensor] = {}
    for sources, outputs in zip(texts.split(32), targets.split(32), strict=True):
        records: dict[str, list[Record]] = {ENCODER: [], DECODER: [], CROSS: []}
        model(sources, outputs, records=records)
        exists = {ENCODER: (sources != PADDING, sources != PADDING), DECODER: (outputs != PADDING, outputs != PADDING),
                  CROSS: (outputs != PADDING, sources != PADDING)}
        for kind, (rows, columns) in exists.items():
            both = (rows.unsqueeze(2) & columns.unsqueeze(1)).float()  # shape (B, N, M)
            sums = torch.stack([(record.live * both.unsqueeze(1)).sum(0) for record in records[kind]])
            means[kind] = means[kind] + sums if kind in means else sums
            counts[kind] = counts[kind] + both.sum(0) if kind in counts else both.sum(0)
    return {kind: normalised(means[kind] / counts[kind].clamp_min(1), kind == DECODER) for kind in means}


@torch.inference_mode()
def measured_row_sums(model: Transformer, texts: Tensor) -> dict[str, Any]:
    """Returns `lengths`, and `policies`: scale policy -> mean row sum by layer, head and length, of texts (B, N)."""
    lengths = [n for n in SUM_LENGTHS if n <= texts.shape[1]]
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


def row_sum_at(masses: Mapping[str, Any], policy: str, layer: int, n: int) -> Tensor:
    """Returns a layer's mean row sum (H, 1, 1) at n tokens, interpolated in log n between measured lengths."""
    lengths = masses["lengths"]
    values = torch.tensor(masses["policies"][policy][layer])  # shape (H, K)
    above = next((i for i, length in enumerate(lengths) if length >= n), len(lengths) - 1)
    below = max(0, above - 1) if lengths[above] > n else above
    way = 0.0 if below == above else math.log(n / lengths[below]) / math.log(lengths[above] / lengths[below])
    return (values[:, below] + min(1.0, max(0.0, way)) * (values[:, above] - values[:, below]))[:, None, None]


def with_row_sum(matrices: Tensor, mass: Tensor) -> Tensor:
    """Returns matrices (H, N, M) whose mean row sum is `mass` (H, 1, 1); a head with only zeros is unchanged."""
    return matrices * (mass / matrices.sum(-1).mean(-1)[:, None, None].clamp_min(1e-9))
