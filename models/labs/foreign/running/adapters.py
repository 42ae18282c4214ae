"""Attention classes that do not call transformers' AttentionInterface: each gets a subclass that does what the class
does up to its scores, and then what every other foreign layer does. The class of a layer is exchanged once, when its
model is opened; no layer carries anything that a pass has set.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, scaled_size_sqrt
from transformers.models.gpt_neo.modeling_gpt_neo import GPTNeoSelfAttention
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention

from models.labs.foreign.running.attention import complete
from models.nets.attention.base import NEVER, split


class Deberta(DisentangledSelfAttention):
    """DeBERTa v2 and v3: content to content, content to position and position to content (He et al. 2021, eq. 4).

    All three are products of queries and keys under one scale, so that log n multiplies their sum.
    """

    def forward(self, hidden_states: Tensor, attention_mask: Tensor, output_attentions: bool = False,
                query_states: Tensor | None = None, relative_pos: Tensor | None = None,
                rel_embeddings: Tensor | None = None) -> tuple[Tensor, Tensor | None]:
        heads = self.num_attention_heads
        asking = hidden_states if query_states is None else query_states
        query = self.transpose_for_scores(self.query_proj(asking), heads)
        key = self.transpose_for_scores(self.key_proj(hidden_states), heads)
        terms = 1 + ("c2p" in self.pos_att_type) + ("p2c" in self.pos_att_type)
        scale = scaled_size_sqrt(query, terms).to(dtype=query.dtype)
        scores = torch.bmm(query, key.transpose(-1, -2) / scale)
        if self.relative_attention:
            scores += self.disentangled_attention_bias(query, key, relative_pos, rel_embeddings, terms)
        mask = torch.zeros(attention_mask.shape, dtype=scores.dtype).masked_fill_(~attention_mask.bool(), NEVER)
        outputs, weights = complete(self, scores.unflatten(0, (-1, heads)),
                                    split(self.value_proj(hidden_states), heads), mask)
        return outputs.transpose(1, 2).flatten(2), weights if output_attentions else None


class MPNet(MPNetSelfAttention):
    """MPNet: softmax of q·k and a relative position bias that all layers share."""

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None,
                position_bias: Tensor | None = None, output_attentions: bool = False,
                **others: Any) -> tuple[Tensor, ...]:
        heads = self.num_attention_heads
        query, key, value = (split(project(hidden_states), heads) for project in (self.q, self.k, self.v))
        scores = torch.matmul(query, key.transpose(-1, -2)).div_(math.sqrt(self.attention_head_size))
        if attention_mask is not None:
            attention_mask = attention_mask.masked_fill(attention_mask < 0, NEVER)
        outputs, weights = complete(self, scores, value, attention_mask, position_bias)
        result = self.o(outputs.transpose(1, 2).flatten(2))
        return (result, weights) if output_attentions else (result,)


class GPTNeo(GPTNeoSelfAttention):
    """GPT-Neo, which TinyStories' own models use: softmax of q·k without a scale; every other layer has a window."""

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None, layer_past: Any = None,
                use_cache: bool = False, output_attentions: bool = False, **others: Any) -> tuple[Tensor, Tensor]:
        query, key, value = (split(project(hidden_states), self.num_heads)
                             for project in (self.q_proj, self.k_proj, self.v_proj))
        scores = torch.matmul(query, key.transpose(-1, -2))
        n = scores.shape[-1]
        mask = torch.zeros(1, 1, n, n).masked_fill_(~self.bias[:, :, :n, :n], NEVER)
        if attention_mask is not None:
            mask = mask.masked_fill(attention_mask < 0, NEVER)
        outputs, weights = complete(self, scores, value, mask)
        return self.resid_dropout(self.out_proj(outputs.transpose(1, 2).flatten(2))), weights


ADAPTERS: dict[type[nn.Module], type[nn.Module]] = {DisentangledSelfAttention: Deberta, MPNetSelfAttention: MPNet,
                                                    GPTNeoSelfAttention: GPTNeo}


def adapt(model: nn.Module) -> bool:
    """Exchanges the classes of the layers that need it; False if none does."""
    found = [module for module in model.modules() if type(module) in ADAPTERS]
    for module in found:
        module.__class__ = ADAPTERS[type(module)]
    return bool(found)
