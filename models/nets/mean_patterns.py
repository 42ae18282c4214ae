"""PAPA's constant matrices (arXiv 2211.03495, section 3.1): mean patterns over texts, cut to a prompt's positions."""

import torch
from torch import Tensor

from models.kind import CROSS, DECODER, ENCODER
from models.nets.attention.base import Record
from models.nets.config import PADDING
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Transformer


def seen(queries: int, keys: int, causal: bool) -> Tensor:
    """Returns a tensor (queries, keys): 1 if the key is visible to the query, else 0."""
    every = torch.ones(queries, keys)
    return every.tril() if causal else every


def normalised(matrices: Tensor, causal: bool) -> Tensor:
    """Returns matrices (..., N, M) with rows that sum to 1; a row of zeros becomes uniform over the visible keys."""
    sums, visible = matrices.sum(-1, keepdim=True), seen(matrices.shape[-2], matrices.shape[-1], causal)
    return torch.where(sums > 0, matrices / sums, visible / visible.sum(-1, keepdim=True))


def cut_to(matrices: Tensor, rows: Tensor, columns: Tensor, causal: bool) -> Tensor:
    """Returns matrices (L, H, size, size) cut to a text's positions (L, H, rows, columns), with rows that sum to 1.

    A row of zeros, which no training text reached, becomes uniform over the keys visible to its query.
    """
    return normalised(matrices[:, :, rows[:, None], columns], causal)


@torch.inference_mode()
def mean_patterns(model: Transformer, texts: Tensor) -> Tensor:
    """Returns PAPA's constant matrices (L, H, N, N): each head's mean pattern over texts (arXiv 2211.03495, section
    3.1).

    All texts (B, N) have the same length, so every entry is a mean over all of them.
    """
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
