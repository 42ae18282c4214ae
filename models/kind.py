"""Kind: one attention block of a model (`self`; or `encoder`, `decoder`, `cross`), with its attention type.

A head's address is (kind, layer, head), in Python, in links and in the browser. This file imports neither torch nor
numpy, so that links and catalogues work without them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.messages import N_

SELF, ENCODER, DECODER, CROSS = "self", "encoder", "decoder", "cross"  # attention blocks
TEXT, TARGET = "text", "target"  # token sequences: the input text, and the decoder's

Shape = Mapping[str, tuple[int, int]]  # kind -> (layers, heads)


@dataclass(frozen=True)
class Traits:
    """The description and the capabilities of an attention type.

    Attributes:
        title, formula, published: its name, its formula, and where it was published.
        policies: scale policies that apply; `trained` is always the first.
        trained_policy: the policy that equals `trained`, or an empty string.
        is_distribution: True if rows of the pattern sum to 1.
        reads_text: False if the pattern is the same for every text of a length.
        selects: True if it has a mask F.
        line: what it does, in one plain sentence.
        label: its name in charts, in a word or two.
        colour, dash: its line in charts: indices of the models' colours in assets/colours.json, and of dash patterns.
    """

    title: str
    formula: str = ""
    published: str = ""
    policies: tuple[str, ...] = ("trained",)
    trained_policy: str = ""
    is_distribution: bool = True
    reads_text: bool = True
    selects: bool = False
    line: str = ""
    label: str = ""
    colour: int = 0
    dash: int = 0

    @property
    def readings(self) -> tuple[str, ...]:
        """The scale policies without the one that only repeats `trained`."""
        return tuple(policy for policy in self.policies if policy != self.trained_policy)


@dataclass(frozen=True)
class Kind:
    """One attention block.

    Attributes:
        name: `self`; or `encoder`, `decoder`, `cross`.
        layers, heads: L and H; every layer has the same number of heads.
        attention: its attention type.
        query_row, key_row: the token sequences of its queries and of its keys, TEXT or TARGET.
        causal: True if a query sees no key after itself.
    """

    name: str
    layers: int
    heads: int
    attention: Traits
    query_row: str = TEXT
    key_row: str = TEXT
    causal: bool = False

    @property
    def title(self) -> str:
        """The block's name for visitors."""
        return {"self": N_("Self-attention"), "encoder": N_("Encoder"), "decoder": N_("Decoder"),
                "cross": N_("Cross-attention")}.get(self.name, self.name)

    @property
    def addresses(self) -> list[tuple[str, int, int]]:
        """The addresses of all heads, by layer and head."""
        return [(self.name, layer, head) for layer in range(self.layers) for head in range(self.heads)]


def shape_of(kinds: Iterable[Kind]) -> dict[str, tuple[int, int]]:
    """Returns block -> (layers, heads)."""
    return {kind.name: (kind.layers, kind.heads) for kind in kinds}


def policies_of(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Returns the scale policies that apply to at least one block; a plan has one scale for all blocks."""
    return tuple(dict.fromkeys(policy for kind in kinds for policy in kind.attention.policies))
