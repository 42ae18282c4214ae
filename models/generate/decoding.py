"""Decoding a token at a time, with a cache of keys and values that may forget.

    alive = the keys kept so far and the new one; where they are more than K_l, the one with the largest F goes
    A_i   = softmax over alive of (L_i - F);   F[j] += relu(L_i, head 0) for each j alive but BOS and i

F is carried from token to token, and what is forgotten stays so: F never shrinks. All heads of a layer keep the same
keys. BOS, the token itself and, where a layer keeps three or more, the one before it are never forgotten: nothing
has been said against them. Among equal F, as where nobody votes, the oldest goes: attention without F then keeps BOS
and a sliding window, the control of models/studies/corpus/forgetting.py.

Source: Leviathan, Kalman and Matias 2024, arXiv 2410.02703, on context pruning. Keys keep the angles of the positions
where they were read (RoPE), and a scale of log n counts all keys read, not those kept: as in training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor

from models.generate.sampling import GREEDY, Sampling
from models.nets.attention.base import UNTOUCHED, Intervention, SelfAttention, gated, intervene
from models.nets.attention.dot_product import DotProduct
from models.nets.attention.rotary import rotary_table, rotate
from models.nets.attention.softmax import Softmax
from models.nets.transformer import Transformer
from models.plan import TRAINED

FEWEST = 2  # keys that a layer can be asked to keep: BOS and the token itself


def can_decode(model: Transformer) -> bool:
    """True if a query's scores need nothing but its own x and the keys before it: softmax over q·k, causal."""
    attention = model.blocks[0].attention
    return isinstance(attention, Softmax) and type(attention.source) is DotProduct and attention.causal


class Memory:
    """What one layer keeps of B texts, in S slots; BOS is in slot 0, a forgotten key's slot goes to the new one.

    Attributes:
        keys, values: (B, H, S, D); keys turned by their positions.
        forgotten: (B, S) F, what has been said against each key so far; 0 where attention does not select.
        positions: (B, S) int64 place in the text of the token in each slot.
        used: slots that hold a key, the same number in all texts; the rest of a tensor means nothing.
    """

    def __init__(self, texts: int, heads: int, slots: int, width: int) -> None:
        self.keys, self.values = torch.zeros(2, texts, heads, slots, width).unbind(0)
        self.forgotten = torch.zeros(texts, slots)
        self.positions = torch.zeros(texts, slots, dtype=torch.int64)
        self.used = 0
        self._texts = torch.arange(texts)

    def add(self, key: Tensor, value: Tensor, position: int, by_age: bool = False) -> Tensor:
        """Keeps one more token, (B, H, D) each, and forgets one if all slots are taken.

        Returns:
            (B,) the slot of the new token.
        """
        if self.used < self.positions.shape[1]:
            slot = self._texts.new_full((len(key),), self.used)
            self.used += 1
        else:
            slot = self.victim(by_age)
        self.keys[self._texts, :, slot], self.values[self._texts, :, slot] = key, value
        self.forgotten[self._texts, slot], self.positions[self._texts, slot] = 0.0, position
        return slot

    def victim(self, by_age: bool = False) -> Tensor:
        """(B,) slot of the key with the largest F, the oldest among equals, or just the oldest; never BOS."""
        positions = self.positions[:, 1:self.used]
        if not by_age:
            said = self.forgotten[:, 1:self.used]
            positions = positions.masked_fill(said < said.amax(1, keepdim=True), torch.iinfo(torch.int64).max)
        return positions.argmin(1) + 1

    def vote(self, scores: Tensor, slot: Tensor) -> None:
        """F grows by what the newest token's head 0 says: (B, used) logits; its own slot and BOS are exempt."""
        votes = scores.relu()
        votes[:, 0] = 0.0
        votes[self._texts, slot] = 0.0
        self.forgotten[:, :self.used] += votes

    def kept(self) -> Tensor:
        """(B, used) places in the text of what is kept, in order."""
        return self.positions[:, :self.used].sort(1).values


