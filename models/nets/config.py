"""Config: the shape of a model, as config.json stores it."""

from dataclasses import dataclass

from typing_extensions import override

START, END, PADDING = range(3)  # token ids of encoder-decoders


@dataclass(frozen=True)
class Config:
    """The shape of a model."""

    attention: str  # name of the attention type, a key of `models.nets.attention.TYPES`
    vocabulary: int  # V, the number of tokens in the vocabulary
    width: int  # C, the width of the hidden states
    layers: int  # L, the number of layers
    heads: int  # H, the number of heads of each layer; 1 for gated attention units
    causal: bool = True  # True for a causal language model, False for a masked language model
    output_scale: float = 1.0  # factor on the logits; below 1 if the initial tied embeddings are large
    # number of tokens of the longest training text: the size of a Synthesizer's tables and the n with which relu² / n
    # was trained
    trained_length: int = 256
    table_std: float = 1.0  # standard deviation of the tables of the fixed random Synthesizer, which are never trained
    attention_width: int = 0  # total width of all heads' queries; 0 for the model's width

    @property
    def inner_width(self) -> int:
        """The total width of the queries of all heads; keys and values have the same total width."""
        return self.attention_width or self.width

    @property
    def head_width(self) -> int:
        return self.inner_width // self.heads

    @property
    def self_attention_stacks(self) -> tuple[tuple[int, int], ...]:
        """The (layers, trained length) of each stack of self-attention layers: encoder, decoder, or the only stack."""
        return ((self.layers, self.trained_length),)


@dataclass(frozen=True)
class PairConfig(Config):
    """The shape of an encoder-decoder; `layers` is the number of decoder layers."""

    encoder_layers: int = 3  # number of encoder layers
    target_length: int = 0  # tokens of the longest training target and the decoder's tables; 0 for trained_length

    @property
    def longest_target(self) -> int:
        """The number of tokens of the longest training target."""
        return self.target_length or self.trained_length

    @property
    @override
    def self_attention_stacks(self) -> tuple[tuple[int, int], ...]:
        return (self.encoder_layers, self.trained_length), (self.layers, self.longest_target)
