"""The description of one line or group of marks in a chart: name, colour, dashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Series:
    """One series of a chart.

    Attributes:
        name: in the legend and the tooltips; distinct within a chart.
        colour: index of a model's colour, or a role of figures.theme.
        dash: index of its dashes and of the shape of its points, so that colour is never the only difference.
        marked: True draws its points.
        quiet: True draws it thin, as a line that others are compared with.
    """

    name: str
    colour: int | str = "ink"
    dash: int = 0
    marked: bool = True
    quiet: bool = False

    @classmethod
    def of_style(cls, name: str, style: Mapping[str, Any], quiet: bool = False) -> Series:
        """Makes a series with the style of models.studies.series.style.

        Args:
            name: of the series.
            style: colour, dash and, for a line without points, kind "plain".
            quiet: see Series.
        """
        return cls(name, style["colour"], style["dash"], style.get("kind") != "plain", quiet)


def of_model(name: str, reading: int = 0) -> Series:
    """Returns the series of a model, with the colour and the dash of its ModelInfo.

    Args:
        name: like "stories-selective".
        reading: 0 for the model as trained; another inference setting has other dashes.
    """
    from models import catalogue  # imported here, so that charts of other data do not read the catalogue
    from models.studies.series import style

    info = catalogue.describe(name)
    return Series.of_style(name if info is None else info.label, style(name, reading))
