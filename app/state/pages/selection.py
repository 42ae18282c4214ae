"""Selection: the head that is shown large, and which heads a control acts on."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from models.kind import Shape
from models.plan import KINDS, Address

SCOPES = ("head", "row", "column", "all")
FIRST_KIND = "self"  # what a link means that names no kind

_TEXT = re.compile(rf"(?:({'|'.join(KINDS)})-)?(\d{{1,3}})\.(\d{{1,3}})(?:\.({'|'.join(SCOPES[1:])}))?", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """A head and a scope around it, within one kind of attention.

    Attributes:
        layer, head: counted from 0.
        scope: `head`, its `row` (the layer), its `column` (the head in all layers), or `all` of the kind.
        kind: of attention, like "self".
    """

    layer: int = 0
    head: int = 0
    scope: str = "head"
    kind: str = FIRST_KIND

    def heads(self, shape: Shape) -> list[Address]:
        """The addresses that a control acts on, in models of this shape: kind -> (layers, heads)."""
        layers, heads = shape[self.kind]
        return [(self.kind, layer, head) for layer in range(layers) for head in range(heads)
                if (self.scope in ("column", "all") or layer == self.layer)
                and (self.scope in ("row", "all") or head == self.head)]

    def within(self, shape: Shape) -> Selection:
        """The nearest selection that exists in models of this shape."""
        kind = self.kind if self.kind in shape else next(iter(shape))
        layers, heads = shape[kind]
        return replace(self, kind=kind, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))

    def __str__(self) -> str:
        """`1.2`, `1.2.row`, `cross-1.2`"""
        kind = "" if self.kind == FIRST_KIND else f"{self.kind}-"
        return f"{kind}{self.layer}.{self.head}" + ("" if self.scope == "head" else f".{self.scope}")

    @classmethod
    def parse(cls, text: str) -> Selection:
        """The inverse of str(); raises ValueError."""
        match = _TEXT.fullmatch(text)
        if not match:
            raise ValueError(f"{text!r} is no selection")
        return cls(int(match[2]), int(match[3]), match[4] or "head", match[1] or FIRST_KIND)
