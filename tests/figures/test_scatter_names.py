"""Names in the scatter of heads stand beside marks that are apart, and cover neither marks nor each other.

    pytest tests/figures/test_scatter_names.py
"""

from __future__ import annotations

from itertools import combinations

import figures
from figures import HeadPoint


def names(points: list[HeadPoint]) -> dict[str, tuple[float, float]]:
    """Returns the names in the chart and the marks to which they belong, without the bold type of the selected one."""
    figure = figures.head_scatter(points, "confidence", "loss", 0)
    (trace,) = (trace for trace in figure.data if trace.mode == "markers+text")
    assert trace.customdata is None  # a box must not select a name
    plain = [name.replace("<b>", "").replace("</b>", "") for name in trace.text]
    return dict(zip(plain, zip(trace.x, trace.y, strict=True), strict=True))


def test_heads_apart_are_named_and_a_crowd_is_not():
    crowd = [HeadPoint(f"1.{i}", "layer 1", 0.5 + i / 1000, 0.5) for i in range(8)]
    apart = [HeadPoint("2.1", "layer 2", 0.0, 0.0), HeadPoint("2.2", "layer 2", 1.0, 1.0),
             HeadPoint("2.3", "layer 2", float("nan"), 1.0)]
    found = names([*crowd, *apart])
    assert found["2.1"] == (0.0, 0.0) and found["2.2"] == (1.0, 1.0)
    assert "2.3" not in found and len(found.keys() & {point.name for point in crowd}) <= 1


def test_names_do_not_cover_each_other():
    points = [HeadPoint(f"{i}.{j}", "layer", i / 9, (i * j % 10) / 9) for i in range(10) for j in range(10)]
    places = list(names(points).values())
    assert len(places) > 5
    assert all(abs(a[0] - b[0]) > 0.06 or abs(a[1] - b[1]) > 0.05 for a, b in combinations(places, 2))


def test_the_selected_head_has_its_name_in_a_crowd_too():
    crowd = [HeadPoint(f"1.{i}", "layer 1", 0.5 + i / 1000, 0.5) for i in range(8)]
    others = [HeadPoint("2.1", "layer 2", 0.0, 0.0), HeadPoint("2.2", "layer 2", 1.0, 1.0)]
    for selected, place in ((3, "top center"), (9, "top center")):
        figure = figures.head_scatter([*crowd, *others], "confidence", "loss", selected)
        (trace,) = (trace for trace in figure.data if trace.mode == "markers+text")
        assert trace.text[0] == f"<b>{[*crowd, *others][selected].name}</b>" and trace.textposition[0] == place
    above = HeadPoint("3.1", "layer 3", 0.5, 0.56)  # covers the place above the selected mark
    figure = figures.head_scatter([*crowd, *others, above], "confidence", "loss", 3)
    (trace,) = (trace for trace in figure.data if trace.mode == "markers+text")
    assert trace.text[0] == "<b>1.3</b>" and trace.textposition[0] == "bottom center"
