"""Charts and their files: every number, escaped tokens, themes, and the Vega script that the browser loads."""

import base64
import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy
import pytest
import vl_convert

import figures
import models
from figures import export, theme
from figures.curves import dots, learning_curves, line_chart, seed_lines
from figures.lines import Layout, Panel, Point, Rule, Series
from figures.pattern import MOST
from figures.theme import palette
from tests.figures.specs import labels, looks, rows, table, titles
from tools import vega

HOSTILE = "</script><img src=x onerror=alert(1)>"


def chart():
    return line_chart([Series(HOSTILE), Series("b", 1, 1)],
                      [Panel("loss, nats", [Point(0, 1, 0.5, 0.25), Point(0, 2, 0.25), Point(1, 2, 1.0)])],
                      Layout("tokens"), "Loss by length")


def test_csv_has_every_value_and_png_twice_the_size(tmp_path: Path):
    path = figures.save(chart(), tmp_path / "a.csv")
    head, *rows = csv.reader(io.StringIO(path.read_text("utf-8")))
    assert head == ["series", "tokens", "loss, nats", "±", "note"]
    assert rows == [[HOSTILE, "1", "0.5", "0.25", ""], [HOSTILE, "2", "0.25", "", ""], ["b", "2", "1.0", "", ""]]
    svg = ElementTree.parse(figures.save(chart(), tmp_path / "a.svg")).getroot()
    png = figures.save(chart(), tmp_path / "a.png").read_bytes()
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(png[16:20], "big") == pytest.approx(2 * float(svg.get("width") or 0), abs=2)


def test_svg_has_title_caption_and_a_link(tmp_path: Path):
    path = figures.save(chart(), tmp_path / "a.svg", caption=["Measured on 3 texts."], link="https://example.org/?a=1")
    root = ElementTree.parse(path).getroot()
    shown = ["".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"Loss by length", "Measured on 3 texts.", "https://example.org/?a=1", "tokens", "loss, nats"} <= set(shown)
    links = [its.get("{http://www.w3.org/1999/xlink}href") for its in root.iter("{http://www.w3.org/2000/svg}a")]
    assert links == ["https://example.org/?a=1"]


def test_html_is_one_file_without_requests_and_texts_end_no_script(tmp_path: Path):
    page = figures.save(chart(), tmp_path / "a.html").read_text("utf-8")
    assert "default-src 'none'" in page and HOSTILE not in page
    assert page.count("<script") == page.count("</script>") == 2 and "<script src" not in page
    page = figures.save(figures.attention_pattern(numpy.eye(7), TOKENS, TOKENS), tmp_path / "a.html").read_text()
    assert "<script src" not in page and HOSTILE not in page


def test_another_ending_and_two_series_of_one_name_are_refused(tmp_path: Path):
    with pytest.raises(ValueError, match=r"a\.gif: expected \.svg"):
        figures.save(chart(), tmp_path / "a.gif")
    with pytest.raises(ValueError, match="same name"):
        line_chart([Series("a"), Series("a")], [Panel("y")], Layout("x"), "Twice")


def test_the_script_is_that_of_the_pinned_version():
    assert export.vega_script() == export.script_path(vl_convert.get_vega_version())
    assert export.vega_script().read_text("utf-8") == vega.script(), "run python -m tools.vega"


TOKENS = [HOSTILE, "<b>x</b>", "&lt;", "$x$", "%{z}", "a\u202eb", " "]


def decoded(figure) -> numpy.ndarray:
    """Returns the values of the figure's only trace as the browser decodes them from its JSON, as float64."""
    z = json.loads(figure.to_json())["data"][0]["z"]
    flat = numpy.frombuffer(base64.b64decode(z["bdata"]), dtype=z["dtype"])
    return flat.reshape([int(side) for side in z["shape"].split(",")]).astype(numpy.float64)


