"""The colours of maps and charts, for Python and for the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict


class Colours(TypedDict):
    """The colours of one theme as `#rrggbb`; scales have equal steps of perceived lightness.

    Attributes:
        sequential: sequential for weights from 0 to the largest; light: white to indigo, dark: near-black to amber.
        diverging: for differences; negative is blue, zero the background, positive orange.
        series: series of lines and dots in charts, one per model; readable as text on the theme's background.
        accent: accent of selected and changed elements; readable as text on the theme's background.
    """

    sequential: list[str]
    diverging: list[str]
    series: list[str]
    accent: str


COLOURS: dict[str, Colours] = json.loads(
    (Path(__file__).parent.parent / "assets" / "colours.json").read_text("utf-8"))
