"""The parts that all altair charts share: data table, description and top-level properties."""

import functools
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, ParamSpec

from figures.theme import Theme, config
from models.messages import N_, listed, message


class Column(NamedTuple):
    """A column of a chart's table: a field of the datasets, and the heading with the unit."""

    field: str
    title: str


def format_value(value: float | None, percent: bool = False) -> str:
    """Returns a number for a tooltip: four significant digits, or percent with one decimal; with a minus sign."""
    if value is None:
        return "–"
    text = f"{round(100 * value, 1):g}%" if percent else f"{float(f'{value:.4g}'):g}"
    return text.replace("-", "−")


@dataclass(frozen=True, eq=False)
class Parts:
    """A chart before altair builds it. The app caches the result of altair, because building takes 20 to 400 ms."""

    key: Hashable  # everything that `build` depends on; hashable
    build: Callable[[], Any]  # returns an altair chart whose data are names of `datasets`
    datasets: dict[str, list[dict[str, Any]]]  # name -> rows; the datasets whose names begin with `rows` are the table
    columns: Sequence[Column]  # columns of the table
    title: str  # title of the chart
    about: str  # the chart's values in words, for screen readers
    theme: Theme  # see figures.theme
    usermeta: dict[str, Any]  # further values for the component that draws the chart

    def chart(self) -> Any:
        chart = self.build()
        # These are set as attributes, because `properties` validates each value, which takes 70 ms for a theme.
        chart.datasets, chart.description, chart.config = self.datasets, self.about, config(self.theme)
        chart.usermeta = self._usermeta()
        return chart

    def spec(self) -> dict[str, Any]:
        """Returns the Vega-Lite specification without its config; `build` is called once per key."""
        frame = _frames.get(self.key)
        if frame is None:
            if len(_frames) >= MOST_FRAMES:
                _frames.clear()
            frame = _frames[self.key] = self.build().to_dict(validate=False)
        # The datasets in the frame are the labels of reference lines.
        return {**frame, "datasets": {**frame.get("datasets", {}), **self.datasets}, "description": self.about,
                "usermeta": self._usermeta(), "config": {}}

    def _usermeta(self) -> dict[str, Any]:
        return {**self.usermeta, "title": self.title,
                "table": [[column.field, column.title] for column in self.columns]}


_frames: dict[Hashable, dict[str, Any]] = {}
MOST_FRAMES = 256
P = ParamSpec("P")


class Charted(Generic[P]):
    """A function that returns an altair chart. The method `spec` returns the Vega-Lite specification faster."""

    def __init__(self, parts: Callable[P, Parts]) -> None:
        self._parts = parts
        functools.update_wrapper(self, parts)

    def __call__(self, *args: P.args, **named: P.kwargs) -> Any:
        return self._parts(*args, **named).chart()

    def spec(self, *args: P.args, **named: P.kwargs) -> dict[str, Any]:
        """Returns the specification of the same chart, see Parts.spec."""
        return self._parts(*args, **named).spec()


def sentence(title: str, x: str, parts: Sequence[str]) -> str:
    """Returns the description of a chart: its title, its horizontal axis and its values."""
    values = listed(parts, N_("; "))
    if not x:
        return message("{title}. {values}.", title=title, values=values)
    return message("{title}. Horizontal axis: {x}. {values}.", title=title, x=x, values=values)