@pytest.mark.parametrize("name", ["stories-softmax", "masked-softmax"])
def test_the_figure_has_every_weight_of_the_trace(name: str):
    trace = models.run(models.load(name), "Once upon a time there was a little girl")
    weights = trace.weights["self"][1, 2]
    figure = figures.attention_pattern(weights, trace.tokens, trace.tokens)
    assert (decoded(figure) == weights.astype(numpy.float64)).all()
    assert figure.layout.yaxis.autorange == "reversed"
    assert figure.layout.xaxis.title.text == "key token" and figure.layout.yaxis.title.text == "query token"
    assert figure.data[0].colorbar.title.text == "attention weight"


def test_the_surface_has_f_of_the_keys_before_each_query():
    trace = models.run(models.load("stories-selective"), "Once upon a time there was a little girl")
    figure = figures.mask_surface(trace.mask[2], trace.tokens)
    causal = numpy.tril(numpy.ones(trace.mask[2].shape, dtype=bool))
    assert trace.mask[2].max() > 0
    assert (decoded(figure)[causal] == trace.mask[2].astype(numpy.float64)[causal]).all()
    assert numpy.isnan(decoded(figure)[~causal]).all()
    assert list(figure.data[0].y) == list(range(1, len(trace.tokens) + 1))


def test_plotly_reads_no_markup_in_tokens():
    """Labels have entities on flat axes, and similar characters in 3-D, where plotly decodes no entities."""
    square = numpy.eye(len(TOKENS), dtype=numpy.float32)
    flat = figures.attention_pattern(square, TOKENS, TOKENS)
    assert list(flat.data[0].x) == list(flat.data[0].y) == [
        "1 &lt;/script&gt;&lt;img src=x …", "2 &lt;b&gt;x&lt;/b&gt;", "3 &amp;lt;", "4 &#36;x&#36;", "5 %{z}",
        "6 a⟨202e⟩b", "7 ␣"]
    labels = figures.mask_surface(square, TOKENS).data[0].x
    assert list(labels[:4]) == ["1 ‹/script›‹img src=x …", "2 ‹b›x‹/b›", "3 ＆lt;", "4 ＄x＄"]
    for figure in (flat, figures.mask_surface(square, TOKENS)):
        assert "%{x}" in figure.data[0].hovertemplate and "script" not in figure.data[0].hovertemplate


def test_equal_tokens_are_different_rows():
    names = figures.attention_pattern(numpy.eye(3), ["a", "a", "a"], ["a", "a", "a"]).data[0].x
    assert len(set(names)) == 3


def test_the_largest_pattern():
    largest = numpy.zeros((MOST, MOST), numpy.float32)
    tokens = ["a"] * (MOST + 1)
    assert decoded(figures.attention_pattern(largest, tokens[:MOST], tokens[:MOST])).shape == (512, 512)
    wider = numpy.zeros((MOST, MOST + 1), numpy.float32)
    with pytest.raises(ValueError, match="expected 1 to 512 queries and keys, found 512 and 513"):
        figures.attention_pattern(wider, tokens[:MOST], tokens)
    with pytest.raises(ValueError, match="do not fit"):
        figures.attention_pattern(largest, tokens, tokens)
    with pytest.raises(ValueError, match="found 0 and 0"):
        figures.mask_surface(numpy.zeros((0, 0)), [])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_of_the_theme(theme):
    figure = figures.attention_pattern(numpy.eye(2), ["a", "b"], ["a", "b"], theme=theme)
    assert [colour for _place, colour in figure.data[0].colorscale] == palette(theme)["sequential"]
    assert figure.layout.font.color == palette(theme)["ink"]


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


@pytest.mark.parametrize("name", ["light", "dark", "print"])
def test_each_theme_has_its_own_colours(name: theme.Theme):
    spec = seed_lines(SEEDS, "share", "tokens", STYLES, theme=name).to_dict()
    assert looks(spec)["a"][0] == theme.palette(name)["series"][0]
    assert spec["config"]["axis"]["titleColor"] == theme.palette(name)["ink"]
    assert set(theme.recolouring("dark").values()) <= {theme.colour(n, "dark") for n in range(8)} | {
        theme.palette("dark")[role] for role in theme.ROLES}
