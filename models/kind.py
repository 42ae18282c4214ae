"""Kind: one attention block of a model (`self`; or `encoder`, `decoder`, `cross`), with its attention type.

A head's address is (kind, layer, head), in Python, in links and in the browser. This file imports neither torch nor
numpy, so that links and catalogues work without them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from models.messages import N_

SELF, ENCODER, DECODER, CROSS = "self", "encoder", "decoder", "cross"  # attention blocks
TEXT, TARGET = "text", "target"  # names of token sequences: the input text, and the sequence of the decoder

Shape = Mapping[str, tuple[int, int]]  # kind -> (layers, heads)


@dataclass(frozen=True)
class Traits:
    """The description and the capabilities of an attention type.

    Attributes:
        title, formula, published: name, formula and publication of the attention type.
        policies: scale policies that the attention type supports; `trained` is always the first.
        trained_policy: the policy that computes the same scale as `trained`, or an empty string.
        is_distribution: True if each row of the attention pattern sums to 1.
        reads_text: False if the attention pattern is the same for all texts of the same length.
        selects: True if the attention type has a selective mask F (accumulated votes of earlier tokens).
        has_sink: True if a part of each row goes to an attention sink: a learned score of every head, without a key
            and a value. Patterns leave this part out, so their rows sum to less than 1.
        line: one plain sentence about the attention type.
        label: short name of the attention type in charts, one or two words.
        colour, dash: style of the line in charts: index of the colour in assets/colours.json and of the dash pattern.
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
    has_sink: bool = False

    @property
    def readings(self) -> tuple[str, ...]:
        """The scale policies without the policy that computes the same scale as `trained`."""
        return tuple(policy for policy in self.policies if policy != self.trained_policy)


@dataclass(frozen=True)
class Kind:
    """One attention block.

    Attributes:
        name: `self`; or `encoder`, `decoder`, `cross`.
        layers, heads: L and H; every layer has the same number of heads.
        attention: the attention type of the block.
        query_row, key_row: the token sequence of the queries and that of the keys, TEXT or TARGET.
        causal: True if each query attends only to keys at its own and at earlier positions.
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
        """The block's name on pages."""
        return {"self": N_("Self-attention"), "encoder": N_("Encoder"), "decoder": N_("Decoder self-attention"),
                "cross": N_("Cross-attention")}.get(self.name, self.name)

    @property
    def addresses(self) -> list[tuple[str, int, int]]:
        """The addresses of all heads, ordered by layer, then by head."""
        return [(self.name, layer, head) for layer in range(self.layers) for head in range(self.heads)]


def shape_of(kinds: Iterable[Kind]) -> dict[str, tuple[int, int]]:
    """Returns block -> (layers, heads)."""
    return {kind.name: (kind.layers, kind.heads) for kind in kinds}


def largest_shape(shapes: Iterable[Shape]) -> dict[str, tuple[int, int]]:
    """Returns block -> (layers, heads), each the maximum over several models."""
    largest: dict[str, tuple[int, int]] = {}
    for shape in shapes:
        for kind, (layers, heads) in shape.items():
            most = largest.get(kind, (0, 0))
            largest[kind] = max(layers, most[0]), max(heads, most[1])
    return largest


def policies_of(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Returns the scale policies that apply to at least one block; a plan has one scale for all blocks."""
    return tuple(dict.fromkeys(policy for kind in kinds for policy in kind.attention.policies))
