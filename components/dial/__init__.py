"""A slider over fixed positions. The browser moves all components of the slider's group at once and sends an event."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from components.mounting import Content, OnEvent, component


@component("dial")
def dial(*, key: str, group: str, positions: Sequence[int], at: int, label: str = "", term: str = "",
         texts: Sequence[str] = (), columns: Sequence[str] = (), tables: Sequence[Sequence[Sequence[str]]] = (),
         on_event: OnEvent | None = None) -> Content:
    """Displays the slider, and the text and the table of the current position.

    Args:
        key: key of the mount.
        group: charts and dials with the same group show the same position; see `group` of components/figure.
        positions: the positions, ascending numbers.
        at: the current position.
        label: label of the slider; empty for no slider, if another component of the group has a slider.
        term: key of the glossary entry that explains the label.
        texts: one text per position; text between ** is bold.
        columns: names of the table's columns.
        tables: one table (list of rows) per position; the first column is the name of the row.
        on_event: called with {type: at, x, drag, sequence} for another position; drag is False at the end of a drag.
    """
    return _header(group, positions, at, columns, tables, label=label, term=term, texts=list(texts)), {}


@component("dial")
def table(*, key: str, columns: Sequence[str], rows: Sequence[Sequence[str]],
          strong: Collection[tuple[int, int]] = ()) -> Content:
    """Displays a fixed table. st.table would take 4 ms on the server and load a table library in the browser.

    Args:
        key: key of the mount.
        columns: names of the columns.
        rows: texts of the cells; the first column is the name of the row.
        strong: (row, column) of the cells in bold.
    """
    return _header("", [0], 0, columns, [rows], strong=[list(cell) for cell in strong]), {}


@component("dial")
def paragraph(*, key: str, text: str, is_small: bool = False) -> Content:
    """Displays a text that the events route can change, unlike st.markdown.

    Args:
        key: key of the mount.
        text: the text; text between ** is bold.
        is_small: True for the size and colour of a caption.
    """
    return _header("", [0], 0, (), (), texts=[text], small=is_small), {}


def _header(group: str, positions: Sequence[int], at: int, columns: Sequence[str],
            tables: Sequence[Sequence[Sequence[str]]], **more: Any) -> dict[str, Any]:
    return {"group": group, "positions": list(positions), "at": at, "columns": list(columns),
            "tables": [[list(row) for row in rows] for rows in tables], **more}
