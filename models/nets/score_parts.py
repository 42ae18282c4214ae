"""The score of one query and key as three sums: over head dimensions, content and position, and parts of both vectors.

    score = factor / sqrt(D) · (R_i q_i) · (R_j k_j)        q_i = W_q norm(x_i),  k_j = W_k norm(x_j)

x is the sum of the embedding and of the outputs of earlier heads and MLPs. With the norm's scale held fixed, q and k
are sums over these parts, and the score is a sum over pairs of parts. R_i is the rotation by position i (RoPE).

In cross-attention x_i is the decoder's hidden state and x_j is the encoder's last hidden state, so that query and key
have different parts. Cross-attention has no RoPE.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from models.errors import StructureError
from models.kind import CROSS, ENCODER
from models.messages import message
from models.nets.attention.base import Record
from models.nets.attention.dense import DenseScores, FactorizedDenseScores
from models.nets.attention.dot_product import DotProduct, rotary_table, rotate
from models.nets.attention.random import FactorizedTable, FixedTable, Table
from models.nets.residual import HeadOutputs, layers_of, parts
from models.nets.seq2seq import DecoderBlock, Seq2Seq
from models.nets.transformer import Model

Name = str | tuple[str, int, int]  # `embedding`, `mlp 0`, ..., or the address (block, layer, head) of a head


@dataclass(frozen=True, eq=False)
class ScoreParts:
    """The parts of a score in float64; each of `dimensions`, `content` + `position` and `writers` sums to `score`.

    For an imported model only the dimensions are known. `content` is their sum, and `position` is what the model then
    adds to q·k: a bias for the distance, or the change by a soft cap. It has no `writers`.
    """

    score: float  # the score before the selective mask F is subtracted
    # (D/2,) contributions of the pairs of head dimensions that RoPE rotates together; (D,) without RoPE
    dimensions: Tensor
    content: float  # scaled q·k without rotation
    position: float  # the change by the rotation, which depends on the distance between query and key; 0 without RoPE
    query_names: Sequence[Name]  # names of the A parts of the query: `embedding`, (block, layer, head), `mlp 0`, ..
    key_names: Sequence[Name]  # names of the B parts of the key; the same as `query_names` except in cross-attention
    writers: Tensor  # (A, B) contributions of a part of the query (row) with a part of the key (column)
    factor: float  # factor on q·k: the scale policy's factor / sqrt(D)
    rotates: bool  # True if queries and keys are rotated by their positions (RoPE)
    # F (accumulated votes), which selective attention subtracts from the score; 0 for other attention types
    masking: float
    weight: float  # weight of the key in the computed attention pattern, exp(score - masking) / Z

    @property
    def nbytes(self) -> int:
        """Memory of the arrays."""
        return self.dimensions.nbytes + self.writers.nbytes


def score_parts(model: Model, rows: Mapping[str, Sequence[int]], records: Mapping[str, Sequence[Record]],
                address: tuple[str, int, int], query: int, key: int, factor: Tensor | float) -> ScoreParts:
    """Returns the parts of the score of one query and key of a head (block, layer, head).

    `factor` on q·k / sqrt(D) is a number or broadcasts to (H, N, 1). Raises StructureError if the attention type does
    not compute its scores from queries and keys only.
    """
    kind, layer, head = address
    is_cross = kind == CROSS
    attention = model.attentions(kind)[layer]
    record = records[kind][layer]
    source = attention.source
    if isinstance(source, (Table, FixedTable, FactorizedTable)):
        value = float(record.scores[0, head, query, key])
        raise StructureError(message("this head has no query or key: the score {value:.2f} is from a table",
                                     value=value))
    if isinstance(source, (DenseScores, FactorizedDenseScores)):
        raise StructureError(message("this head has no key: a network computes its scores from the query alone"))
    if type(source) is not DotProduct:
        raise StructureError(message("this attention type shares queries and keys, or mixes scores"))
    outputs = {block: [layer.outputs[0] for layer in layers] for block, layers in records.items()}
    query_names, read_by_query = _read(model, rows[kind], outputs, address, query)
    key_names, read_by_key = _encoded(model, rows[ENCODER], outputs, key) if is_cross else \
        _read(model, rows[kind], outputs, address, key)
    width = source.query.weight.shape[0] // attention.heads
    part = slice(head * width, (head + 1) * width)
    queries, keys = (read @ matrix.weight[part].double().T for read, matrix in
                     ((read_by_query, source.query), (read_by_key, source.key)))  # (A, D) and (B, D)
    scale = _at(factor, head, query, len(rows[kind])) * width ** -0.5
    content = float(scale * (queries.sum(0) @ keys.sum(0)))
    if not is_cross:
        cos, sin = (table.double() for table in rotary_table(len(rows[kind]), width))
        queries, keys = (rotate(vectors[None, None], (cos[at:at + 1], sin[at:at + 1]))[0, 0]
                         for vectors, at in ((queries, query), (keys, key)))
    dimensions = scale * queries.sum(0) * keys.sum(0)
    if not is_cross:
        dimensions = dimensions.unflatten(0, (2, -1)).sum(0)
    score = float(dimensions.sum())
    masking = 0.0 if record.mask is None else float(record.mask[0, query, key])
    return ScoreParts(score, dimensions, content, 0.0 if is_cross else score - content, query_names, key_names,
                      scale * queries @ keys.T, scale, not is_cross, masking, float(record.live[0, head, query, key]))


def _read(model: Model, ids: Sequence[int], outputs: HeadOutputs, address: tuple[str, int, int],
          position: int) -> tuple[list[Name], Tensor]:
    """Returns the names of the A parts of the vector from which a query or a key is computed, and the parts (A, C).

    The parts are those of the residual stream, multiplied by the norm before the attention with its scale held fixed.
    """
    kind, layer, _ = address
    names, columns = _stream(model, ids, outputs, position, (kind, layer))
    block = layers_of(model, kind == ENCODER)[layer][0]
    return names, _normed(columns, block.cross_norm if isinstance(block, DecoderBlock) and kind == CROSS else
                          block.attention_norm)


def _encoded(model: Model, ids: Sequence[int], outputs: HeadOutputs, position: int) -> tuple[list[Name], Tensor]:
    """Returns the result of `_read` for the encoder's last hidden state, from which cross-attention computes keys."""
    assert isinstance(model, Seq2Seq)
    names, columns = _stream(model, ids, outputs, position, None)
    return names, _normed(columns, model.encoder_norm)


