"""Transformer: the network of every attention type, with pre-norm blocks, RoPE and tied embeddings.

    x = embedding(tokens);  for each block: x += attention(norm(x));  x += mlp(norm(x));  logits = norm(x) E^T

The norm is RMSNorm (Zhang and Sennrich 2019). The MLP has the activation GELU and a hidden layer of width 4 C.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from typing_extensions import override

from models.kind import SELF
from models.nets.attention import TYPES
from models.nets.attention.base import NO_INTERVENTION, OWN, Intervention, Keys, Record, Rotary, SelfAttention
from models.nets.attention.dot_product import rotary_table
from models.nets.config import Config


class Block(nn.Module):
    """A pre-norm block: attention and, unless the attention type replaces it, an MLP."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.depth = config.layers  # number of layers of the stack that contains the block
        self.attention_norm = nn.RMSNorm(config.width)
        self.attention = TYPES[config.attention](config)
        self.has_mlp = not self.attention.replaces_mlp
        if self.has_mlp:
            self.mlp_norm = nn.RMSNorm(config.width)
            self.up = nn.Linear(config.width, 4 * config.width, bias=False)
            self.down = nn.Linear(4 * config.width, config.width, bias=False)

    @override
    def forward(self, x: Tensor, rotary: Rotary, intervention: Intervention, records: list[Record] | None,
                keys: Keys = OWN) -> Tensor:
        x = x + self.attention(self.attention_norm(x), rotary, intervention, records, keys)
        return x + self.mlp(x) if self.has_mlp else x

    def mlp(self, x: Tensor) -> Tensor:
        """Returns the MLP's output (B, N, C) for the block's input; its norm is applied here."""
        return self.down(functional.gelu(self.up(self.mlp_norm(x)), approximate="tanh"))

    @property
    def writers(self) -> list[nn.Linear]:
        """The layers whose outputs are added to the residual stream."""
        return [self.attention.output, *([self.down] if self.has_mlp else [])]


class Model(nn.Module):
    """The base of our networks: tied embeddings; `initial_std` defaults to 1 / sqrt(number of inputs) (LeCun)."""

    norm: nn.RMSNorm  # the norm before the logits

    def __init__(self, config: Config, initial_std: float | None = None, embedding_std: float = 0.02) -> None:
        super().__init__()
        self.config, self._initial_std, self._embedding_std = config, initial_std, embedding_std
        self.embedding = nn.Embedding(config.vocabulary, config.width)

    def _initialise(self, module: nn.Module) -> None:
        """Draws normal weights, smaller ones where a layer adds to the residual stream (Radford et al. 2019)."""
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=self._embedding_std)
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=self._initial_std or module.in_features**-0.5)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        if isinstance(module, Block):
            for writer in module.writers:
                writer.weight.data /= (len(module.writers) * module.depth) ** 0.5

    def logits(self, hidden: Tensor) -> Tensor:
        """Returns logits (..., V) of hidden states (..., C); the embedding is also the output matrix."""
        return functional.linear(hidden, self.embedding.weight) * self.config.output_scale

    def attentions(self, kind: str) -> list[SelfAttention]:
        """Returns the attention layers of an attention block, from the first to the last."""
        raise NotImplementedError

    @property
    def longest(self) -> int | None:
        """The largest number of tokens for which the model has weights; None if there is no limit."""
        return TYPES[self.config.attention].longest(self.config)

    def limit(self, tokens: int) -> int:
        """Returns the smaller of `tokens` and `longest`."""
        return min(tokens, self.longest or tokens)

    def target_limit(self, tokens: int) -> int:
        """Returns the smaller of `tokens` and the largest number of generated tokens that the model has weights for."""
        return self.limit(tokens)

    def _rotary(self, n: int, device: torch.device, first: int = 0) -> Rotary:
        """Returns the rotations of n positions from `first` on."""
        cos, sin = rotary_table(first + n, self.config.head_width)
        return cos[first:].to(device), sin[first:].to(device)

    @torch.no_grad()
    def parameter_count(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


class Transformer(Model):
    """A model of one token sequence: decoder-only (causal) or encoder-only."""

    def __init__(self, config: Config, initial_std: float | None = None, embedding_std: float = 0.02) -> None:
        super().__init__(config, initial_std, embedding_std)
        blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.blocks = cast(Sequence[Block], blocks)  # ModuleList does not declare the type of its items
        self.norm = nn.RMSNorm(config.width)
        self.apply(self._initialise)

    @override
    def attentions(self, kind: str = SELF) -> list[SelfAttention]:
        return [block.attention for block in self.blocks]

    def forward(self, tokens: Tensor, interventions: Sequence[Intervention] | None = None,
                records: list[Record] | None = None, keys: Sequence[Keys] | None = None) -> Tensor:
        """Returns the hidden states (B, N, C) of token ids (B, N) after the last norm.

        `interventions` and `keys` (with the cache of a decoder) have one entry per layer; one Record per layer is
        appended to `records`.
        """
        return deque(self.states(tokens, interventions, records, keys), maxlen=1).pop()

    def states(self, tokens: Tensor, interventions: Sequence[Intervention] | None = None,
               records: list[Record] | None = None, keys: Sequence[Keys] | None = None) -> Iterator[Tensor]:
        """Yields hidden states before each block and after the last norm, L + 1 of (B, N, C), as in `forward`."""
        x = self.embedding(tokens)
        rotary = self._rotary(tokens.shape[1], x.device, keys[0].first if keys else 0)
        for layer, block in enumerate(self.blocks):
            yield x
            x = block(x, rotary, interventions[layer] if interventions else NO_INTERVENTION, records,
                      keys[layer] if keys else OWN)
        yield self.norm(x)
