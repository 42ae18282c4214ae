"""Subclasses for attention classes of transformers whose scores are more than one product.

Each subclass computes the same scores and then calls our attention function, as all other foreign layers do. The class
of a layer is replaced once, when its model is opened. A layer stores no state of a pass.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.deberta_v2.modeling_deberta_v2 import DisentangledSelfAttention, scaled_size_sqrt
from transformers.models.led.modeling_led import LEDEncoderSelfAttention
from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

from models.labs.foreign.running.attention import complete, complete_with, current_pass
from models.nets.attention.base import NEVER, split


class Deberta(DisentangledSelfAttention):
    """The attention of DeBERTa v2 and v3: content-to-content, content-to-position and position-to-content scores.

    All three are products of queries and keys with one factor, so log n multiplies their sum (He et al. 2021, eq. 4).
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


class Longformer(LongformerSelfAttention):
    """The attention of Longformer as one map (Beltagy et al. 2020).

    Each token attends to a window and to the global tokens. A global token attends to all tokens, with separate
    projections. The padding up to a whole window is left out.
    """

    def forward(self, hidden_states: Tensor, attention_mask: Tensor | None = None,
                is_index_masked: Tensor | None = None, is_index_global_attn: Tensor | None = None,
                is_global_attn: bool | None = None, output_attentions: bool = False) -> tuple[Tensor]:
        assert is_index_masked is not None and is_index_global_attn is not None
        heads, n = self.num_heads, int((~is_index_masked[0]).sum())
        text = hidden_states[:, :n]
        is_global = is_index_global_attn[0, :n]
        positions = torch.arange(n)
        seen = (positions[:, None] - positions).abs() <= self.one_sided_attn_window_size
        mask = torch.zeros(n, n).masked_fill_(~(seen | is_global | is_global[:, None]), NEVER)
        query, key, value = (split(project(text), heads) for project in (self.query, self.key, self.value))
        scale = self.head_dim**-0.5
        if not is_global.any():
            current_pass().keep(query, key, scale, mask)
        scores = torch.matmul(query * scale, key.transpose(-1, -2))
        values = [value]
        if is_global.any():
            query, key, value = (split(project(text), heads) for project in (
                self.query_global, self.key_global, self.value_global))
            scores = torch.where(is_global[:, None], torch.matmul(query * scale, key.transpose(-1, -2)), scores)
            values.append(value)

        def mix(weights: Tensor) -> Tensor:
            local, *others = (torch.matmul(weights, value) for value in values)
            return torch.where(is_global[:, None], others[0], local) if others else local

        outputs = complete_with(self, scores, mix, mask)[0].transpose(1, 2).flatten(2)
        return (functional.pad(outputs, (0, 0, 0, hidden_states.shape[1] - n)),)


class LED(LEDEncoderSelfAttention):
    """The attention of LED's encoder, which is Longformer's."""

    forward = Longformer.forward


ADAPTERS: dict[type[nn.Module], type[nn.Module]] = {
    DisentangledSelfAttention: Deberta, LongformerSelfAttention: Longformer, LEDEncoderSelfAttention: LED}


def adapt(model: nn.Module) -> bool:
    """Replaces the classes of the layers in ADAPTERS; returns False if the model has no such layer."""
    modules = [module for module in model.modules() if type(module) in ADAPTERS]
    for module in modules:
        module.__class__ = ADAPTERS[type(module)]
    return bool(modules)


def reports_windows(model: nn.Module) -> bool:
    """Returns True if transformers returns the attention maps of this model as windows (Longformer, LED)."""
    return any(isinstance(module, Longformer | LED) for module in model.modules())
