"""Relevance of heads: layer-wise relevance propagation from the likeliest token's logit down to the embeddings.

    v = sum_u' W[u', v] u':   w(u -> v) = W[u, v] u / v,       R(u) = sum_v w(u -> v) R(v)

with what bends held: attention weights, the model's own gates and norms' scales are factors as they came out, and
gelu(u) is u times what it let through (Voita et al. 2019, appendix A, after Ding et al. 2017: non-linear activations
are ignored). All steps are then linear, without biases, so R(u) is u times the gradient of this held model: what is
propagated adds up to the logit in every layer. Of products of two parts that both hold the text, as gated attention
units have them, the rule says something else, and nothing is told of them.

A head's relevance is the sum over its neurons before W_O. A share is its size by that of all heads of the layer, the
mean over the predictions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from models.kind import CROSS, DECODER, ENCODER, SELF
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.nets.attention.base import OWN, UNTOUCHED, Keys, Record, Rotary, SelfAttention
from models.nets.attention.rotary import rotary_table
from models.nets.seq2seq import Seq2Seq
from models.nets.transformer import Block, Transformer
from models.prompt import Prompt

MOST = 24  # predictions of a text that are propagated, evenly over all


class Held:
    """One pass with everything held that bends; `outputs` are the heads', by kind and layer."""

    def __init__(self) -> None:
        self.outputs: dict[str, list[Tensor]] = {}

    def norm(self, norm: nn.RMSNorm, x: Tensor) -> Tensor:
        """(..., C) -> (..., C)."""
        eps = torch.finfo(x.dtype).eps if norm.eps is None else norm.eps
        return x * ((x.detach().square().mean(-1, keepdim=True) + eps).rsqrt() * norm.weight)

    def attention(self, kind: str, attention: SelfAttention, x: Tensor, rotary: Rotary, keys: Keys = OWN) -> Tensor:
        """(1, N, C) -> (1, N, C)."""
        records: list[Record] = []
        with torch.no_grad():
            attention(x, rotary, UNTOUCHED, records, keys)
        (record,) = records
        values = attention.values(x if keys.memory is None else keys.memory)
        outputs = record.weights @ values
        outputs = outputs if record.gates is None else outputs * record.gates.unsqueeze(-1)
        self.outputs.setdefault(kind, []).append(outputs)
        return attention.output(outputs.transpose(1, 2).flatten(2))

    def mlp(self, block: Block, x: Tensor) -> Tensor:
        up = block.up(self.norm(block.mlp_norm, x))
        passed = up.detach()
        passed = 0.5 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (passed + 0.044715 * passed**3)))  # gelu(u) / u
        return block.down(up * passed)

    def stack(self, model: Transformer, x: Tensor) -> Tensor:
        """(1, N, C) embeddings -> (1, N, C) hidden states."""
        rotary = rotary_table(x.shape[1], model.config.head_width)
        for block in model.blocks:
            x = x + self.attention(SELF, block.attention, self.norm(block.attention_norm, x), rotary)
            x = x + self.mlp(block, x)
        return self.norm(model.norm, x)

    def both(self, model: Seq2Seq, text: Tensor, target: Tensor) -> Tensor:
        """(1, M, C) and (1, N, C) embeddings -> (1, N, C) hidden states."""
        width = model.config.head_width
        rotary = rotary_table(text.shape[1], width)
        for block in model.encoder:
            text = text + self.attention(ENCODER, block.attention, self.norm(block.attention_norm, text), rotary)
            text = text + self.mlp(block, text)
        memory, rotary = Keys(self.norm(model.encoder_norm, text)), rotary_table(target.shape[1], width)
        for layer in model.decoder:
            target = target + self.attention(DECODER, layer.attention, self.norm(layer.attention_norm, target), rotary)
            target = target + self.attention(CROSS, layer.cross, self.norm(layer.cross_norm, target), None, memory)
            target = target + self.mlp(layer, target)
        return self.norm(model.norm, target)


def applies(lab: Lab) -> bool:
    """True if the rules say something of this model: ours, unless its units multiply two parts of the text."""
    if isinstance(lab, StackLab):
        return not lab.attention.replaces_mlp
    return isinstance(lab, Seq2SeqLab)


def propagated(lab: Lab, prompt: Prompt, places: Sequence[int]) -> tuple[Tensor, dict[str, Tensor], Tensor]:
    """Of P predictions the likeliest token's logit, (P,); each head's relevance, kind -> (P, L, H); and what reaches
    the embeddings, (P,), which is the logit again.

    Raises:
        ValueError: `applies` is false.
    """
    held = Held()
    if isinstance(lab, StackLab) and applies(lab):
        embeddings = [lab.model.embedding(torch.tensor([prompt.ids])).requires_grad_()]
        hidden = held.stack(lab.model, embeddings[0])
    elif isinstance(lab, Seq2SeqLab):
        embeddings = [lab.model.embedding(torch.tensor([ids])).requires_grad_()
                      for ids in (prompt.ids, lab.anchored(prompt).target)]
        hidden = held.both(lab.model, *embeddings)
    else:
        raise ValueError(f"{lab.name}: its layers are not made of sums alone")
    logits = lab.model.logits(hidden[0, list(places)])
    top = logits.max(-1).values
    leaves = [*embeddings, *(output for its in held.outputs.values() for output in its)]
    gradients = torch.autograd.grad(top, leaves, torch.eye(len(top)), is_grads_batched=True)  # (P, 1, ...)
    reached = torch.stack([(leaf * gradient).flatten(1).sum(1)
                           for leaf, gradient in zip(embeddings, gradients, strict=False)]).sum(0)
    of_heads = iter(gradients[len(embeddings):])
    relevance = {kind: torch.stack([(output * next(of_heads)).sum((1, 3, 4)) for output in its], 1)
                 for kind, its in held.outputs.items()}
    return top.detach(), {kind: its.detach() for kind, its in relevance.items()}, reached.detach()


def shares(lab: Lab, prompt: Prompt, places: Sequence[int]) -> dict[str, Tensor]:
    """Kind -> (L, H) share of each head in its layer's relevance, the mean over these predictions; a layer's sum to
    1."""
    places = [places[i * len(places) // MOST] for i in range(MOST)] if len(places) > MOST else places
    _, relevance, _ = propagated(lab, prompt, places)
    return {kind: (its.abs() / its.abs().sum(-1, keepdim=True).clamp_min(1e-12)).mean(0)
            for kind, its in relevance.items()}
