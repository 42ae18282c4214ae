"""The residual stream of one pass: its states, the output of each head and MLP, and scores as sums over these parts.

    x_0 = embedding;   x_{l+1} = x_l + sum over heads of W_O,h output_h + mlp_l;   logits = E norm(x_L)
    score = factor / sqrt(D) · (R_i q_i) · (R_j k_j)        q_i = W_q norm(x_i),  k_j = W_k norm(x_j)

The score of one query and key is three sums: over head dimensions, over content and position, and over the parts of
both vectors. With the norm's scale held fixed, q and k are sums over the embedding and the outputs of earlier heads and
MLPs, and the score is a sum over pairs of parts. R_i is the rotation by position i (RoPE).

In cross-attention x_i is the decoder's hidden state and x_j is the encoder's last hidden state, so that query and key
have different parts. Cross-attention has no RoPE.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from numpy import ndarray
from torch import Tensor, nn

from models.errors import StructureError
from models.kind import CROSS, DECODER, ENCODER, SELF
from models.messages import message
from models.nets.attention.base import Record, SelfAttention
from models.nets.attention.dense import DenseScores, FactorizedDenseScores
from models.nets.attention.dot_product import DotProduct, rotary_table, rotate
from models.nets.attention.random import FactorizedTable, FixedTable, Table
from models.nets.seq2seq import DecoderBlock, Seq2Seq
from models.nets.transformer import Block, Model, Transformer
from models.trace import Arrays, fixed

GUESSES = 3  # number of tokens that are shown after each layer
HeadOutputs = Mapping[str, Sequence[Tensor]]  # block -> (H, N, D) outputs of each layer's heads, before W_O
Name = str | tuple[str, int, int]  # `embedding`, `mlp 0`, ..., or the address (block, layer, head) of a head


@dataclass(frozen=True, eq=False)
class Residuals:
    """The hidden states of the residual stream at P positions of the predicting token sequence."""

    positions: tuple[int, ...]  # P positions, in order
    states: Tensor  # (L + 1, P, C) hidden states before the first layer and after each layer, before the final norm
    # a function of hidden states (..., P, C) that returns logits (..., P, V), through the final norm and the
    # unembedding
    logits: Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Writes(Arrays):
    """The parts of the residual stream at one position; `heads` and `rest` sum to the state after the last layer."""

    position: int  # position in the predicting token sequence
    heads: Mapping[str, Tensor]  # block -> (L, H, C) outputs of the heads after W_O
    rest: Mapping[str, Tensor]  # `embedding`, `mlp 0`, ..., and `biases` if there are some -> (C,)
    gain: Tensor  # (C,) the final norm's factor with its scale held fixed: weight / RMS, or weight / standard deviation
    is_centred: bool  # True if the final norm subtracts the mean, as LayerNorm does
    shift: Tensor | None  # (C,) the bias of the final norm, or None
    # a function of n token ids that returns the rows (n, C) of the output matrix and the biases (n,) of the logits
    unembed: Callable[[Sequence[int]], tuple[Tensor, Tensor]]
    logits: Tensor  # (V,) logits of the pass
    states: Tensor  # (L + 1, C) the residual stream before the first layer and after each layer, before the final norm
    # a function of states (..., C) that returns logits (..., V), through the final norm and the unembedding
    read: Callable[[Tensor], Tensor]

    @torch.inference_mode()
    def contributions(self, token: int, scale: Writes | None = None) -> tuple[dict[str, ndarray], dict[str, float]]:
        """Returns the contributions to a logit, with the final norm of `scale`: block -> (L, H), name -> number."""
        scale = scale or self
        direction = (scale.gain * scale.unembed([token])[0][0]).double()
        if scale.is_centred:
            direction = direction - direction.mean()
        return ({kind: fixed((part.double() @ direction).numpy()) for kind, part in self.heads.items()},
                {name: float(part.double() @ direction) for name, part in self.rest.items()})

    @torch.inference_mode()
    def guesses(self, tokens: Sequence[int]) -> tuple[ndarray, ndarray, ndarray]:
        """Returns the ids and probabilities of the top GUESSES tokens after each layer, and those of `tokens`."""
        chances = self.read(self.states).softmax(-1)
        top = chances.topk(min(GUESSES, chances.shape[-1]))
        return top.indices.numpy(), top.values.numpy(), chances[:, list(tokens)].numpy()


def layers_of(model: Model, encoder: bool = False) -> list[tuple[Block, list[tuple[str, SelfAttention]]]]:
    """Returns for each layer of a residual stream the module, and (block name, attention module) of its attention."""
    if isinstance(model, Transformer):
        return [(block, [(SELF, block.attention)]) for block in model.blocks]
    assert isinstance(model, Seq2Seq)
    if encoder:
        return [(block, [(ENCODER, block.attention)]) for block in model.encoder]
    return [(block, [(DECODER, block.attention), (CROSS, block.cross)]) for block in model.decoder]


def parts(model: Model, ids: Sequence[int], outputs: HeadOutputs, positions: Sequence[int],
          encoder: bool = False) -> tuple[Tensor, dict[str, list[Tensor]], list[Tensor | None]]:
    """Returns what embedding (P, C), heads (H, P, C) by block and layer, and MLPs (None without one) add."""
    x = embedding = model.embedding.weight[[ids[i] for i in positions]]
    heads: dict[str, list[Tensor]] = {}
    mlps: list[Tensor | None] = []
    for layer, (block, attentions) in enumerate(layers_of(model, encoder)):
        for kind, attention in attentions:
            slices = attention.output.weight.unflatten(1, (attention.heads, -1))  # shape (C, H, D)
            written = torch.einsum("hpd, chd -> hpc", outputs[kind][layer][:, list(positions)], slices)
            heads.setdefault(kind, []).append(written)
            x = x + written.sum(0)
        mlp = block.mlp(x) if block.has_mlp else None
        mlps.append(mlp)
        x = x if mlp is None else x + mlp
    return embedding, heads, mlps


def residuals_of(model: Model, ids: Sequence[int], outputs: HeadOutputs, positions: Sequence[int]) -> Residuals:
    """Returns the Residuals of a pass; arguments as in `parts`."""
    embedding, heads, mlps = parts(model, ids, outputs, positions)
    states = _states(embedding, heads, mlps)
    return Residuals(tuple(positions), torch.stack(states), lambda x: model.logits(model.norm(x)))


def writes_of(model: Model, ids: Sequence[int], outputs: Mapping[str, ndarray], position: int) -> Writes:
    """Returns the Writes of a pass at one position; `outputs` are those of Trace.head_outputs."""
    here = {kind: list(torch.tensor(outputs[kind][:, :, [position]])) for kind, _ in layers_of(model)[0][1]}
    embedding, heads, mlps = parts(model, [ids[position]], here, [0])
    rest = {"embedding": embedding[0], **{f"mlp {layer}": mlp[0] for layer, mlp in enumerate(mlps) if mlp is not None}}
    of_heads = {kind: torch.stack(writes)[:, :, 0] for kind, writes in heads.items()}
    states = torch.stack(_states(embedding, heads, mlps))[:, 0]
    x, norm = states[-1], model.norm
    eps = torch.finfo(x.dtype).eps if norm.eps is None else norm.eps
    scale = model.config.output_scale
    return Writes(position, of_heads, rest, norm.weight * (x.square().mean() + eps).rsqrt(), False, None,
                  lambda tokens: (model.embedding.weight[list(tokens)] * scale, torch.zeros(len(tokens))),
                  model.logits(norm(x)), states, lambda states: model.logits(norm(states)))


def _states(embedding: Tensor, heads: Mapping[str, Sequence[Tensor]], mlps: Sequence[Tensor | None]) -> list[Tensor]:
    states = [embedding]
    for layer, mlp in enumerate(mlps):
        written = sum(writes[layer].sum(0) for writes in heads.values())
        states.append(states[-1] + written + (0 if mlp is None else mlp))
    return states


@dataclass(frozen=True, eq=False)
class ScoreParts(Arrays):
    """The parts of a score in float64; each of `dimensions`, `content` + `position` and `writers` sums to `score`.

    For an imported model only the dimensions are known. `content` is their sum, and `position` is what the model then
    adds to q·k: a bias for the distance, or the change by a soft cap. It has no `writers`.
    """

    score: float  # the score before the selective mask F is subtracted
    dimensions: Tensor  # (D/2,) contributions of dimensions that RoPE rotates together; (D,) without RoPE
    content: float  # scaled q·k without rotation
    position: float  # the change by the rotation, which depends on the distance between query and key; 0 without RoPE
    query_names: Sequence[Name]  # names of the A parts of the query: `embedding`, (block, layer, head), `mlp 0`, ..
    key_names: Sequence[Name]  # names of the B parts of the key; the same as `query_names` except in cross-attention
    writers: Tensor  # (A, B) contributions of a part of the query (row) with a part of the key (column)
    factor: float  # factor on q·k: the scale policy's factor / sqrt(D)
    rotates: bool  # True if queries and keys are rotated by their positions (RoPE)
    masking: float  # F (accumulated votes), which selective attention subtracts; 0 for others
    weight: float  # weight of the key in the computed attention pattern, exp(score - masking) / Z


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
    """Returns the names of the A parts that a query or key is computed from, and the normed parts (A, C)."""
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
    """Returns names and float64 values (A, C) of a stream before `reader`; None: after the encoder's last layer."""
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
