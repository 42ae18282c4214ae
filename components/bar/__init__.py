"""The header in the look of the Lab: places, Find a tool, undo, redo, sharing, language, theme. Writes the address."""

from collections.abc import Mapping, Sequence

from components.mounting import Content, OnEvent, component


@component("bar")
def bar(*, key: str, places: Mapping[str, str], present: str, section: str, links: str, query: str, mode: str,
        can_undo: bool, can_redo: bool, languages: Mapping[str, str], embedded: bool, large: bool = False,
        ticked: Sequence[str] = (), on_event: OnEvent) -> Content:
    """Displays the header and writes the browser's address.

    Args:
        key: key of the mount.
        places: page -> title; a link each.
        present: key of the current page, whose link does nothing.
        section: key of the place that is marked.
        links: the state's query without `?`, which is part of each link.
        query: the address after `?`, encoded by urllib.parse.urlencode.
        mode: `push` adds an entry to the browser's history, `replace` replaces the current entry.
        can_undo: True if there is a change to undo.
        can_redo: True if there is a change to redo.
        languages: key, as in <html lang> -> the language's own name; addresses omit the first language.
        embedded: True if the page is in a frame (`?embed=true`); only a link to the full app is then shown.
        large: True for large type, as in front of a class.
        ticked: steps of lessons that the visitor has done; the browser stores them.
        on_event: called with {type: undo | redo | reset | page | language | large | open | progress | address, …,
            sequence}.
    """
    header = {"places": list(places.items()), "present": present, "section": section, "links": links, "query": query,
              "mode": mode, "undo": bool(can_undo), "redo": bool(can_redo), "languages": list(languages.items()),
              "embedded": bool(embedded), "large": bool(large), "ticked": list(ticked)}
    return header, {}