def _normed(columns: Tensor, norm: nn.RMSNorm) -> Tensor:
    eps = torch.finfo(norm.weight.dtype).eps if norm.eps is None else norm.eps
    return columns * norm.weight.double() * (columns.sum(0).square().mean() + eps).rsqrt()


def _stream(model: Model, ids: Sequence[int], outputs: HeadOutputs, position: int,
            reader: tuple[str, int] | None) -> tuple[list[Name], Tensor]:
    """Returns A names and values (A, C) in float64: all that was added to a residual stream before `reader`.

    `reader` None is the encoder's stream after its last layer, which is the input of the cross-attention's keys.
    """
    embedding, heads, mlps = parts(model, ids, outputs, [position], reader is None or reader[0] == ENCODER)
    names: list[Name] = ["embedding"]
    values = [embedding]
    for layer, mlp in enumerate(mlps):
        for block, written in heads.items():
            if (block, layer) == reader:
                return names, torch.cat(values).double()
            names += [(block, layer, head) for head in range(len(written[layer]))]
            values += list(written[layer])
        if mlp is not None:
            names.append(f"mlp {layer}")
            values.append(mlp)
    assert reader is None, f"the model has no attention {reader}"
    return names, torch.cat(values).double()


def _at(factor: Tensor | float, head: int, query: int, n: int) -> float:
    if not isinstance(factor, Tensor):
        return factor
    whole = factor.expand(max(head + 1, factor.shape[-3]), max(n, factor.shape[-2]), 1)
    return float(whole[head, query, 0])
