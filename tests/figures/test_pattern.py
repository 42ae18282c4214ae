"""Tests of the large pattern and of the mask F in 3-D: their numbers, escaped tokens, and their largest size."""

import base64
import json
from pathlib import Path

import numpy
import pytest

import figures
import models
from figures.pattern import MOST
from figures.theme import palette

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


def test_files(tmp_path: Path):
    """The HTML of plotly loads nothing, and tokens end no script."""
    page = figures.save(figures.attention_pattern(numpy.eye(7), HOSTILE, HOSTILE), tmp_path / "a.html").read_text()
    assert "<script src" not in page and HOSTILE[0] not in page
