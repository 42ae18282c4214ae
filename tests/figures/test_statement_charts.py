"""Tests of the charts on the Results page, and of properties that all line charts share.

pytest tests/figures/test_statement_charts.py
"""

from __future__ import annotations

import json
import re

import pytest
import vl_convert

from figures import save, theme
from figures.curves import claims
from figures.line_charts import line_chart
from figures.lines import Layout, Panel, Point, Rule, Series, of_model
from models import catalogue
from tests.figures.specs import labels, looks, rows, scale, table, titles

STYLES = {"a": {"colour": 0, "dash": 0}, "b": {"colour": 1, "dash": 2}}
SEEDS = [{"name": name, "x": x, "value": x / 2 + seed, "seed": seed}
         for name in "ab" for x in (64, 128) for seed in (0, 2)]


def test_seeds_are_marks_around_their_mean_with_their_deviation():
    spec = claims.seed_lines(SEEDS, "share", "tokens", STYLES, (3.0, "limit")).to_dict()
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
    spec = claims.dots(points, "ratio", (1.0, "equal")).to_dict()
    assert [(row["name"], row["which"], row["value"]) for row in rows(spec)] == [
        ("random", "source", 1.06), ("random", "here", 1.21), ("dense", "here", 0.98)]
    assert labels(spec) == ["equal"] and len(set(looks(spec).values())) == 2
    assert looks(spec)["source"][0] == theme.palette()["accent"]
    assert "dense, here: 0.98" in spec["description"]


LOOKS = {"holds": theme.Look(2, "circle", True), "fails": theme.Look(6, "square", False),
         "open": theme.Look("faint", "cross", True)}
WORDS = {"text": "statement", "source": "source", "ours": "here", "verdict": "verdict"}


def stated(claim: str, key: str, text: str, verdict: str) -> dict[str, str]:
    return {"claim": claim, "short": claim[:1], "key": key, "text": text, "source": "1", "ours": "2",
            "verdict": verdict, "meaning": f"{verdict}, in words"}


STATED = [stated("Alpha", "a-x", "Short.", "holds"),
          stated("Alpha", "a-y", "A sentence that is much too long for one line of a phone, so it has two.", "holds"),
          stated("Beta", "b-x", "从不训练的固定随机分数，效果明显比其他所有类型都差，而且差很多。", "fails")]


@pytest.mark.parametrize("form", ["wide", "narrow"])
def test_each_statement_has_a_row_below_the_title_of_its_verdict(form: str):
    spec = claims.statements(STATED, "All", LOOKS, WORDS).to_dict()
    heads, its = spec["datasets"]["heads0"], rows(spec)
    assert [head["text"] for head in heads] == ["holds (2)", "fails (1)"]
    assert [row["key"] for row in its] == ["a-x", "a-y", "b-x"]
    places = [heads[0], its[0], its[1], heads[1], its[2]]
    middles = [place[f"{form}_middle"] for place in places]
    assert middles == sorted(set(middles))
    for row in its:
        assert row[f"{form}_top"] < row[f"{form}_middle"] < row[f"{form}_bottom"]
    bottoms = [row[f"{form}_bottom"] for row in its]
    assert its[1][f"{form}_top"] == bottoms[0] and its[2][f"{form}_top"] > bottoms[1]
    narrow = claims.statements.spec(STATED, "All", LOOKS, WORDS)["usermeta"]["narrow"]["frame"]
    assert {"wide": spec, "narrow": narrow}[form]["height"] == bottoms[-1]


def test_the_mark_is_beside_the_word_of_the_verdict_in_both_forms():
    spec = claims.statements(STATED, "All", LOOKS, WORDS).to_dict()
    its = rows(spec)
    assert [row["word"] for row in its] == ["holds · A", "holds · A", "fails · B"]
    assert [row["verdict_lines"] for row in its] == ["holds\nA", "holds\nA", "fails\nB"]
    for row in its:  # the mark is beside the first line, the verdict
        assert all(row[f"{form}_middle"] - row[f"{form}_top"] == claims.ROW / 2 for form in ("wide", "narrow"))
    narrow = claims.statements.spec(STATED, "All", LOOKS, WORDS)["usermeta"]["narrow"]["frame"]
    assert "word" in json.dumps(narrow) and "verdict_lines" in json.dumps(spec)
    for form in (spec, narrow):  # a chevron at the end of each row shows that a click opens something
        (chevron,) = (layer for layer in form["layer"] if layer.get("encoding", {}).get("text", {}).get("value") == "›")
        assert chevron["mark"]["cursor"] == "pointer" and chevron["encoding"]["x"] == {"value": "width"}


def test_verdicts_differ_in_shape_and_the_legend_counts_them():
    spec = claims.statements(STATED, "All", LOOKS, WORDS).to_dict()
    assert scale(spec, "shape") == {"holds (2)": "circle", "fails (1)": "square"}  # no statement is open
    assert scale(spec, "fill") == {"holds (2)": theme.colour(2), "fails (1)": "transparent"}
    assert [row["label"] for row in rows(spec)] == ["holds (2)", "holds (2)", "fails (1)"]
    assert spec["description"] == "All. holds: 2; fails: 1."
    assert spec["usermeta"]["picks"] == "key"
    assert spec["usermeta"]["table"] == [["short", "claim"], ["text", "statement"], ["source", "source"],
                                         ["ours", "here"], ["verdict", "verdict"]]


def test_a_statement_is_broken_into_lines_for_a_narrow_page():
    first, second, chinese = (row["lines"].split("\n") for row in rows(claims.statements(STATED, "All", LOOKS,
                                                                                       WORDS).to_dict()))
    assert first == ["Short."]
    assert second == ["A sentence that is much too long for one", "line of a phone, so it has two."]
    assert "".join(chinese) == STATED[2]["text"]
    assert len(chinese) == 2 and all(2 * len(line) <= claims.CHARACTERS + 2 for line in chinese)
    assert not chinese[1].startswith("，")


def test_the_picture_of_all_statements_is_a_file(tmp_path):
    path = save(claims.statements(STATED, "All", LOOKS, WORDS), tmp_path / "all.svg")
    svg = path.read_text("utf-8")
    assert all(row["text"] in svg or row["text"][:20] in svg for row in STATED) and "here" in svg


def test_the_description_has_the_ends_of_each_line():
    spec = claims.learning_curves([{"name": "a", "x": 50, "value": 5.25, "seed": 0},
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


def test_a_model_has_the_style_of_its_description():
    info = catalogue.describe("stories-selective")
    assert info is not None
    one = of_model("stories-selective")
    assert (one.name, (one.colour, one.dash)) == (info.label, info.style)
    assert of_model("stories-selective", 1).dash != one.dash


@pytest.mark.parametrize("name", ["light", "dark", "print"])
def test_each_theme_has_its_own_colours(name: theme.Theme):
    spec = claims.seed_lines(SEEDS, "share", "tokens", STYLES, theme=name).to_dict()
    assert looks(spec)["a"][0] == theme.palette(name)["series"][0]
    assert spec["config"]["axis"]["titleColor"] == theme.palette(name)["ink"]
    assert set(theme.recolouring("dark").values()) <= {theme.colour(n, "dark") for n in range(8)} | {
        theme.palette("dark")[role] for role in theme.ROLES}
