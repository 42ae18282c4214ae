"""The encoder-decoder, built from the blocks of models/nets/transformer.py.

    memory = norm(encoder(embedding(text)));   logits = norm(decoder(embedding(target), memory)) E^T
    in a block of the decoder:  x += self-attention(norm(x));  x += cross-attention(norm(x), memory);  x += mlp(norm(x))

Both languages and the output share one embedding (Vaswani et al. 2017, section 3.4). The config's attention type
applies to the self-attention of encoder and decoder. Cross-attention is always softmax over q·k, as in Synthesizers
(Tay et al. 2020).
Self-attention has RoPE. Cross-attention has no RoPE, as in T5 (Raffel et al. 2020), because the distance between a
position of the target and a position of the text has no meaning. Cross-attention can learn positions from the encoder's
hidden states, which contain distances from `start` and `end`.

In input texts, PADDING tokens are masked for every query. Targets are padded at their ends, where the causal mask hides
the padding.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import cast

from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from models.kind import CROSS, DECODER, ENCODER
from models.nets.attention import TYPES, encoder_type
from models.nets.attention.base import NO_INTERVENTION, OWN, Intervention, Keys, Record, Rotary, SelfAttention
from models.nets.attention.dot_product import Softmax
from models.nets.config import PADDING, PairConfig
from models.nets.transformer import Block, Model

# block -> one intervention per layer; a missing block is unmodified
Interventions = Mapping[str, Sequence[Intervention]]
Records = Mapping[str, list[Record]]  # block -> a list to which one Record per layer is appended


class DecoderBlock(Block):
    """A decoder block: self-attention, cross-attention, MLP."""

    def __init__(self, config: PairConfig) -> None:
        super().__init__(config)
        self.cross_norm = nn.RMSNorm(config.width)
        self.cross = Softmax(replace(config, causal=False))

    def read(self, x: Tensor, rotary: Rotary, interventions: tuple[Intervention, Intervention],
             records: tuple[list[Record] | None, list[Record] | None], own: Keys, memory: Keys) -> Tensor:
        """Returns the block's output (B, N, C); interventions and records: self-attention, then cross-attention."""
        x = x + self.attention(self.attention_norm(x), rotary, interventions[0], records[0], own)
        x = x + self.cross(self.cross_norm(x), None, interventions[1], records[1], memory)
        return x + self.mlp(x)

    @property
    @override
    def writers(self) -> list[nn.Linear]:
        return [self.attention.output, self.cross.output, self.down]


class Seq2Seq(Model):
    """An encoder-decoder; `dropout` is the fraction of each block's output that is dropped in training.

    An attention type that replaces the MLP, or whose scale depends on the number of keys, which padding would change,
    raises ValueError.
    """

    config: PairConfig

    def __init__(self, config: PairConfig, initial_std: float | None = None, embedding_std: float = 0.02,
                 dropout: float = 0.0) -> None:
        super().__init__(config, initial_std, embedding_std)
        attention = TYPES[config.attention]
        if attention.replaces_mlp or not attention.trained_policy and "logn" in attention.policies:
            raise ValueError(f"{attention.title} attention cannot be part of a model of two texts")
        self.dropout = dropout
        first = replace(config, attention=encoder_type(config.attention), layers=config.encoder_layers, causal=False)
        encoder = nn.ModuleList(Block(first) for _ in range(config.encoder_layers))
        second = replace(config, trained_length=config.longest_target)
        decoder = nn.ModuleList(DecoderBlock(second) for _ in range(config.layers))
        self.encoder, self.decoder = cast(Sequence[Block], encoder), cast(Sequence[DecoderBlock], decoder)
        self.encoder_norm, self.norm = nn.RMSNorm(config.width), nn.RMSNorm(config.width)
        self.apply(self._initialise)

    @override
    def target_limit(self, tokens: int) -> int:
        return min(tokens, self.config.longest_target) if self.longest else tokens

    def attentions(self, kind: str) -> list[SelfAttention]:
        """Returns the attention layers of an attention block, from the first to the last."""
        if kind == ENCODER:
            return [block.attention for block in self.encoder]
        return [block.attention if kind == DECODER else block.cross for block in self.decoder]

    def encode(self, texts: Tensor, interventions: Interventions | None = None, records: Records | None = None) -> Keys:
        """Returns hidden states and padding as Keys of cross-attention; records as in Transformer.forward."""
        hidden = (texts == PADDING)[:, None, None]
        keys, rotary = Keys(hidden=hidden), self._rotary(texts.shape[1], texts.device)
        x = self._dropped(self.embedding(texts))
        for layer, block in enumerate(self.encoder):
            x = self._dropped(block(x, rotary, *_given(ENCODER, layer, interventions, records), keys), x)
        return Keys(self.encoder_norm(x), hidden)

    def decode(self, targets: Tensor, memory: Keys, interventions: Interventions | None = None,
               records: Records | None = None, caches: Sequence[tuple[Keys, Keys]] | None = None) -> Tensor:
        """Returns hidden states (B, N, C) after the last norm.

        `caches` are the Keys of self-attention and of cross-attention per layer, with the caches of earlier calls; they
        replace `memory`, the result of `encode`.
        """
        first = caches[0][0].first if caches else 0
        rotary = self._rotary(targets.shape[1], targets.device, first)
        x = self._dropped(self.embedding(targets))
        for layer, block in enumerate(self.decoder):
            own, seen = caches[layer] if caches else (OWN, memory)
            of_self, of_cross = (_given(kind, layer, interventions, records) for kind in (DECODER, CROSS))
            read = block.read(x, rotary, (of_self[0], of_cross[0]), (of_self[1], of_cross[1]), own, seen)
            x = self._dropped(read, x)
        return self.norm(x)

    def forward(self, texts: Tensor, targets: Tensor, interventions: Interventions | None = None,
                records: Records | None = None) -> Tensor:
        """Returns hidden states (B, N, C) for ids of texts (B, M) and decoder inputs (B, N)."""
        return self.decode(targets, self.encode(texts, interventions, records), interventions, records)

    def _dropped(self, x: Tensor, before: Tensor | None = None) -> Tensor:
        """Returns x; in training with dropout on x - `before`, the part that a block added, or on all of x."""
        if not (self.training and self.dropout):
            return x
        return functional.dropout(x, self.dropout) if before is None else \
            before + functional.dropout(x - before, self.dropout)

def _given(kind: str, layer: int, interventions: Interventions | None,
           records: Records | None) -> tuple[Intervention, list[Record] | None]:
    of_block = interventions.get(kind) if interventions else None
    return of_block[layer] if of_block else NO_INTERVENTION, records[kind] if records is not None else None
