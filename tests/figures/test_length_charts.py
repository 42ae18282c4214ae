"""Charts over text length: the vertical axes show the lines, and a ring outside their range is drawn at the edge."""

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


def test_the_first_ring_of_a_panel_is_labelled():
    lines = [Point(0, 32, 4.0), Point(1, 32, 3.5)]
    panels = [Panel("Loss, nats", lines, rings=[Point(0, 19, 3.9), Point(1, 19, 3.6)]), Panel("Accuracy", lines)]
    spec = figures.length_curves([Series("softmax", 1), Series("gated", 2)], panels, 64, [64]).to_dict()
    labels = [layer for panel in spec["concat"] for layer in panel["layer"]
              if '"your text"' in str(layer.get("encoding", {}).get("text", {}).get("value"))]
    assert len(labels) == len(panels)  # rings can be added to each panel later
    assert labels[0]["transform"][-1] == {"filter": "datum.place == 1"}
    shown = labels[0]["encoding"]["text"]["value"]["expr"]  # outside the axis, with its value and an arrow
    assert "datum.y < 3.5 ? ': ' + format(datum.y, '.2f') + ' ↓'" in shown and "' ↑'" in shown
