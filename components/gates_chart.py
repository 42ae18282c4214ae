"""Gates as a picture: tokens down, heads across, a field a layer."""

from __future__ import annotations

from collections.abc import Sequence

import altair
import pandas
from numpy import ndarray

from app.texts import _
from components.colours import COLOURS

FIELD = 16  # pixels of a gate


def gates_table(gates: ndarray, tokens: Sequence[str]) -> pandas.DataFrame:
    """Columns place, token, layer, head (from 1), gate.

    Args:
        gates: (L, H, N), 0 to 1.
        tokens: N.
    """
    return pandas.DataFrame([{"place": place + 1, "token": tokens[place], "layer": layer + 1, "head": head + 1,
                              "gate": round(float(gates[layer, head, place]), 4)}
                             for layer in range(gates.shape[0]) for place in range(gates.shape[2])
                             for head in range(gates.shape[1])])


def gates_chart(table: pandas.DataFrame, selected: int) -> altair.HConcatChart:
    """What is open is full, on any ground: the colour is one, how much of it there is says the gate.

    Args:
        table: gates_table's.
        selected: layer whose title is marked, counted from 0.
    """
    names = table.drop_duplicates("place").set_index("place")["token"].to_dict()
    labels = " : ".join(f"datum.value == {place} ? {_quoted(token)}" for place, token in names.items()) + " : ''"
    fields = []
    for number, layer in enumerate(sorted(set(table["layer"]))):
        axis = altair.Axis(labelExpr=labels, labelLimit=90, ticks=False, domain=False, values=list(names)) \
            if not number else None
        title = _("layer {layer} (selected)", layer=layer) if layer == selected + 1 else _("layer {layer}", layer=layer)
        fields.append(altair.Chart(table[table["layer"] == layer]).mark_rect(
            color=COLOURS["light"]["sequential"][len(COLOURS["light"]["sequential"]) * 2 // 3]).encode(
            x=altair.X("head:O", title=None, axis=altair.Axis(labelAngle=0, ticks=False, domain=False)),
            y=altair.Y("place:O", title=None, axis=axis),
            opacity=altair.Opacity("gate:Q", legend=None, scale=altair.Scale(domain=[0, 1], range=[0, 1])),
            tooltip=[altair.Tooltip("token:N", title=_("token")), altair.Tooltip("layer:O", title=_("layer")),
                     altair.Tooltip("head:O", title=_("head")),
                     altair.Tooltip("gate:Q", title=_("gate"), format=".3f")],
        ).properties(title=title, width=altair.Step(FIELD), height=altair.Step(FIELD)))
    return altair.hconcat(*fields, spacing=10)


def _quoted(token: str) -> str:
    """A token as a literal of Vega's expressions: text, whatever stands in it."""
    return "'" + "".join(c if c.isalnum() or c == " " else f"\\u{ord(c):04x}" if ord(c) < 0x10000 else "\\u25a1"
                         for c in token) + "'"
