"""The output texts of an encoder-decoder, unmodified and under the plan, with differing words marked."""

from __future__ import annotations

from components.mounting import Content, component


@component("written")
def written(*, key: str, before: str, after: str | None = None) -> Content:
    """Displays the lines.

    Args:
        key: key of the mount.
        before: output text of the unmodified model.
        after: output text under the plan; None for the empty plan.
    """
    return {"before": before, "after": after}, {}
