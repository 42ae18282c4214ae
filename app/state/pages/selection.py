"""Selection: the head that is shown, and the heads that a control changes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TypeGuard

from models.kind import Shape
from models.plan import KINDS, Address, HeadPlan

SCOPES = ("head", "row", "column", "all")
FIRST_KIND, CROSS = "self", "cross"  # default attention block of a link; default block of an encoder-decoder model

MOST = 400  # largest number of heads that can be added to a selection one by one
_SOME = rf"and(?:\.\d{{1,3}}\.\d{{1,3}}){{1,{MOST}}}"
_SCOPE = rf"{'|'.join(SCOPES[1:])}|{_SOME}"
_TEXT = re.compile(rf"(?:({'|'.join(KINDS)})-)?(\d{{1,3}})\.(\d{{1,3}})(?:\.({_SCOPE}))?", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """A head, and the scope of the controls within its attention block.

    Attributes:
        layer: layer of the head, from 0.
        head: index of the head in its layer, from 0.
        scope: `head`, `row` (all heads of the layer), `column` (this head in all layers), `all` heads of the block, or
            `and.0.3.1.2`: also heads 3 of layer 0 and 2 of layer 1, in the order in which they were added.
        kind: attention block, like "self".
    """

    layer: int = 0
    head: int = 0
    scope: str = "head"
    kind: str = FIRST_KIND

    def heads(self, shape: Shape) -> list[Address]:
        """Returns the addresses of the heads that a control changes."""
        layers, heads = shape[self.kind]
        if self.others:
            some = sorted({(self.layer, self.head), *self.others})
            return [(self.kind, layer, head) for layer, head in some if layer < layers and head < heads]
        return [(self.kind, layer, head) for layer in range(layers) for head in range(heads)
                if (self.scope in ("column", "all") or layer == self.layer)
                and (self.scope in ("row", "all") or head == self.head)]

    @property
    def others(self) -> tuple[tuple[int, int], ...]:
        """(layer, head) of the heads that were added to the selection one by one."""
        numbers = [int(number) for number in self.scope.split(".")[1:]]
        return tuple(zip(numbers[::2], numbers[1::2], strict=True))

    def within(self, shape: Shape) -> Selection:
        """Returns the nearest selection whose heads exist in a model."""
        # The cross-attention of a translation model has the clearest patterns: it aligns the words of both languages.
        kind = self.kind if self.kind in shape else CROSS if CROSS in shape else next(iter(shape))
        layers, heads = shape[kind]
        others = [(layer, head) for layer, head in dict.fromkeys(self.others) if layer < layers and head < heads]
        scope = self.scope
        if self.others:
            scope = ".".join(["and", *(f"{layer}.{head}" for layer, head in others)]) if others else "head"
        return replace(self, kind=kind, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1), scope=scope)

    @classmethod
    def default(cls, plan: HeadPlan, shape: Shape) -> Selection:
        """Returns the first head that the plan changes, or the model's first head, for a link without a selection."""
        for kind, layer, head in plan.heads:
            return cls(layer, head, "head", kind)
        return cls().within(shape)

    def __str__(self) -> str:
        """Returns the link's field: `1.2`, `1.2.row`, `cross-1.2`."""
        kind = "" if self.kind == FIRST_KIND else f"{self.kind}-"
        return f"{kind}{self.layer}.{self.head}" + ("" if self.scope == "head" else f".{self.scope}")

    @classmethod
    def parse(cls, text: str) -> Selection:
        """Returns the selection in a link's field; the inverse of str()."""
        match = _TEXT.fullmatch(text)
        if not match:
            raise ValueError(f"{text!r} is no selection")
        return cls(int(match[2]), int(match[3]), match[4] or "head", match[1] or FIRST_KIND)


def is_scope(scope: object) -> TypeGuard[str]:
    """Returns True if a value is a valid scope of a selection."""
    return isinstance(scope, str) and (scope in SCOPES or re.fullmatch(_SOME, scope, re.ASCII) is not None)


def is_index(value: object, count: int) -> TypeGuard[int]:
    """Returns True for an integer from 0 to `count` - 1; bool does not count as an integer."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
