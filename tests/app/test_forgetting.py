"""Tests of generation with limited memory on the Explore page, and of the perplexity curve below it.

    pytest tests/app/test_forgetting.py
"""

from __future__ import annotations

import pytest

from app.panels.writing import forgetting
from figures.curves.pruning import memory_curves
from models import load
from models.generate.decoding import Step
from models.storage.checkpoint import read_json, write_json
from studies import store
from studies.corpus.forgetting import largest_factor
from tests.app.test_pages import all_sent, opened
from tests.figures.specs import table


def points_of(way: str, *factors: int, worse: float = 0.0) -> list[dict]:
    return [{"way": way, "factor": factor, "perplexity": 20.0 + factor + worse, "perplexity_books": 30.0,
             "perplexity_stories": 10.0, "budgets": [256 // factor] * 4, "kept_share": 1 / factor}
            for factor in factors]


@pytest.mark.parametrize(("curve", "limit", "factor"), [
    ({}, 11, 0), ({1: 10}, 9, 0), ({1: 10, 2: 10.5, 4: 11.5, 8: 10}, 11, 2), ({8: 10, 1: 10}, 11, 8)])
def test_the_largest_factor(curve: dict[float, float], limit: float, factor: float):
    assert largest_factor(curve, limit) == factor


SELECTIVE = {"name": "stories-selective", "points": points_of("chosen", 1, 2, 4),
             "comparisons": points_of("equal", 2, 4) + points_of("equal-oldest", 2, 4)}
CONTROL = {"name": "stories-softmax", "points": points_of("chosen", 1, 2, 4, worse=1.5),
           "comparisons": points_of("equal", 2, 4, worse=1.5)}


@pytest.fixture
def measurements(tmp_path, monkeypatch):
    """Writes measurements of a selective model and of the softmax control, which is slightly worse with full memory."""
    for curves in (SELECTIVE, CONTROL):
        name = str(curves["name"])
        write_json(tmp_path / f"{name}.memory.json", curves | {
            "window": 256, "windows": 64, "validation_windows": 24, "cpu_seconds": 1,
            "metric": load(name).card["metric"], "command": f"python -m studies.corpus.forgetting {name}"})
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)


def readings(tokens: list[str], kept: tuple[int, ...], prompt: int) -> list[Step]:
    return [Step(token, place >= prompt, (kept,)) for place, token in enumerate(tokens)]


def test_what_is_forgotten_is_struck():
    tokens = ["start", "Once", " upon", " a", " time", ",", "\n", "he"]
    assert forgetting.struck(readings(tokens, (0, 1, 5, 7), 5), 0) == \
        r"\(start\) Once :gray[~~upon a time~~] …, he"


def test_nothing_in_a_text_is_markdown():
    tokens = ["start", "<b>", "[x](javascript:1)", " :smile:", " $x$", " www.a.b", "`c`", "~~", "#", " me@a.b"]
    for kept in ((0,), tuple(range(len(tokens)))):
        text = forgetting.struck(readings(tokens, kept, 99), 0)
        for unwanted in ("<b>", "](", ":smile:", "$x$", "www.", "www\\.", "`c`", "me@a"):
            assert unwanted not in text


def test_counts_in_words():
    assert forgetting.counts([Step("a", False, ((0,), (0,)))]) == "Each layer keeps 1 of 1 tokens"
    some = [Step("a", False, ((0,), (0,)))] * 4 + [Step("a", False, ((0, 4), (0, 1, 4), (0, 1, 2, 4)))]
    assert forgetting.counts(some) == "Tokens kept of 5: layer 1 2 · layer 2 3 · layer 3 4"


def written(**link: str):
    """Returns the page after a continuation with a memory of 8 tokens per layer."""
    app = opened(model="stories-selective", **link)
    app.selectbox(key="memory").set_value("Keep 8 tokens per layer while writing").run()
    for _ in range(100):
        if app.button(key="continue").label != "Stop":
            return app
        app.run()
    raise AssertionError("it never ends")


def test_continuation_within_a_memory():
    app = written(plan="self-0.1g0", at="2.0")
    assert not app.exception
    captions = [caption.value for caption in app.caption]
    assert len(app.text) == 2 and captions.index("Unmodified") < captions.index("With your changes")
    assert any(caption.value.startswith("With your changes. Each layer keeps 8 of ") for caption in app.caption)
    reads = [markdown.value for markdown in app.markdown if markdown.value.startswith("**Layer 3 reads:**")]
    assert reads and ":gray[~~" in reads[0]


def test_a_memory_is_written_with_at_once():
    app = opened(model="stories-selective")
    assert not app.text
    for budget in (8, 4):
        app.selectbox(key="memory").set_value(f"Keep {budget} tokens per layer while writing").run()
        assert not app.exception
        assert any(caption.value.startswith("Unmodified") for caption in app.caption) and app.text
        assert f"Each layer keeps {budget} of" in " ".join(caption.value for caption in app.caption)


def test_no_two_controls_have_one_name():
    app = opened(model="stories-selective")
    names = [*(box.label for box in app.selectbox), *app.selectbox(key="section").options]
    assert len(names) == len(set(names))


def test_measured_budgets_can_be_chosen(measurements):
    choices = forgetting.choices(load("stories-selective"))
    assert choices["Keep 1/4 of the tokens while writing: 64, 64, 64, 64 by layer"] == (64,) * 4
    assert choices["Keep all tokens while writing"] == ()
    assert "1/1" not in " ".join(choices)


def test_the_curve(measurements):
    app = opened(model="stories-selective")
    app.selectbox(key="section").set_value("memory").run()
    assert not app.exception
    text = " ".join(markdown.value for markdown in app.markdown)
    assert "With 1/2 of its memory, its perplexity is no higher than that of softmax" in text
    ((header, _),) = all_sent(app, "figure")
    assert header["what"] == "memory"


def test_a_measurement_of_other_weights_is_not_shown(measurements, tmp_path):
    path = tmp_path / "stories-selective.memory.json"
    assert store.read("stories-selective", "memory")
    write_json(path, read_json(path) | {"metric": {"perplexity": 1.0}})
    assert store.read("stories-selective", "memory") is None


def test_the_curves_points():
    rows = forgetting.points(SELECTIVE, CONTROL)
    lines = table(memory_curves(rows).to_dict())
    assert len(lines) == 5
    for name, points in lines.items():
        assert points == [(row["factor"], row["perplexity"]) for row in rows if row["line"] == name]
        assert points[0][0] == 1  # every line starts at full memory, factor 1


def test_a_model_that_was_never_measured(monkeypatch, tmp_path):
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)
    app = opened(model="stories-selective")
    app.selectbox(key="section").set_value("memory").run()
    assert not app.exception
    assert any("Not measured yet" in caption.value for caption in app.caption)


def test_only_selective_models_have_a_memory():
    app = opened(model="stories-selective")
    app.selectbox(key="memory").set_value("Keep 8 tokens per layer while writing").run()
    app.selectbox(key="section").set_value("memory").run()
    app.session_state["visit"].history.go_to_model("stories-softmax")
    app.run()
    assert not app.exception
    assert "memory" not in [box.key for box in app.selectbox]
    assert "Experiment: Forgetting" not in app.selectbox(key="section").options
