"""The score of one query and key as three sums: over head dimensions, content and position, and parts of both vectors.

    score = factor / sqrt(D) · (R_i q_i) · (R_j k_j)        q_i = W_q norm(x_i),  k_j = W_k norm(x_j)

x is the sum of the embedding and of the outputs of earlier heads and MLPs. With the norm's scale held fixed, q and k
are sums over the same parts, and the score is a sum over pairs of parts. R_i is the rotation by position i (RoPE).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from models.errors import StructureError
from models.messages import message
from models.nets.attention.base import Record
from models.nets.attention.dense import DenseScores
from models.nets.attention.dot_product import DotProduct
from models.nets.attention.factorized_dense import FactorizedDenseScores
from models.nets.attention.random import Table
from models.nets.attention.rotary import rotary_table, rotate
from models.nets.residual import parts
from models.nets.transformer import Transformer


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The parts of a score in float64; each of `dimensions`, `content` + `position` and `writers` sums to `score`.

    Attributes:
        score: the score before the selective mask F is subtracted.
        dimensions: (D/2,) contributions of the pairs of head dimensions that RoPE rotates together.
        content: scaled q·k without rotation.
        position: the change by the rotation, which depends on the distance between query and key.
        names: names of A parts: `embedding`, (block, layer, head), `mlp 0`, ...
        writers: (A, A) contributions of a part of the query (row) with a part of the key (column).
        factor: factor on q·k: the scale policy's factor / sqrt(D).
        masking: F (accumulated votes), which selective attention subtracts from the score; 0 for other attention types.
        weight: weight of the key in the computed attention pattern, exp(score - masking) / Z.
    """

    score: float
    dimensions: Tensor
    content: float
    position: float
    names: Sequence[str | tuple[str, int, int]]
    writers: Tensor
    factor: float
    masking: float
    weight: float

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.dimensions.nbytes + self.writers.nbytes


def score_parts(model: Transformer, ids: Sequence[int], records: Mapping[str, Sequence[Record]],
                address: tuple[str, int, int], query: int, key: int, factor: Tensor | float) -> ScoreParts:
    """Returns the parts of the score of one query and key of a head.

    Args:
        ids: ids of the text.
        records: block -> the records of its layers in a pass over `ids`.
        address: (block, layer, head).
        query, key: positions of the query and of the key.
        factor: the factor on q·k / sqrt(D) in the pass, a number or broadcastable to (H, N, 1).

    Raises:
        StructureError: the attention type does not compute its scores from queries and keys only.
    """
    kind, layer, head = address
    attention = model.blocks[layer].attention
    source = attention.source
    if isinstance(source, Table):
        value = float(records[kind][layer].scores[0, head, query, key])
        raise StructureError(message("this head has no query and no key: the score {value:.2f} is a number of a table, "
                                     "the same for every text", value=value))
    if isinstance(source, (DenseScores, FactorizedDenseScores)):
        raise StructureError(message("this head has no key: a small network computes the scores of all keys from the "
                                     "query's own vector, whatever the other tokens are"))
    if type(source) is not DotProduct:
        raise StructureError(message("the scores of this attention type are not those of one query and one key alone"))
    names, columns = _writers(model, ids, records, layer, [query, key])
    norm = model.blocks[layer].attention_norm
    x = columns.sum(0)
    eps = torch.finfo(norm.weight.dtype).eps if norm.eps is None else norm.eps
    scaled = columns * norm.weight.double() * (x.square().mean(-1, keepdim=True) + eps).rsqrt()  # (A, 2, C)
    width = source.query.weight.shape[0] // attention.heads
    rows = slice(head * width, (head + 1) * width)
    queries, keys = (scaled[:, place] @ matrix.weight[rows].double().T
                     for place, matrix in enumerate((source.query, source.key)))  # each (A, D)
    cos, sin = (table.double() for table in rotary_table(len(ids), width))
    turned = [rotate(its[None, None], (cos[at:at + 1], sin[at:at + 1]))[0, 0]
              for its, at in ((queries, query), (keys, key))]
    scale = _at(factor, head, query, len(ids)) * width ** -0.5
    products = scale * turned[0].sum(0) * turned[1].sum(0)
    dimensions = products[:width // 2] + products[width // 2:]
    score, content = float(dimensions.sum()), float(scale * (queries.sum(0) @ keys.sum(0)))
    record = records[kind][layer]
    masking = 0.0 if record.mask is None else float(record.mask[0, query, key])
    return ScoreParts(score, dimensions, content, score - content, names, scale * turned[0] @ turned[1].T, scale,
                      masking, float(record.live[0, head, query, key]))


def _writers(model: Transformer, ids: Sequence[int], records: Mapping[str, Sequence[Record]], layer: int,
             positions: Sequence[int]) -> tuple[list[str | tuple[str, int, int]], Tensor]:
    """Returns the names of the A parts of the residual stream before a layer, and their values (A, P, C) in float64."""
    embedding, heads, mlps = parts(model, ids, records, positions)
    names: list[str | tuple[str, int, int]] = ["embedding"]
    values = [embedding]
    for earlier in range(layer):
        for kind, layers in heads.items():
            names += [(kind, earlier, head) for head in range(len(layers[earlier]))]
            values += list(layers[earlier])
        mlp = mlps[earlier]
        if mlp is not None:
            names.append(f"mlp {earlier}")
            values.append(mlp)
    return names, torch.stack(values).double()


def _at(factor: Tensor | float, head: int, query: int, n: int) -> float:
    if not isinstance(factor, Tensor):
        return factor
    whole = factor.expand(max(head + 1, factor.shape[-3]), max(n, factor.shape[-2]), 1)
    return float(whole[head, query, 0])
