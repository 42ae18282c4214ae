"""The output text of an encoder-decoder, unmodified and after the plan, with differing words marked."""

from __future__ import annotations

from components.mounting import Content, component


@component("written")
def written(*, key: str, before: str, after: str | None = None) -> Content:
    """Draws the lines.

    Args:
        key: key of the mount.
        before: output of the unmodified model.
        after: output after the plan; None for the empty plan.
    """
    return {"before": before, "after": after}, {}
