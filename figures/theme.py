"""The themes of all charts, from assets/colours.json: light, dark and print, for Vega-Lite and for plotly."""

import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

Theme = Literal["light", "dark", "print"]
FONT = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', 'Noto Sans CJK SC', sans-serif"
ROLES = ("ink", "faint", "line", "ground", "accent")  # colours that belong to no model
# lengths in px of dashes and gaps, alternating
DASHES: tuple[list[int], ...] = ([1, 0], [7, 4], [2, 3], [9, 3, 2, 3], [13, 4], [1, 5])
SHAPES = ("circle", "diamond", "triangle-up", "square", "cross", "triangle-down")


@cache
def palette(theme: Theme = "light") -> dict[str, Any]:
    """Returns the colours of a theme."""
    path = Path(__file__).parent.parent / "assets" / "colours.json"
    return json.loads(path.read_text("utf-8"))["dark" if theme == "dark" else "light"]


def colour(which: int | str, theme: Theme = "light") -> str:
    """Returns a colour as `#rrggbb`."""
    colours = palette(theme)
    return colours[which] if isinstance(which, str) else colours["series"][which % len(colours["series"])]


@cache
def config(theme: Theme = "light") -> dict[str, Any]:
    """Returns the `config` of a Vega-Lite specification.

    Marks that belong to no series have a style: `reference` for reference lines, `position` for the position.
    """
    colours = palette(theme)
    ink, faint, line, accent = colours["ink"], colours["faint"], colours["line"], colours["accent"]
    text = {"labelColor": faint, "titleColor": ink, "labelFontSize": 13, "titleFontSize": 13}
    return {
        "background": colours["ground"] if theme == "print" else "transparent",
        "font": FONT,
        "view": {"stroke": None},
        "title": {"color": ink, "subtitleColor": faint, "anchor": "start", "fontSize": 14, "fontWeight": 600,
                  "subtitleFontSize": 13, "offset": 8},
        "axis": {**text, "titleFontWeight": "normal", "gridColor": line, "domainColor": line, "tickColor": line,
                 "labelOverlap": "greedy", "titlePadding": 8},
        # Titles of vertical axes are above the axis and horizontal, so that they are easy to read.
        "axisY": {"titleAngle": 0, "titleAlign": "left", "titleAnchor": "end", "titleBaseline": "bottom", "titleX": -34,
                  "titleY": -8, "domain": False, "ticks": False},
        "axisX": {"grid": False},
        "header": {"labelColor": ink, "titleColor": ink, "labelFontSize": 13, "labelFontWeight": 600,
                   "labelAnchor": "start"},
        "legend": {**text, "labelColor": ink, "labelLimit": 420, "symbolSize": 220, "orient": "top", "offset": 30,
                   "symbolStrokeWidth": 2.5},
        "range": {"category": colours["series"], "heatmap": colours["sequential"], "ramp": colours["sequential"],
                  "diverging": colours["diverging"]},
        "style": {"reference": {"stroke": faint}, "reference-label": {"fill": faint, "stroke": None, "fontSize": 13},
                  "position": {"stroke": ink}, "mark-on-dark": {"fill": ink},
                  "guide-label": {"fontSize": 13}},
        "text": {"color": ink},
        "rule": {"color": faint},
        "point": {"color": accent},
    }


def recolouring(theme: Theme) -> dict[str, str]:
    """Returns colour of the light theme -> colour of another theme, for all colours in specifications."""
    light, other = palette("light"), palette(theme)
    pairs = [*zip(light["series"], other["series"], strict=True), *((light[role], other[role]) for role in ROLES)]
    return dict(pairs)


def plotly_layout(theme: Theme = "light") -> dict[str, Any]:
    colours = palette(theme)
    axis = {"gridcolor": colours["line"], "linecolor": colours["line"], "tickfont": {"color": colours["faint"]}}
    ground = colours["ground"] if theme == "print" else "rgba(0,0,0,0)"
    return {"colorway": colours["series"], "paper_bgcolor": ground, "plot_bgcolor": ground, "xaxis": axis,
            "yaxis": axis,
            "font": {"family": FONT, "size": 13, "color": colours["ink"]},
            "hoverlabel": {"bgcolor": colours["ground"], "bordercolor": colours["line"],
                           "font": {"color": colours["ink"]}},
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": colours["faint"], "activecolor": colours["accent"]}}
