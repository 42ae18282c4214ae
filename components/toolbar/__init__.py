"""Undo, redo, reset, copy link, language and theme; it also keeps the browser's address in step with the state."""

from __future__ import annotations

from collections.abc import Mapping

from components.mounting import Content, OnEvent, component


@component("toolbar")
def toolbar(*, key: str, query: str, mode: str, can_undo: bool, can_redo: bool, languages: Mapping[str, str],
            embedded: bool, on_event: OnEvent) -> Content:
    """Draws the buttons and writes the address.

    Args:
        query: what follows the `?` in the address, encoded as the browser keeps it (urllib.parse.urlencode).
        mode: `push` makes a new entry in the browser's history, `replace` changes the present one.
        can_undo, can_redo: whether there is something to undo or redo.
        languages: key, as in <html lang>, -> its own name for itself; the first one is in no address.
        embedded: the page stands in another one (`?embed=true`): a line leads to the lab, and nothing else is shown.
        on_event: called with {type: undo | redo | reset, sequence}, from a button or from its keys, and with
            {type: language, language, sequence}. A browser that is
            given a new session while its page lives (the server was restarted, or could not be reached for long) sends
            {type: address, query, sequence}, its own address, in place of taking this one's.
    """
    header = {"query": query, "mode": mode, "undo": bool(can_undo), "redo": bool(can_redo),
              "languages": list(languages.items()), "embedded": bool(embedded)}
    return header, {}
