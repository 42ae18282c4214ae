"""The colours of maps and charts, the same ones in Python and in the browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TypedDict


class Colours(TypedDict):
    """One theme's colours, each `#rrggbb`; scales in equal steps of perceived lightness.

    Attributes:
        sequential: weights, 0 to the largest; light: white to deep indigo, dark: near-black to amber.
        diverging: differences, negative blue, zero the ground, positive orange.
        series: lines and dots of charts, a colour for each model; readable as text on the theme's ground.
        accent: what is selected or changed; readable as text on the theme's ground.
    """

    sequential: list[str]
    diverging: list[str]
    series: list[str]
    accent: str


COLOURS: dict[str, Colours] = json.loads(
    (Path(__file__).parent.parent / "assets" / "colours.json").read_text("utf-8"))
