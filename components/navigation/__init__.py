"""The links to the pages. A click sends an event; the links also open in new tabs."""

from __future__ import annotations

from collections.abc import Mapping

from components.mounting import Content, OnEvent, component


@component("navigation")
def navigation(*, key: str, pages: Mapping[str, str], present: str, query: str, section: str = "",
               on_event: OnEvent) -> Content:
    """Displays the links.

    Args:
        key: key of the mount.
        pages: key -> title.
        present: key of the current page.
        section: key of the page that is marked in place of the current page, for example in a lesson; empty for none.
        query: the state's query without `?`, which is part of each link.
        on_event: called with {type: page, page, sequence}.
    """
    header = {"pages": list(pages.items()), "present": present, "query": query, "section": section}
    return header, {}
