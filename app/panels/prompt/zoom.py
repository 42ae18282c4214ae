"""The section Zoom of the Explore page: the selected head's attention pattern, and the selective mask F in 3-D."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy
import streamlit as st
from numpy import ndarray

from app import compute, exports
from app.compute import AnyTrace
from app.panels.answer.writers import head_name
from app.panels.prompt.heads import selected
from app.state import session
from app.state.lab_state import LabState
from app.texts import _, spelt
from components.figure import figure, spec_of
from figures.pattern import (
    MOST,
    MOST_HEADS,
    MOST_SIDE,
    MOST_SQUARES,
    attention_pattern,
    head_patterns,
    mask_surface,
    pattern_squares,
    strongest,
)
from models import Lab, Trace, csv_table
from models.analysis.answer.json_values import DIGITS
from models.capabilities import Forgets

# Streamlit replaces these names by chartSequentialColors of .streamlit/config.toml in the page's theme.
PAGE_SCALE = [[place / 9, f"#{number:06d}"] for place, number in enumerate(range(11, 21))]


def section(lab: Lab, state: LabState, trace: AnyTrace) -> None:
    """Displays the patterns of the selected heads with zoom and pan.

    If one head is selected, its pattern has files, and for selective attention there is also the selective mask F.

    Args:
        lab: the model.
        state: the visitor's state.
        trace: the trace under the plan.
    """
    if len(state.selection.heads(lab.shape)) > 1:
        _heads(lab, state, trace)
        return
    kind, layer, head = selected(lab, state)
    maps = compute.layer_of(lab, trace, state.plan, kind.name, layer)
    queries, keys = (spelt(trace.rows[row])[:MOST] for row in (kind.query_row, kind.key_row))
    weights = maps.weights[head][:MOST, :MOST]
    st.markdown(_("**Attention pattern of layer {layer}, head {head}**, under your plan. Drag a rectangle to zoom in; "
                  "double-click to see the whole pattern.", layer=layer + 1, head=head + 1))
    if weights.shape != maps.weights[head].shape:
        st.caption(_("Only the first {most} queries and keys are drawn.", most=MOST))
    title = _("Attention pattern of layer {layer}, head {head}", layer=layer + 1, head=head + 1)
    chart = attention_pattern(weights, queries, keys, _("key token"), _("query token"), _("attention weight"),
                              theme=None)
    _plot(lab, chart, session.PATTERN, _(strongest(weights, queries, keys, title)), "pattern")
    if max(weights.shape) <= MOST_SQUARES:
        figure(key="pattern files", spec=spec_of(pattern_squares.spec(weights, queries, keys, title)), title=title,
               models=[lab.name], what="pattern", is_drawn=False)
    else:
        st.download_button(_("Pattern as CSV"), partial(to_csv, weights, queries, keys),
                           exports.file_name(lab.name, "pattern", "csv"), "text/csv", on_click="ignore",
                           icon=":material/download:")
    selections = lab.selected(maps.scores) if isinstance(lab, Forgets) else None
    if selections is not None:
        _surface(lab, trace, layer, selections, keys)


def _heads(lab: Lab, state: LabState, trace: AnyTrace) -> None:
    """Displays the patterns of all selected heads as small multiples with common axes and one colour scale."""
    chosen = state.selection.heads(lab.shape)
    pictured = chosen[:MOST_HEADS]
    kind = lab.kind(state.selection.kind)
    queries, keys = (spelt(trace.rows[row])[:MOST_SIDE] for row in (kind.query_row, kind.key_row))
    maps = {layer: compute.layer_of(lab, trace, state.plan, kind.name, layer) for layer in {at[1] for at in pictured}}
    weights = numpy.stack([maps[layer].weights[head][:MOST_SIDE, :MOST_SIDE] for _kind, layer, head in pictured])
    st.markdown(_("**Attention patterns of {n} selected heads**, under your plan, with one colour scale. Drag a "
                  "rectangle in one pattern to zoom into all; double-click to see the whole patterns. A title "
                  "is the number of the layer, then of the head.", n=len(pictured)))
    if len(pictured) < len(chosen):
        st.caption(_("Only the first {most} of {all} selected heads are drawn.", most=MOST_HEADS, all=len(chosen)))
    if max(len(trace.rows[row]) for row in (kind.query_row, kind.key_row)) > MOST_SIDE:
        st.caption(_("Only the first {most} queries and keys are drawn.", most=MOST_SIDE))
    names = [head_name(lab, *address) for address in pictured]
    titles = [f"{layer + 1}.{head + 1}" for _kind, layer, head in pictured]
    chart = head_patterns(weights, titles, queries, keys, _("key token"), _("query token"), _("attention weight"),
                          theme=None)
    alt = " ".join(_(strongest(pattern, queries, keys, name)) for pattern, name in zip(weights, names, strict=True))
    _plot(lab, chart, session.PATTERN, alt, "patterns")
    st.download_button(_("Patterns as CSV"), partial(all_to_csv, weights, names, queries, keys),
                       exports.file_name(lab.name, "patterns", "csv"), "text/csv", on_click="ignore",
                       icon=":material/download:")


def _surface(lab: Lab, trace: AnyTrace, layer: int, selections: ndarray, tokens: Sequence[str]) -> None:
    """Displays F in an expander. The chart is created only when the expander is open, because it is large."""
    with st.expander(_("Mask F over time, in 3-D"), key=session.SURFACE, on_change="rerun") as opened:
        if not opened.open:
            return
        st.markdown(_("Each query adds to F of the tokens that it masks, and F is subtracted from the scores of all "
                      "later queries, so that they attend less to a token with a large F. Drag to turn the surface."))
        mask = mask_of(trace, layer, selections)[:MOST, :MOST]
        chart = mask_surface(mask, tokens, _("token"), _("query step"), _("accumulated F, in units of the scores"),
                             theme=None)
        peak = int(mask[-1].argmax())
        _plot(lab, chart, "surface", _("Mask F of layer {layer} after the last query: the largest is {value:.2f}, of "
                                       "token {number}.", layer=layer + 1, value=float(mask[-1, peak]),
                                       number=peak + 1), "mask")


def mask_of(trace: AnyTrace, layer: int, selections: ndarray) -> ndarray:
    """Returns the selective mask F (accumulated votes) of a layer, (N, N); for a sketch, F is computed from S.

    Args:
        trace: trace or sketch.
        layer: layer, from 0.
        selections: S (N, N) of the layer, see Forgets.selected.
    """
    if isinstance(trace, Trace) and trace.mask is not None:
        return trace.mask[layer]
    return numpy.vstack([numpy.zeros_like(selections[:1]), selections[:-1].cumsum(0)])


def to_csv(weights: ndarray, queries: Sequence[str], keys: Sequence[str]) -> bytes:
    """Returns a pattern as CSV: one row per query, one column per key. Numbers before the tokens make names unique."""
    # without a byte order mark Excel assumes another encoding
    return csv_table.to_csv(_rows(weights, queries, keys)).encode("utf-8-sig")


def _rows(weights: ndarray, queries: Sequence[str], keys: Sequence[str]) -> Iterator[list[str]]:
    yield [_("query token"), *(f"{number} {key}" for number, key in enumerate(keys, 1))]
    for number, (query, line) in enumerate(zip(queries, weights.tolist(), strict=True), 1):
        yield [f"{number} {query}", *(f"{value:.{DIGITS}g}" for value in line)]


def all_to_csv(weights: ndarray, names: Sequence[str], queries: Sequence[str], keys: Sequence[str]) -> bytes:
    """Returns the tables of `to_csv` of several heads, each below a line with the name of the head."""
    rows = (row for name, pattern in zip(names, weights, strict=True)
            for row in ([name], *_rows(pattern, queries, keys), []))
    return csv_table.to_csv(rows).encode("utf-8-sig")


def _plot(lab: Lab, chart: Any, key: str, alt: str, what: str) -> None:
    chart.update_traces(colorscale=PAGE_SCALE)
    chart.update_layout(template="streamlit")
    st.plotly_chart(chart, key=key, alt=alt, config={
        "displayModeBar": True, "scrollZoom": False, "showTips": False, "toImageButtonOptions": {
            "format": "png", "scale": 2, "filename": exports.file_name(lab.name, what, "png")[:-4]}})