class Decoder:
    """Reads B texts side by side, a token of each at a time.

    Args:
        model: with softmax or selective attention over q·k, in evaluation mode.
        texts: B.
        longest: most tokens of a text.
        budgets: K_l, keys that each layer keeps; None for all.
        interventions: one a layer, of a plan for a text of `longest` tokens; None for the model as trained. A constant
            head's row is cut to the keys that are kept and normalised anew.
        by_age: True to forget the oldest key instead of the one with the largest F.

    Raises:
        ValueError: another kind of attention, or a budget below FEWEST.
    """

    @torch.inference_mode()
    def __init__(self, model: Transformer, texts: int, longest: int, budgets: Sequence[int] | None = None,
                 interventions: Sequence[Intervention] | None = None, by_age: bool = False) -> None:
        if not can_decode(model):
            raise ValueError(f"{model.blocks[0].attention.title} attention cannot be decoded a token at a time")
        layers, heads, width = model.config.layers, model.config.heads, model.config.head_width
        if budgets is not None and (len(budgets) != layers or min(budgets) < FEWEST):
            raise ValueError(f"expected {layers} budgets of {FEWEST} tokens or more, got {list(budgets)}")
        self.model, self.longest, self.by_age, self.read = model, longest, by_age, 0
        self.memories = [Memory(texts, heads, min(longest, budget), width) for budget in budgets or [longest] * layers]
        self._interventions = interventions or [UNTOUCHED] * layers
        self._rotary = rotary_table(longest, width)
        factors = [i.factor if i.factor is not None else block.attention.factor(TRAINED, longest)
                   for i, block in zip(self._interventions, model.blocks, strict=True)]
        self._factors = [factor.expand(-1, longest, -1) * width**-0.5 for factor in factors]

    @torch.inference_mode()
    def step(self, ids: Tensor) -> Tensor:
        """(B,) the texts' next ids -> (B, C) hidden states after the last norm; Transformer.logits reads them.

        Raises:
            ValueError: the texts have `longest` tokens already.
        """
        if self.read >= self.longest:
            raise ValueError(f"this decoder was made for texts of {self.longest} tokens")
        x = self.model.embedding(ids)
        for layer, block in enumerate(self.model.blocks):
            x = x + self._attend(layer, block.attention, block.attention_norm(x))
            x = x + block.mlp(x)
        self.read += 1
        return self.model.norm(x)

    def _attend(self, layer: int, attention: SelfAttention, x: Tensor) -> Tensor:
        """(B, C) -> (B, C), one query a text."""
        memory, here = self.memories[layer], slice(self.read, self.read + 1)
        source = cast(DotProduct, attention.source)  # can_decode saw to it
        query, key, value = (project(x).unflatten(1, (attention.heads, 1, -1))  # (B, H, 1, D)
                             for project in (source.query, source.key, attention.value))
        cos, sin = self._rotary
        rotary = (cos[here], sin[here])
        slot = memory.add(rotate(key, rotary).squeeze(2), value.squeeze(2), self.read, self.by_age)
        query = rotate(query, rotary) * self._factors[layer][:, here]
        scores = query @ memory.keys[:, :, :memory.used].transpose(-1, -2)  # (B, H, 1, used)
        if attention.selects:
            live = (scores - memory.forgotten[:, None, None, :memory.used]).softmax(-1)
            memory.vote(scores[:, 0, 0], slot)
        else:
            live = scores.softmax(-1)
        intervention = self._now(layer, memory)
        outputs, gates = intervene(live, intervention) @ memory.values[:, :, :memory.used], attention.gates(x[:, None])
        outputs = gated(outputs if gates is None else outputs * gates.unsqueeze(-1), intervention)
        return attention.output(outputs.flatten(1))

    def _now(self, layer: int, memory: Memory) -> Intervention:
        """The layer's intervention with constant rows of this query over the kept keys, (B, H, 1, used)."""
        intervention = self._interventions[layer]
        if intervention.constant is None:
            return intervention
        rows = intervention.constant[:, self.read][:, memory.positions[:, :memory.used]].transpose(0, 1)
        if memory.used <= self.read:  # something is forgotten
            rows = rows / rows.sum(-1, keepdim=True).clamp_min(1e-9)
        return replace(intervention, constant=rows.unsqueeze(2))


@dataclass(frozen=True)
class Step:
    """Where a text stands after one more token of it was read.

    Attributes:
        token: what was read, as text; BOS is `start`.
        is_new: True if the model wrote it, False if it is the prompt's.
        kept: the places in the text of the tokens that each layer keeps, in order.
    """

    token: str
    is_new: bool
    kept: tuple[tuple[int, ...], ...]


def continuation(decoder: Decoder, ids: Sequence[int], labels: Sequence[str],
                 sampling: Sampling = GREEDY) -> Iterator[Step]:
    """Reads a prompt and samples its continuation, one token per step; stops at BOS or at the decoder's `longest`.

    Args:
        decoder: fresh, of one text; its budgets limit the keys that each layer keeps.
        ids: token ids of the prompt, BOS first.
        labels: V texts, one per token id.
    """
    following = 0
    for position in range(decoder.longest):
        is_new = position >= len(ids)
        chosen = following if is_new else ids[position]
        if is_new and chosen == 0:
            return
        with torch.inference_mode():
            hidden = decoder.step(torch.tensor([chosen]))
            writes = position + 1 >= len(ids)
            following = sampling.choose(decoder.model.logits(hidden[0]), position + 1) if writes else 0
        yield Step(labels[chosen], is_new, tuple(tuple(m.kept()[0].tolist()) for m in decoder.memories))
