"""Undo, redo, reset, copy link, language and theme. The toolbar also writes the state into the browser's address."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from components.mounting import Content, OnEvent, component


@component("toolbar")
def toolbar(*, key: str, query: str, mode: str, can_undo: bool, can_redo: bool, languages: Mapping[str, str],
            embedded: bool, large: bool = False, ticked: Sequence[str] = (), on_event: OnEvent) -> Content:
    """Displays the buttons and writes the address.

    Args:
        key: key of the mount.
        query: the address after `?`, encoded by urllib.parse.urlencode.
        mode: `push` adds an entry to the browser's history, `replace` replaces the current entry.
        can_undo: True if there is a change to undo.
        can_redo: True if there is a change to redo.
        languages: key, as in <html lang> -> the language's own name; addresses omit the first language.
        embedded: True if the page is in a frame (`?embed=true`); only a link to the full app is then shown.
        large: True for large type, as in front of a class.
        ticked: steps of lessons that the visitor has done; the browser stores them.
        on_event: called with {type: undo | redo | reset, sequence}, from a button or its keyboard shortcut, with
            {type: language, language, sequence}, {type: large, on, sequence}, and, for a saved state, with {type: open,
            query, sequence}. If an open page gets a new session, because the server was restarted or unreachable, the
            browser sends its address, {type: address, query, sequence}, and ignores `query`. If the browser has stored
            steps of lessons that are not in `ticked`, it sends {type: progress, done: [...]} once.
    """
    header = {"query": query, "mode": mode, "undo": bool(can_undo), "redo": bool(can_redo),
              "languages": list(languages.items()), "embedded": bool(embedded), "large": bool(large),
              "ticked": list(ticked)}
    return header, {}
