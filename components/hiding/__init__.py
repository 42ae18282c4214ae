"""Buttons that hide words of a masked model's text."""

from __future__ import annotations

from collections.abc import Sequence

from components.mounting import Content, OnEvent, component


@component("hiding")
def hiding(*, key: str, words: Sequence[tuple[str, bool]], on_event: OnEvent) -> Content:
    """Draws one button per word; without words it is empty.

    Args:
        key: key of the mount.
        words: (word, whether it is hidden), in the order of the text.
        on_event: called with {type: hide, index, word, hidden, sequence}; `hidden` is the new state of the word.
    """
    return {"words": list(words)}, {}
