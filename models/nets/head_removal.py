"""Removes heads from a network, instead of multiplying their outputs by 0.

A head consists of its rows of the projections for scores and values, and its columns of W_O. Without these rows and
columns, the network computes the same outputs as with gates of 0, in fewer multiplications. A layer without heads adds
nothing.

Head 0 of a selective layer computes the mask F for the whole layer (models/nets/attention/selective.py). If head 0 is
to be removed and another head of the layer is kept, head 0 is kept too, with its columns of W_O set to 0.
"""

import copy
import itertools
from collections.abc import Collection

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode
from typing_extensions import override

from models.kind import CROSS
from models.nets.attention.base import NO_INTERVENTION, OWN, Intervention, Keys, Record, Rotary, SelfAttention, Source
from models.nets.attention.dense import Hidden
from models.nets.residual import layers_of
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Transformer
from models.plan import Address

OurModel = Transformer | Seq2Seq
SHARED = ("mixing_table",)  # parameters that the heads of a layer share


class Nothing(nn.Module):
    """A module that replaces a layer's attention and adds nothing."""

    selects = False

    @override
    def forward(self, x: Tensor, rotary: Rotary, intervention: Intervention = NO_INTERVENTION,
                records: list[Record] | None = None, keys: Keys = OWN) -> Tensor:
        return torch.zeros_like(x)


@torch.no_grad()
def without(model: OurModel, closed: Collection[Address]) -> OurModel:
    """Returns a copy of the model without these heads; interventions cannot be applied to the copy."""
    smaller = copy.deepcopy(model)
    heads = model.config.heads
    stacks = [False, True] if isinstance(smaller, Seq2Seq) else [False]
    for layer, (block, attentions) in itertools.chain(*(enumerate(layers_of(smaller, encoder)) for encoder in stacks)):
        for kind, attention in attentions:
            kept = [head for head in range(heads) if (kind, layer, head) not in closed]
            if not kept:
                setattr(block, "cross" if kind == CROSS else "attention", Nothing())
            elif len(kept) < heads:
                if attention.selects and kept[0] != 0:
                    attention.output.weight.unflatten(1, (heads, -1))[:, 0] = 0
                    kept = [0, *kept]
                _keep(attention, heads, kept)
    return smaller


def _keep(attention: SelfAttention, heads: int, kept: list[int]) -> None:
    """Removes all but some heads of a layer, in place."""
    columns = attention.output.weight.unflatten(1, (heads, -1))[:, kept].flatten(1)
    for part in attention.modules():
        for name, tensor in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if part is attention.output or name in SHARED:
                continue
            # The rows of a linear layer are ordered by head; a tensor with one entry per head has the heads first.
            tensor.data = tensor.data.unflatten(0, (heads, -1))[kept].flatten(0, 1)
        if isinstance(part, (SelfAttention, Source, Hidden)):
            part.heads = len(kept)
    attention.output.weight.data = columns.contiguous()


def multiplications(model: OurModel, *tokens: Tensor) -> int:
    """Returns the number of multiplications in the matrix products of one pass with the logits of every token."""
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model.logits(model(*tokens))
    return counter.get_total_flops() // 2  # torch counts a multiplication and an addition as two operations

