"""What a model of two texts writes: as trained, and under the plan, with the words that differ marked."""

from __future__ import annotations

from components.mounting import answer, register
from components.payload import pack

_mount = register("written")


def written(*, key: str, before: str, after: str | None = None) -> None:
    """Draws the lines.

    Args:
        before: what the untouched model writes.
        after: what it writes under the plan; None for the empty plan.
    """
    _mount(key=key, data=pack({"before": before, "after": after, **answer(key)}))
