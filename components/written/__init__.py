"""What a model of two texts writes: as trained, and under the plan, with the words that differ marked."""

from __future__ import annotations

from components.mounting import Content, component


@component("written")
def written(*, key: str, before: str, after: str | None = None) -> Content:
    """Draws the lines.

    Args:
        before: what the untouched model writes.
        after: what it writes under the plan; None for the empty plan.
    """
    return {"before": before, "after": after}, {}
