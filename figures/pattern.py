"""Charts of an attention pattern: a large pattern with zoom and the selective mask F in 3-D (plotly), files (altair).

Tokens are untrusted text. Plotly interprets tags, entities and TeX in every text, so labels are escaped.
"""

import html
from collections.abc import Sequence
from typing import Any

import numpy
from numpy import ndarray

from figures.theme import Theme, palette, plotly_layout
from models.messages import cut, message

MOST = 512  # largest number of queries, and largest number of keys
_LONGEST = 20  # largest number of characters of a token in a label
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


def _check(values: ndarray, queries: Sequence[str], keys: Sequence[str]) -> None:
    """Raises ValueError if the numbers of tokens do not match the values, or are larger than MOST."""
    if values.shape != (len(queries), len(keys)):
        raise ValueError(f"{len(queries)} queries and {len(keys)} keys do not fit values of shape {values.shape}")
    if not 0 < min(values.shape) <= max(values.shape) <= MOST:
        raise ValueError(f"expected 1 to {MOST} queries and keys, found {len(queries)} and {len(keys)}")


def _names(tokens: Sequence[str]) -> list[str]:
    """Returns one label per token, with a number that makes the label unique."""
    visible = [token if token.strip(" ") else "␣" * len(token) for token in tokens]
    return [f"{number} {cut(token, _LONGEST)}" for number, token in enumerate(visible, 1)]


def plotly_names(tokens: Sequence[str]) -> list[str]:
    """Returns one label per token, escaped so that plotly does not interpret tags, entities or TeX."""
    return [html.escape(name, quote=False).replace("$", "&#36;") for name in _names(tokens)]


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
