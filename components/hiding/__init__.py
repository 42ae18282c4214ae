"""Buttons that hide words of the text from a masked model."""

from __future__ import annotations

from collections.abc import Sequence

from components.mounting import Content, OnEvent, component


@component("hiding")
def hiding(*, key: str, words: Sequence[tuple[str, bool]], on_event: OnEvent) -> Content:
    """Displays one button per word, or nothing if there are no words.

    Args:
        key: key of the mount.
        words: (word, True if hidden), in the order of the text.
        on_event: called with {type: hide, index, word, hidden, sequence}; `hidden` is the new state of the word.
    """
    return {"words": list(words)}, {}
