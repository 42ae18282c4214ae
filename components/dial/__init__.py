"""A slider over places that are all known: the browser goes from one to another within a frame, with all components of
its group, and Python hears of it meanwhile."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from components.mounting import Content, OnEvent, Part, component, mount


@component("dial")
def dial(*, key: str, group: str, places: Sequence[int], at: int, label: str = "", term: str = "",
         told: Sequence[str] = (), columns: Sequence[str] = (), tables: Sequence[Sequence[Sequence[str]]] = (),
         on_event: OnEvent | None = None) -> Content:
    """Draws the slider, and under it what is so at its place.

    Args:
        group: charts and dials of one name are at one place; see `group` of components/chart.
        places: ascending numbers.
        at: one of them.
        label: of the slider; without one there is none, and the dial follows the others of its group.
        term: of the glossary, which explains the label.
        told: what is said at each place; what stands between ** is strong.
        columns, tables: names, and the rows of a table a place; the first column is a row's name.
        on_event: called with {type: at, x, drag, sequence} when another place is chosen; drag is False at the end of
            one.
    """
    return _header(group, places, at, columns, tables, label=label, term=term, told=list(told)), {}


def table(*, key: str, columns: Sequence[str], rows: Sequence[Sequence[str]],
          strong: Collection[tuple[int, int]] = ()) -> None:
    """A table that stays as it is. st.table takes 4 ms of the server and a library of tables in the browser.

    Args:
        columns, rows: as of a dial.
        strong: rows and columns of cells to be seen first.
    """
    header = _header("", [0], 0, columns, [rows], strong=[list(cell) for cell in strong])
    mount(Part("dial", key, header))


def _header(group: str, places: Sequence[int], at: int, columns: Sequence[str],
            tables: Sequence[Sequence[Sequence[str]]], **more: Any) -> dict[str, Any]:
    return {"group": group, "places": list(places), "at": at, "columns": list(columns),
            "tables": [[list(row) for row in rows] for rows in tables], **more}
