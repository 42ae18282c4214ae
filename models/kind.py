"""Kind: one family of attention layers in a model, and what its type of attention is and can do.

A decoder or an encoder by itself has one kind, `self`; a model that translates has three: `encoder`, `decoder`,
`cross`. A head's address is (kind, layer, head), in Python, in links and in the browser.

This file imports neither torch nor numpy: links and catalogues work without them.
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
    """What a type of attention is, for people, and what can be asked of it.

    Attributes:
        title, formula, published: its name, its formula, and where it was published.
        policies: scale policies that mean something here; `trained` is always the first.
        trained_policy: the one of them that says the same as `trained`, or an empty string.
        is_distribution: True if rows of the weights sum to 1.
        reads_text: False if the weights are the same for every text of a length.
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
    """One family of attention layers.

    Attributes:
        name: `self`; or `encoder`, `decoder`, `cross`.
        layers, heads: L and H; every layer has the same number of heads.
        attention: its type.
        query_row, key_row: the rows of tokens that its queries and keys stand in.
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
        """For people: what looks at what."""
        return {"self": N_("Self-attention"), "encoder": N_("Encoder"), "decoder": N_("Decoder"),
                "cross": N_("Cross-attention")}.get(self.name, self.name)

    @property
    def addresses(self) -> list[tuple[str, int, int]]:
        """Every head, in the order of the grid."""
        return [(self.name, layer, head) for layer in range(self.layers) for head in range(self.heads)]


def shape_of(kinds: Iterable[Kind]) -> dict[str, tuple[int, int]]:
    """Kind -> (layers, heads)."""
    return {kind.name: (kind.layers, kind.heads) for kind in kinds}


def policies_of(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """The scale policies that at least one kind knows, in their usual order; a plan has one scale for all of them."""
    return tuple(dict.fromkeys(policy for kind in kinds for policy in kind.attention.policies))
