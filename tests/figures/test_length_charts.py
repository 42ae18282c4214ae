"""Charts over text length: the vertical axes show the range of the lines."""

from typing import Any

import figures
from figures import Panel, Point, Series


def scales(spec: Any) -> list[Any]:
    """Returns the scale of y of every mark that has one."""
    if isinstance(spec, dict):
        own = [spec["encoding"]["y"]["scale"]] if "scale" in spec.get("encoding", {}).get("y", {}) else []
        return own + [scale for value in spec.values() for scale in scales(value)]
    return [scale for value in spec for scale in scales(value)] if isinstance(spec, list) else []


def test_the_vertical_axis_has_the_range_of_the_lines_and_their_bars():
    panel = Panel("Loss, nats", [Point(0, 32, 4.0, spread=0.5), Point(0, 64, 3.5), Point(0, 128, 4.25)])
    spec = figures.length_curves([Series("softmax", 1)], [panel], 64, [64]).to_dict()
    found = scales(spec)
    assert found and all(scale["domain"] == [3.5, 4.5] and scale["clamp"] for scale in found)
