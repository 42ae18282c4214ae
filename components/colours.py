"""The colours of maps and charts, for Python and for the browser."""

import json
from pathlib import Path
from typing import TypedDict


class Colours(TypedDict):
    """The colours of one theme as `#rrggbb`; scales have equal steps of perceived lightness."""

    # scale for weights from 0 to the largest weight; light theme: white to indigo, dark theme: near-black to amber
    sequential: list[str]
    diverging: list[str]  # scale for differences; negative is blue, zero is the background, positive is orange
    attention: list[str]  # scale of the Lab for attention weights, by their square roots
    unused: list[str]  # the same in grey, for the pattern of a pruned head
    series: list[str]  # colours of lines and dots in charts, one per model; readable as text on the theme's background
    accent: str  # colour of selected and changed elements; readable as text on the theme's background


COLOURS: dict[str, Colours] = json.loads(
    (Path(__file__).parent.parent / "assets" / "colours.json").read_text("utf-8"))
