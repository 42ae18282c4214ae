"""Selection: the head that is shown, and the heads that a control changes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from models.kind import Shape
from models.plan import KINDS, MAX_BASE, MIN_BASE, Address, HeadPlan

SCOPES = ("head", "row", "column", "all")
FIRST_KIND, CROSS = "self", "cross"  # default attention block of a link; default block of an encoder-decoder model

MOST = 400  # largest number of heads that can be added to a selection one by one
_SOME = rf"and(?:\.\d{{1,3}}\.\d{{1,3}}){{1,{MOST}}}"
_SCOPE = rf"{'|'.join(SCOPES[1:])}|{_SOME}"
_TEXT = re.compile(rf"(?:({'|'.join(KINDS)})-)?(\d{{1,3}})\.(\d{{1,3}})(?:\.({_SCOPE}))?", re.ASCII)


@dataclass(frozen=True)
class Selection:
    """A head, and the scope of the controls within its attention block."""

    layer: int = 0  # layer of the head, from 0
    head: int = 0  # index of the head in its layer, from 0
    # `head`, `row` (all heads of the layer), `column` (this head in all layers), `all` heads of the block, or
    # `and.0.3.1.2`: also heads 3 of layer 0 and 2 of layer 1, in the order in which they were added
    scope: str = "head"
    kind: str = FIRST_KIND  # attention block, like "self"

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


def address_of(kind: object, layer: object, head: object, shape: Shape) -> Address | None:
    """Returns the address of a head from untrusted values; None if there is no such head."""
    if isinstance(kind, str) and kind in shape and is_index(layer, shape[kind][0]) and is_index(head, shape[kind][1]):
        return kind, layer, head
    return None


def is_gate(value: object) -> TypeGuard[float]:
    """Returns True for a number from 0 to 1; bool does not count as a number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1


def selected(event: Mapping[str, Any], shape: Shape) -> Selection | None:
    """Returns the selection of an untrusted event; None if it is not valid."""
    address = address_of(event.get("kind", next(iter(shape))), event.get("layer"), event.get("head"), shape)
    scope = event.get("scope")
    if address is None or not is_scope(scope):
        return None
    return Selection(address[1], address[2], scope, address[0]).within(shape)


def changed(plan: HeadPlan, event: Mapping[str, Any], selection: Selection, shape: Shape) -> HeadPlan | None:
    """Returns the plan with an untrusted event's gate and constant on the selected heads; None if not valid."""
    gate, constant = event.get("gate"), event.get("constant")
    if not ((gate is None or is_gate(gate)) and (constant is None or isinstance(constant, bool))):
        return None
    patch = "" if constant is False and gate == 1 else None  # resets the patch as well
    return plan.with_heads(selection.heads(shape), constant=constant, gate=gate, patch=patch)


def scaled(plan: HeadPlan, event: Mapping[str, Any], policies: Iterable[str]) -> HeadPlan:
    """Returns the plan with the scale of an untrusted event; the same plan if the event is not valid."""
    policy, base = event.get("policy"), event.get("base")
    if policy not in [*policies] or policy == "logn" and not (is_index(base, MAX_BASE + 1) and base >= MIN_BASE):
        return plan
    return plan.with_scale(policy, base if policy == "logn" else None)


def is_scope(scope: object) -> TypeGuard[str]:
    return isinstance(scope, str) and (scope in SCOPES or re.fullmatch(_SOME, scope, re.ASCII) is not None)


def is_index(value: object, count: int) -> TypeGuard[int]:
    """Returns True for an integer from 0 to `count` - 1; bool does not count as an integer."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count
