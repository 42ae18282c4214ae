"""Tests of generation with limited memory, and of the perplexity curve."""

import json

import pytest

from app.lab.tools import cont
from models import load
from models.generate.decoding import Step
from models.storage.checkpoint import read_json, write_json
from studies import store
from studies.corpus.forgetting import largest_factor
from tests.app.test_pages import opened, sent


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


def test_counts_in_words():
    assert cont.counts([Step("a", False, ((0,), (0,)))]) == "Each layer keeps 1 of 1 tokens"
    some = [Step("a", False, ((0,), (0,)))] * 4 + [Step("a", False, ((0, 4), (0, 1, 4), (0, 1, 2, 4)))]
    assert cont.counts(some) == "Kept of 5: layer 1 2 · layer 2 3 · layer 3 4"


def test_measured_budgets_can_be_chosen(measurements):
    choices = cont.choices(load("stories-selective"))
    assert choices["Keep 1/4 of the tokens: 64, 64, 64, 64 by layer"] == (64,) * 4
    assert choices["Keep all tokens while writing"] == ()
    assert "1/1" not in " ".join(choices)


def test_the_curve(measurements):
    header = sent(opened(model="stories-selective", lab="all.memory"), "lab")[0]["tool"]
    text = json.dumps(header)
    assert header["key"] == "all.memory"
    assert "With 1/2 of its memory, its perplexity is no higher than softmax's" in text


def test_a_measurement_of_other_weights_is_not_shown(measurements, tmp_path):
    path = tmp_path / "stories-selective.memory.json"
    assert store.read("stories-selective", "memory")
    write_json(path, read_json(path) | {"metric": {"perplexity": 1.0}})
    assert store.read("stories-selective", "memory") is None


def test_only_measured_selective_models_have_the_curve(monkeypatch, tmp_path):
    def tools(model: str) -> list[str]:
        return [tool["key"] for tool in sent(opened(model=model), "lab")[0]["tools"]]

    assert "all.memory" in tools("stories-selective") and "all.memory" not in tools("stories-softmax")
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path)
    assert "all.memory" not in tools("stories-selective")
