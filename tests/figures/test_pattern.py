"""Tests of the large pattern and of the mask F in 3-D: their numbers, the escaping of tokens, and their largest size.

    pytest tests/figures/test_pattern.py
"""

from __future__ import annotations

import base64
import csv
import io
import json
from pathlib import Path

import numpy
import pytest

import figures
import models
from figures.pattern import MOST, MOST_SQUARES
from figures.theme import palette
from tests.figures.specs import rows

HOSTILE = ["</script><img src=x onerror=alert(1)>", "<b>x</b>", "&lt;", "$x$", "%{z}", "a\u202eb", " "]


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
    square = numpy.eye(len(HOSTILE), dtype=numpy.float32)
    flat = figures.attention_pattern(square, HOSTILE, HOSTILE)
    assert list(flat.data[0].x) == list(flat.data[0].y) == [
        "1 &lt;/script&gt;&lt;img src=x …", "2 &lt;b&gt;x&lt;/b&gt;", "3 &amp;lt;", "4 &#36;x&#36;", "5 %{z}",
        "6 a⟨202e⟩b", "7 ␣"]
    labels = figures.mask_surface(square, HOSTILE).data[0].x
    assert list(labels[:4]) == ["1 ‹/script›‹img src=x …", "2 ‹b›x‹/b›", "3 ＆lt;", "4 ＄x＄"]
    for figure in (flat, figures.mask_surface(square, HOSTILE)):
        assert "%{x}" in figure.data[0].hovertemplate and "script" not in figure.data[0].hovertemplate


def test_small_multiples_have_one_scale_and_plain_titles():
    weights = numpy.random.default_rng(0).random((5, 3, 4), numpy.float32)
    figure = figures.head_patterns(weights, [f"<b>{i}</b>$" for i in range(5)], ["a", "b", "c"], ["a", "b", "c", "d"])
    assert len(figure.data) == 5 and {data.zmax for data in figure.data} == {float(weights.max())}
    assert [figure.data[i].z.tolist() for i in range(5)] == weights.tolist()
    assert figure.layout.annotations[1].text == "&lt;b&gt;1&lt;/b&gt;&#36;"
    assert [data.xaxis for data in figure.data] == ["x", "x2", "x3", "x4", "x5"]  # four in a row
    for heads, names in ((17, 17), (2, 3), (0, 0)):
        with pytest.raises(ValueError, match="expected 1 to 16 heads"):
            figures.head_patterns(numpy.zeros((heads, 2, 2)), ["x"] * names, ["a", "b"], ["a", "b"])
    with pytest.raises(ValueError, match="expected 1 to 128"):
        figures.head_patterns(numpy.zeros((1, 129, 2)), ["x"], ["a"] * 129, ["a", "b"])


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
    with pytest.raises(ValueError, match="expected 1 to 64"):
        figures.pattern_squares(largest[:65, :65], tokens[:65], tokens[:65], "Pattern")
    assert MOST_SQUARES == 64


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_of_the_theme(theme):
    figure = figures.attention_pattern(numpy.eye(2), ["a", "b"], ["a", "b"], theme=theme)
    assert [colour for _place, colour in figure.data[0].colorscale] == palette(theme)["sequential"]
    assert figure.layout.font.color == palette(theme)["ink"]


def test_files(tmp_path: Path):
    """The table has a row per weight; the HTML of plotly loads nothing, and tokens end no script."""
    weights = numpy.array([[1.0, 0.0], [0.25, 0.75]], numpy.float32)
    squares = figures.pattern_squares(weights, [HOSTILE[1], "b"], [HOSTILE[1], "b"], "Pattern")
    head, *found = csv.reader(io.StringIO(figures.save(squares, tmp_path / "a.csv").read_text("utf-8")))
    assert head == ["query token", "key token", "attention weight"]
    assert found == [["1 <b>x</b>", "1 <b>x</b>", "1.0"], ["1 <b>x</b>", "2 b", "0.0"], ["2 b", "1 <b>x</b>", "0.25"],
                     ["2 b", "2 b", "0.75"]]
    assert len(rows(squares.to_dict())) == 4
    assert squares.description.startswith("Pattern. Largest weights: query 1 <b>x</b>, key 1 <b>x</b>: 1; query 2 b, ")
    page = figures.save(figures.attention_pattern(numpy.eye(7), HOSTILE, HOSTILE), tmp_path / "a.html").read_text()
    assert "<script src" not in page and HOSTILE[0] not in page
