"""The links to the pages. They are events of the page's own fragment, and real links for new tabs and readers."""

from __future__ import annotations

from collections.abc import Mapping

from components.mounting import Content, OnEvent, component


@component("navigation")
def navigation(*, key: str, pages: Mapping[str, str], present: str, query: str, on_event: OnEvent) -> Content:
    """Draws the links.

    Args:
        pages: key -> title.
        present: key of the page that is open.
        query: the state's query string without `?`, which a link carries to a new tab.
        on_event: called with {type: page, page, sequence}.
    """
    header = {"pages": list(pages.items()), "present": present, "query": query}
    return header, {}
