"""Charts of an attention pattern: a large pattern with zoom and the selective mask F in 3-D (plotly), files (altair).

Tokens are untrusted text. Plotly interprets tags, entities and TeX in every text, so labels are escaped.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy
from numpy import ndarray

from figures.tables import Column, Parts, charted, format_value
from figures.theme import Theme, palette, plotly_layout
from models.messages import N_, cut, listed, message

MOST = 512  # largest number of queries, and largest number of keys
MOST_HEADS, MOST_SIDE = 16, 128  # largest number of heads, and of queries and of keys, in `head_patterns`
MOST_SQUARES = 64  # the same for `pattern_squares`: its table has a row per weight
_LONGEST = 20  # largest number of characters of a token in a label
_NAMED = 5  # number of weights in the description
# Labels of 3-D axes interpret tags, but not entities.
_PLAIN = str.maketrans({"<": "‹", ">": "›", "&": "＆", "$": "＄"})


def attention_pattern(weights: ndarray, queries: Sequence[str], keys: Sequence[str], across: str = message("key token"),
                      up: str = message("query token"), unit: str = message("attention weight"),
                      theme: Theme | None = "light") -> Any:
    """Returns the attention pattern of one head as a plotly heatmap with zoom and pan.

    Args:
        weights: (N, M), queries down and keys across; N and M are at most MOST.
        queries: the N query tokens.
        keys: the M key tokens.
        across, up, unit: titles of the axes and of the colour bar.
        theme: see figures.theme; None if the page defines the colours.

    Raises:
        ValueError: there are more than MOST queries or keys, or the numbers of tokens do not match the weights.
    """
    import plotly.graph_objects as go

    _check(weights, queries, keys)
    figure = go.Figure(go.Heatmap(
        z=weights, x=plotly_names(keys), y=plotly_names(queries), zmin=0, zmax=float(weights.max()) or 1.0,
        hovertemplate=_tip(up, across, unit), colorbar={
            "thickness": 12, "outlinewidth": 0, "title": {"text": unit, "side": "right"}}, **_scale(theme)))
    # Category axes show as many labels as fit, so zooming in shows more labels.
    axis = {"type": "category", "showgrid": False, "automargin": True, "tickfont": {"size": 11}}
    figure.update_layout(
        height=560, margin={"l": 12, "r": 12, "t": 40, "b": 12}, dragmode="zoom", hovermode="closest",
        xaxis={**axis, "title": {"text": across}, "tickangle": -60},
        yaxis={**axis, "title": {"text": up}, "autorange": "reversed"})
    return _themed(figure, theme)


def head_patterns(weights: ndarray, names: Sequence[str], queries: Sequence[str], keys: Sequence[str],
                  across: str = message("key token"), up: str = message("query token"),
                  unit: str = message("attention weight"), theme: Theme | None = "light") -> Any:
    """Returns the attention patterns of several heads as plotly heatmaps with one colour scale.

    The heatmaps share their axes, so that a zoom into one shows the same queries and keys of all heads.

    Args:
        weights: (K, N, M), the patterns of K heads; K is at most MOST_HEADS, N and M are at most MOST_SIDE.
        names: K titles, one per head.
        queries, keys, across, up, unit, theme: see `attention_pattern`.

    Raises:
        ValueError: there are too many heads, queries or keys, or names or tokens do not match the weights.
    """
    import plotly.graph_objects as go
    from plotly.subplots import make_subplots

    if len(names) != len(weights) or not 0 < len(names) <= MOST_HEADS:
        raise ValueError(f"expected 1 to {MOST_HEADS} heads with a name each, found {len(weights)} and {len(names)}")
    for pattern in weights:
        _check(pattern, queries, keys, MOST_SIDE)
    columns = min(len(names), 4 if len(names) > 4 else 2)
    lines = -(-len(names) // columns)
    figure = make_subplots(lines, columns, shared_xaxes="all", shared_yaxes="all", subplot_titles=plotly_texts(names),
                           horizontal_spacing=0.03, vertical_spacing=min(0.12, 0.24 / lines),
                           x_title=across, y_title=up)
    for number, pattern in enumerate(weights):
        figure.add_trace(go.Heatmap(
            z=pattern, x=plotly_names(keys), y=plotly_names(queries), zmin=0, zmax=float(weights.max()) or 1.0,
            hovertemplate=_tip(up, across, unit), showscale=number == 0, name="", colorbar={
                "thickness": 12, "outlinewidth": 0, "title": {"text": unit, "side": "right"}}, **_scale(theme)),
            number // columns + 1, number % columns + 1)
    figure.update_xaxes(type="category", showgrid=False, tickangle=-60, tickfont={"size": 10})
    figure.update_yaxes(type="category", showgrid=False, autorange="reversed", tickfont={"size": 10})
    # the titles of the axes are notes that plotly puts over the names of the tokens
    figure.update_annotations(font_size=13)
    figure.update_annotations(selector={"text": across}, yshift=-72)
    figure.update_annotations(selector={"text": up}, xshift=-84)
    figure.update_layout(height=120 + 280 * lines, margin={"l": 100, "r": 12, "t": 48, "b": 104}, dragmode="zoom",
                         hovermode="closest")
    return _themed(figure, theme)


def mask_surface(mask: ndarray, tokens: Sequence[str], across: str = message("token"),
                 up: str = message("query step"), unit: str = message("accumulated F, in units of the scores"),
                 theme: Theme | None = "light") -> Any:
    """Returns the selective mask F (accumulated votes) of one layer as a plotly surface over queries and keys.

    Args:
        mask: F (N, N) of `Trace.mask`, queries down and keys across; N is at most MOST. Keys after the query have no
            surface.
        tokens: N tokens.
        across, up, unit: titles of the axes of keys, queries and F.
        theme: see figures.theme; None leaves the colours to the page.

    Raises:
        ValueError: as `attention_pattern`.
    """
    import plotly.graph_objects as go

    _check(mask, tokens, tokens)
    causal = numpy.tril(numpy.ones(mask.shape, dtype=bool))
    figure = go.Figure(go.Surface(
        z=numpy.where(causal, mask, numpy.float32("nan")),
        x=[name.translate(_PLAIN) for name in _names(tokens)], y=list(range(1, len(tokens) + 1)),
        hovertemplate=_tip(up, across, unit), showscale=False, **_scale(theme)))
    axes = {"xaxis": {"title": {"text": across}, "type": "category", "nticks": 12, "tickfont": {"size": 11}},
            "yaxis": {"title": {"text": up}}, "zaxis": {"title": {"text": "F"}, "nticks": 6}}
    figure.update_layout(height=560, margin={"l": 0, "r": 0, "t": 32, "b": 0},
                         scene={**axes, "aspectmode": "cube", "camera": {
                             "eye": {"x": 1.85, "y": -1.85, "z": 1.4}, "center": {"x": 0, "y": 0, "z": -0.1}}})
    return _themed(figure, theme)


@charted
def pattern_squares(weights: ndarray, queries: Sequence[str], keys: Sequence[str], title: str,
                    theme: Theme = "light") -> Parts:
    """Returns the chart of `attention_pattern` without controls, as an altair chart for files and for the table.

    Args:
        weights, queries, keys: see `attention_pattern`; at most MOST_SQUARES queries and keys.
        title: title of the chart.
        theme: see figures.theme.

    Raises:
        ValueError: as `attention_pattern`, above MOST_SQUARES.
    """
    _check(weights, queries, keys, MOST_SQUARES)
    down, across = _names(queries), _names(keys)
    rows = [{"query": down[i], "key": across[j], "value": float(value), "shown": format_value(float(value))}
            for i, line in enumerate(weights) for j, value in enumerate(line)]
    most, unit = float(weights.max()) or 1.0, message("attention weight")

    def build() -> Any:
        import altair as alt

        axis = alt.Axis(domain=False, ticks=False, grid=False, labelLimit=180)
        return alt.Chart(alt.NamedData(name="rows0")).mark_rect().encode(
            x=alt.X("key:O", sort=across, title=message("key token"), axis=axis),
            y=alt.Y("query:O", sort=down, title=message("query token"), axis=axis),
            color=alt.Color("value:Q", scale=alt.Scale(domain=[0, most], range="heatmap"),
                            legend=alt.Legend(title=unit)),
            tooltip=[alt.Tooltip("query:N", title=message("query token")),
                     alt.Tooltip("key:N", title=message("key token")), alt.Tooltip("shown:N", title=unit)],
        ).properties(width=16 * len(across), height=16 * len(down))

    columns = [Column("query", message("query token")), Column("key", message("key token")), Column("value", unit)]
    return Parts(("pattern", tuple(down), tuple(across), most, theme), build, {"rows0": rows}, columns, title,
                 strongest(weights, queries, keys, title), theme, {"natural": True, "beside": 190})


def strongest(weights: ndarray, queries: Sequence[str], keys: Sequence[str], title: str) -> str:
    """Returns a description of a pattern for screen readers: the title and the largest weights."""
    down, across = _names(queries), _names(keys)
    largest = numpy.argsort(-weights, axis=None, kind="stable")[:_NAMED]
    parts = [message("query {query}, key {key}: {value}", query=down[i], key=across[j],
                     value=format_value(float(weights[i, j])))
             for i, j in zip(*numpy.unravel_index(largest, weights.shape), strict=True)]
    return message("{title}. Largest weights: {values}.", title=title, values=listed(parts, N_("; ")))


def _check(values: ndarray, queries: Sequence[str], keys: Sequence[str], most: int = MOST) -> None:
    """Raises ValueError if the numbers of tokens do not match the values, or are larger than `most`."""
    if values.shape != (len(queries), len(keys)):
        raise ValueError(f"{len(queries)} queries and {len(keys)} keys do not fit values of shape {values.shape}")
    if not 0 < min(values.shape) <= max(values.shape) <= most:
        raise ValueError(f"expected 1 to {most} queries and keys, found {len(queries)} and {len(keys)}")


def _names(tokens: Sequence[str]) -> list[str]:
    """Returns one label per token, with a number that makes the label unique."""
    visible = [token if token.strip(" ") else "␣" * len(token) for token in tokens]
    return [f"{number} {cut(token, _LONGEST)}" for number, token in enumerate(visible, 1)]


def plotly_names(tokens: Sequence[str]) -> list[str]:
    """Returns one label per token, escaped so that plotly does not interpret tags, entities or TeX."""
    return plotly_texts(_names(tokens))


def plotly_texts(texts: Sequence[str]) -> list[str]:
    """Returns texts escaped so that plotly does not interpret tags, entities or TeX."""
    return [html.escape(text, quote=False).replace("$", "&#36;") for text in texts]


def _tip(up: str, across: str, unit: str) -> str:
    return f"{up}: %{{y}}<br>{across}: %{{x}}<br>{unit}: %{{z:.4~g}}<extra></extra>"


def _scale(theme: Theme | None) -> dict[str, Any]:
    if theme is None:
        return {}
    colours = palette(theme)["sequential"]
    return {"colorscale": [[number / (len(colours) - 1), colour] for number, colour in enumerate(colours)]}


def _themed(figure: Any, theme: Theme | None) -> Any:
    if theme is not None:
        figure.update_layout(plotly_layout(theme))
    return figure
