"""ModelInfo: the description of one model, available without loading it."""

import zlib
from dataclasses import dataclass

from models.kind import Kind, Traits, shape_of
from models.messages import listed, message
from models.tasks.base import Reader

COLOURS, DASHES = 8, 6  # numbers of colours and of dash patterns of models in charts


@dataclass(frozen=True)
class Variant:
    """How a model differs from the base model of its attention type; part of card.json."""

    base: str  # name of the base model
    label: str  # the variant's name in charts; may contain {n}
    words: str  # the text that is appended to the attention type's title; may contain {n}
    line: str  # the difference in one sentence; if empty, the attention type's sentence is shown
    # colour and dash: see models.kind.Traits
    colour: int
    dash: int
    n: int = 0  # the number that replaces {n}


@dataclass(frozen=True)
class ModelInfo:
    """The description of one model, for charts, choosers, README and guide."""

    name: str  # for example "stories-selective"
    task: Reader  # the reader of the task, which all models of a family share
    kinds: tuple[Kind, ...]  # the attention blocks of the model
    trained_length: int  # number of tokens of the longest training text
    limit: int  # largest number of tokens of an input text
    steps: int = 0  # training steps from random initial weights, without the training of learned gates; 0 if unknown
    variant: Variant | None = None  # differences from the base model of the attention type; None for it

    @property
    def shape(self) -> dict[str, tuple[int, int]]:
        """Returns attention block -> (layers, heads)."""
        return shape_of(self.kinds)

    @property
    def selects(self) -> bool:
        """True if a block of the model has a selective mask F (accumulated votes of earlier tokens)."""
        return any(kind.attention.selects for kind in self.kinds)

    @property
    def attention(self) -> Traits:
        """The attention type of the model; for an encoder-decoder, the attention type of the decoder."""
        return self.kinds[1 if len(self.kinds) > 1 else 0].attention

    @property
    def base(self) -> str:
        """Name of the base model of the same attention type; empty for the base model."""
        return self.variant.base if self.variant else ""

    @property
    def label(self) -> str:
        """The model's name in charts, in a word or two."""
        if self.variant:
            return message(self.variant.label, n=self.variant.n)
        return self.attention.label or self.name

    @property
    def title(self) -> str:
        """The title of the attention type, followed by the variant's words if the model is a variant."""
        if self.variant:
            return listed((message(self.attention.title), message(self.variant.words, n=self.variant.n)), " · ")
        return self.attention.title

    @property
    def line(self) -> str:
        """Returns one plain sentence about the model."""
        return self.variant.line if self.variant and self.variant.line else self.attention.line

    @property
    def style(self) -> tuple[int, int]:
        """Indices of the colour and of the dash pattern of the model's line in charts."""
        if self.variant:
            return self.variant.colour, self.variant.dash
        return (self.attention.colour, self.attention.dash) if self.attention.label else style_of_unknown(self.name)


def style_of_unknown(name: str) -> tuple[int, int]:
    """Returns a colour and a dash pattern for a model without a description; both depend only on the name."""
    number = zlib.crc32(name.encode())
    return number % COLOURS, number // COLOURS % DASHES
