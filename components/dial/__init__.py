"""A slider over known positions. The browser moves all components of its group within one frame and sends an event."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from components.mounting import Content, OnEvent, Part, component, mount


@component("dial")
def dial(*, key: str, group: str, places: Sequence[int], at: int, label: str = "", term: str = "",
         told: Sequence[str] = (), columns: Sequence[str] = (), tables: Sequence[Sequence[Sequence[str]]] = (),
         on_event: OnEvent | None = None) -> Content:
    """Draws the slider, and the text and the table of its position.

    Args:
        key: key of the mount.
        group: charts and dials with the same group show the same position; see `group` of components/figure.
        places: the positions, ascending numbers.
        at: the current position.
        label: label of the slider; empty for no slider, if another component of the group has one.
        term: key of the glossary that explains the label.
        told: the text per position; text between ** is bold.
        columns: names of the table's columns.
        tables: the rows of the table per position; the first column is a row's name.
        on_event: called with {type: at, x, drag, sequence} for another position; drag is False at the end of a drag.
    """
    return _header(group, places, at, columns, tables, label=label, term=term, told=list(told)), {}


def table(*, key: str, columns: Sequence[str], rows: Sequence[Sequence[str]],
          strong: Collection[tuple[int, int]] = ()) -> None:
    """Draws a table that does not change. st.table costs 4 ms on the server and a table library in the browser.

    Args:
        key: key of the mount.
        columns: names of the columns.
        rows: texts; the first column is a row's name.
        strong: (row, column) of bold cells.
    """
    header = _header("", [0], 0, columns, [rows], strong=[list(cell) for cell in strong])
    mount(Part("dial", key, header))


def _header(group: str, places: Sequence[int], at: int, columns: Sequence[str],
            tables: Sequence[Sequence[Sequence[str]]], **more: Any) -> dict[str, Any]:
    return {"group": group, "places": list(places), "at": at, "columns": list(columns),
            "tables": [[list(row) for row in rows] for rows in tables], **more}
