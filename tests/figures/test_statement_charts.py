"""Tests of the charts of statements, and of properties that all line charts share."""

import json
import re

import pytest
import vl_convert

from figures import theme
from figures.curves import dots, learning_curves, line_chart, seed_lines
from figures.lines import Layout, Panel, Point, Rule, Series
from tests.figures.specs import labels, looks, rows, table, titles

STYLES = {"a": {"colour": 0, "dash": 0}, "b": {"colour": 1, "dash": 2}}
SEEDS = [{"name": name, "x": x, "value": x / 2 + seed, "seed": seed}
         for name in "ab" for x in (64, 128) for seed in (0, 2)]


def test_seeds_are_marks_around_their_mean_with_their_deviation():
    spec = seed_lines(SEEDS, "share", "tokens", STYLES, (3.0, "limit")).to_dict()
    assert table(spec) == {name: [(64, 33.0), (128, 65.0)] for name in "ab"}
    # the values of two seeds differ by 2, so their standard deviation is sqrt 2
    assert [row["spread"] for row in rows(spec, form="line")] == pytest.approx([2 ** 0.5] * 4)
    assert {(row["x"], row["y"], row["note"]) for row in rows(spec, form="dot", series="a")} == {
        (64, 32.0, "seed 0"), (64, 34.0, "seed 2"), (128, 64.0, "seed 0"), (128, 66.0, "seed 2")}
    assert labels(spec) == ["limit"] and titles(spec, "x") == ["tokens"] and titles(spec, "y") == ["share"]
    assert looks(spec) == {"a": (theme.colour(0), tuple(theme.DASHES[0])), "b": (theme.colour(1), (2, 3))}


def test_dots_have_a_row_for_each_name_and_a_look_for_each_origin():
    points = [{"name": "random", "value": 1.06, "which": "source"}, {"name": "random", "value": 1.21, "which": "here"},
              {"name": "dense", "value": 0.98, "which": "here"}]
    spec = dots(points, "ratio", (1.0, "equal")).to_dict()
    assert [(row["name"], row["which"], row["value"]) for row in rows(spec)] == [
        ("random", "source", 1.06), ("random", "here", 1.21), ("dense", "here", 0.98)]
    assert labels(spec) == ["equal"] and len(set(looks(spec).values())) == 2
    assert looks(spec)["source"][0] == theme.palette()["accent"]
    assert "dense, here: 0.98" in spec["description"]


def test_the_description_has_the_ends_of_each_line():
    spec = learning_curves([{"name": "a", "x": 50, "value": 5.25, "seed": 0},
                                   {"name": "a", "x": 400, "value": 3.5, "seed": 0}], "loss, nats", "steps",
                                  STYLES).to_dict()
    assert "loss, nats, a: 5.25 at 50, 3.5 at 400" in spec["description"]
    assert '"type": "log"' in json.dumps(spec)  # numbers of steps span powers of ten


def test_a_tooltip_has_the_values_of_all_series_at_a_place():
    spec = line_chart([Series("a"), Series("b", 1, 1)],
                      [Panel("share", [Point(0, 1, 0.5, 0.25), Point(0, 2, -0.125), Point(1, 2, 1.0)], percent=True)],
                      Layout("n"), "Shares").to_dict()
    assert spec["datasets"]["pointed0"] == [{"x": 1, "v0": "50% ± 25%", "v1": "–"}, {"x": 2, "v0": "−12.5%",
                                                                                   "v1": "100%"}]


def test_a_position_is_a_parameter_and_reference_lines_have_labels():
    spec = line_chart([Series("a")], [Panel("loss, nats", [Point(0, n, 1 / n) for n in (1, 2, 4)],
                                            rules=[Rule("trained", x=2), Rule("bound", y=0.5)])],
                      Layout("tokens", "log2", chooses=True, at=4), "Loss").to_dict()
    assert {"name": "at", "value": 4} in spec["params"] and spec["usermeta"]["chooses"]
    assert labels(spec) == ["trained", "bound"]
    vega = json.dumps(vl_convert.vegalite_to_vega(spec))
    assert re.search(r'"signal": "at"|datum\.x === at|datum\.x == at', vega)


def test_two_series_of_one_name_are_refused():
    with pytest.raises(ValueError, match="same name"):
        line_chart([Series("a"), Series("a")], [Panel("y")], Layout("x"), "Twice")


@pytest.mark.parametrize("name", ["light", "dark", "print"])
def test_each_theme_has_its_own_colours(name: theme.Theme):
    spec = seed_lines(SEEDS, "share", "tokens", STYLES, theme=name).to_dict()
    assert looks(spec)["a"][0] == theme.palette(name)["series"][0]
    assert spec["config"]["axis"]["titleColor"] == theme.palette(name)["ink"]
    assert set(theme.recolouring("dark").values()) <= {theme.colour(n, "dark") for n in range(8)} | {
        theme.palette("dark")[role] for role in theme.ROLES}
