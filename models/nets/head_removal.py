"""Removes heads from a network, instead of multiplying their outputs by 0.

A head is its rows of the projections for scores and values, and its columns of W_O. Without them the network computes
the same outputs as with gates of 0, in fewer multiplications. A layer without heads adds nothing.

Head 0 of a selective layer computes the mask F for the whole layer (models/nets/attention/selective.py), so it stays
while another head of the layer does, with its columns of W_O set to 0.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterator

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from typing_extensions import override

from models.kind import CROSS, DECODER, ENCODER, SELF
from models.nets.attention.base import NO_INTERVENTION, OWN, Intervention, Keys, Record, Rotary, SelfAttention, Source
from models.nets.attention.dense import Hidden
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Block, Transformer
from models.plan import Address

OurModel = Transformer | Seq2Seq
SHARED = ("mixing_table",)  # parameters that a layer's heads have in common


class Nothing(nn.Module):
    """Stands where a layer's attention was, and adds nothing."""

    selects = False

    @override
    def forward(self, x: Tensor, rotary: Rotary, intervention: Intervention = NO_INTERVENTION,
                records: list[Record] | None = None, keys: Keys = OWN) -> Tensor:
        return torch.zeros_like(x)


@torch.no_grad()
def without(model: OurModel, closed: Collection[Address]) -> OurModel:
    """A copy of the model in which these heads are not there; it takes no interventions.

    Args:
        closed: (kind, layer, head); heads that the model has not are left out of account.
    """
    smaller = copy.deepcopy(model)
    heads = model.config.heads
    for kind, layer, block, name in _places(smaller):
        kept = [head for head in range(heads) if (kind, layer, head) not in closed]
        attention: SelfAttention = getattr(block, name)
        if not kept:
            setattr(block, name, Nothing())
        elif len(kept) < heads:
            if attention.selects and kept[0] != 0:
                attention.output.weight.unflatten(1, (heads, -1))[:, 0] = 0
                kept = [0, *kept]
            _keep(attention, heads, kept)
    return smaller


def _places(model: OurModel) -> Iterator[tuple[str, int, Block, str]]:
    """Kind and layer of each attention, the block that holds it, and under which name."""
    if isinstance(model, Transformer):
        yield from ((SELF, layer, block, "attention") for layer, block in enumerate(model.blocks))
        return
    yield from ((ENCODER, layer, block, "attention") for layer, block in enumerate(model.encoder))
    for layer, block in enumerate(model.decoder):
        yield DECODER, layer, block, "attention"
        yield CROSS, layer, block, "cross"


def _keep(attention: SelfAttention, heads: int, kept: list[int]) -> None:
    """Cuts a layer to some of its heads, in place."""
    columns = attention.output.weight.unflatten(1, (heads, -1))[:, kept].flatten(1)
    for part in attention.modules():
        for name, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if part is attention.output or name in SHARED:
                continue
            # A linear layer's rows stand head after head; what has one entry a head has it in front.
            tensor.data = tensor.data.unflatten(0, (heads, -1))[kept].flatten(0, 1)
        if isinstance(part, (SelfAttention, Source, Hidden)):
            part.heads = len(kept)
    attention.output.weight.data = columns.contiguous()


def multiplications(model: OurModel, *tokens: Tensor) -> int:
    """Of one pass with the logits of every token, as torch counts its matrix products.

    Args:
        tokens: (1, N) ids of a text, and of a model of two texts (1, M) of what is written.
    """
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.logits(model(*tokens))
    return counter.get_total_flops() // 2  # a multiplication and an addition are two

