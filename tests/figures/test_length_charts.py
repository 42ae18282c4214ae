"""Charts over text length: the vertical axes show the lines, and a ring outside their range is drawn at the edge.

    pytest tests/figures/test_length_charts.py
"""

from __future__ import annotations

from typing import Any

import figures
from figures import Panel, Point, Series
from tests.figures.specs import rows


def scales(spec: Any) -> list[Any]:
    """Returns the scale of y of every mark that has one."""
    if isinstance(spec, dict):
        own = [spec["encoding"]["y"]["scale"]] if "scale" in spec.get("encoding", {}).get("y", {}) else []
        return own + [scale for value in spec.values() for scale in scales(value)]
    return [scale for value in spec for scale in scales(value)] if isinstance(spec, list) else []


def test_a_ring_far_away_does_not_flatten_the_lines():
    lines = [Point(0, 32, 4.0, spread=0.5), Point(0, 64, 3.5), Point(0, 128, 4.25)]
    panel = Panel("Loss, nats", lines, rings=[Point(0, 19, 0.1)])
    spec = figures.length_curves([Series("softmax", 1)], [panel], 64, [64]).to_dict()
    found = scales(spec)
    assert found and all(scale["domain"] == [3.5, 4.5] and scale["clamp"] for scale in found)
    assert 0.1 in [row["y"] for row in rows(spec) if row["form"] == "ring"]
