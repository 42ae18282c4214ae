"""The residual stream of one pass: the hidden states after each layer, and the output of each head and MLP.

x_0 = embedding;   x_{l+1} = x_l + sum over heads of W_O,h output_h + mlp_l;   logits = E norm(x_L)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from numpy import ndarray
from torch import Tensor, nn

from models.kind import CROSS, DECODER, ENCODER, SELF
from models.nets.attention.base import SelfAttention
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Block, Model, Transformer

HeadOutputs = Mapping[str, Sequence[Tensor]]  # block -> (H, N, D) outputs of each layer's heads, before W_O


@dataclass(frozen=True, eq=False)
class Residuals:
    """The hidden states of the residual stream at P positions of the predicting token sequence."""

    positions: tuple[int, ...]  # P positions, in order
    states: Tensor  # (L + 1, P, C) hidden states before the first layer and after each layer, before the final norm
    # a function of hidden states (..., P, C) that returns logits (..., P, V), through the final norm and the
    # unembedding
    logits: Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Writes:
    """The parts of the residual stream at one position; `heads` and `rest` sum to the state after the last layer."""

    position: int  # position in the predicting token sequence
    heads: Mapping[str, Tensor]  # block -> (L, H, C) outputs of the heads after W_O
    # name of the part -> (C,): `embedding`, `mlp 0`, ..., and `biases` if output projections have biases
    rest: Mapping[str, Tensor]
    gain: Tensor  # (C,) the final norm's factor with its scale held fixed: weight / RMS, or weight / standard deviation
    is_centred: bool  # True if the final norm subtracts the mean, as LayerNorm does
    shift: Tensor | None  # (C,) the bias of the final norm, or None
    # a function of n token ids that returns the rows (n, C) of the output matrix and the biases (n,) of the logits
    unembed: Callable[[Sequence[int]], tuple[Tensor, Tensor]]
    logits: Tensor  # (V,) logits of the pass
    states: Tensor  # (L + 1, C) the residual stream before the first layer and after each layer, before the final norm
    # a function of states (..., C) that returns logits (..., V), through the final norm and the unembedding
    read: Callable[[Tensor], Tensor]


def head_writes(attention: SelfAttention, outputs: Tensor, positions: Sequence[int]) -> Tensor:
    """Returns what each head adds to the residual stream at P positions, (H, P, C): output times slice of W_O."""
    slices = attention.output.weight.unflatten(1, (attention.heads, -1))  # shape (C, H, D)
    return torch.einsum("hpd, chd -> hpc", outputs[:, list(positions)], slices)


def layers_of(model: Model, encoder: bool = False) -> list[tuple[Block, list[tuple[str, SelfAttention]]]]:
    """Returns for each layer of a residual stream the module, and (block name, attention module) of its attention."""
    if isinstance(model, Transformer):
        return [(block, [(SELF, block.attention)]) for block in model.blocks]
    assert isinstance(model, Seq2Seq)
    if encoder:
        return [(block, [(ENCODER, block.attention)]) for block in model.encoder]
    return [(block, [(DECODER, block.attention), (CROSS, block.cross)]) for block in model.decoder]


def parts(model: Model, ids: Sequence[int], outputs: HeadOutputs, positions: Sequence[int],
          encoder: bool = False) -> tuple[
              Tensor, dict[str, list[Tensor]], list[Tensor | None]]:
    """Returns what embedding (P, C), heads (H, P, C) per layer of each block, and MLPs add at P positions.

    A layer without an MLP has None.
    """
    x = embedding = model.embedding.weight[[ids[i] for i in positions]]
    heads: dict[str, list[Tensor]] = {}
    mlps: list[Tensor | None] = []
    for layer, (block, attentions) in enumerate(layers_of(model, encoder)):
        for kind, attention in attentions:
            written = head_writes(attention, outputs[kind][layer], positions)
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
    return Residuals(tuple(positions), torch.stack(states), lambda x: model.logits(_final(model)(x)))


def writes_of(model: Model, ids: Sequence[int], outputs: Mapping[str, ndarray], position: int) -> Writes:
    """Returns the Writes of a pass at one position; `outputs` are those of Trace.head_outputs."""
    here = {kind: list(torch.tensor(outputs[kind][:, :, [position]])) for kind, _ in layers_of(model)[0][1]}
    embedding, heads, mlps = parts(model, [ids[position]], here, [0])
    rest = {"embedding": embedding[0], **{f"mlp {layer}": mlp[0] for layer, mlp in enumerate(mlps) if mlp is not None}}
    of_heads = {kind: torch.stack(writes)[:, :, 0] for kind, writes in heads.items()}
    states = torch.stack(_states(embedding, heads, mlps))[:, 0]
    x, norm = states[-1], _final(model)
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


def _final(model: Model) -> nn.RMSNorm:
    assert isinstance(model, (Transformer, Seq2Seq))
    return model.norm
