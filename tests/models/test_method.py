"""The statements about trainings are computed from cards and sweeps."""

import json
from pathlib import Path

import pytest

from models.tasks import masked
from models.training import sweeps
from studies import per_text, seeds
from studies.claims import judge
from studies.claims.evidence import Evidence
from studies.zero_shot import blimp

ROOT = Path(__file__).parents[2]
METHOD = (ROOT / "docs" / "method.md").read_text(encoding="utf-8")


@pytest.fixture
def evidence(tmp_path: Path) -> Evidence:
    def card(name: str, **more: object) -> None:
        folder = tmp_path / "checkpoints" / name
        folder.mkdir(parents=True)
        (folder / "card.json").write_text(json.dumps({
            "training": {"steps": 4800, "seed": 0}, "weights": {"model.safetensors": "0123456789abcdef"},
            "metric": {"perplexity": 40.0, "tokens": 369_152}} | more))

    card("stories-softmax", curve={"step": [50, 4800], "validation_loss": [6.0, 3.5]})
    card("stories-dense")
    card("masked-softmax", metric={"tokens_per_length": 32_768, "draws": 3})
    for seed in (0, 1, 2):
        seeds.add("stories-softmax", 1200, seed, {"perplexity": 50.0}, tmp_path / "seeds")
    return Evidence(tmp_path / "checkpoints", tmp_path / "seeds", tmp_path)


def test_a_row_says_steps_seeds_texts_and_weights(evidence: Evidence):
    rows = {row["model"]: row for row in judge.trainings(evidence, (
        "stories-softmax", "masked-softmax", "stories-of-nobody"))}
    assert set(rows) == {"stories-softmax", "masked-softmax"}
    assert rows["stories-softmax"]["seeds"] == "1 seed of 4,800 steps; 3 seeds of 1,200 steps"
    assert rows["stories-softmax"]["measured on"] == "369,152 tokens"
    assert rows["stories-softmax"]["weights, SHA-256"] == "0123456789ab"
    assert rows["masked-softmax"]["measured on"] == "32,768 tokens per length × 3"


def test_curves_are_those_of_the_cards(evidence: Evidence):
    chart = judge.curves(evidence, ("stories-softmax", "stories-dense"))
    assert chart is not None and "stories-softmax after 4,800 steps 3.500" in chart.alt
    assert [(p["name"], p["x"], p["value"]) for p in chart.points] == [
        ("stories-softmax", 50, 6.0), ("stories-softmax", 4800, 3.5)]
    assert judge.curves(evidence, ("stories-dense",)) is None


def test_a_sweep_shows_every_rate_and_what_was_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sweeps, "SWEEPS", tmp_path)
    assert judge.sweep("stories") == []
    for rate, loss in ((4e-3, 5.0), (8e-3, 4.0), (16e-3, 4.5)):
        sweeps.add("stories", {"attention": "random", "learning_rate": rate, "table_rate": 10.0, "loss": loss})
    sweeps.add("stories", {"attention": "softmax", "learning_rate": 4e-3, "table_rate": 10.0, "loss": 6.0})
    for table, loss in ((3.0, 3.9), (30.0, 4.1)):
        sweeps.add("stories", {"attention": "random", "learning_rate": 8e-3, "table_rate": table, "loss": loss})
    for rate, loss in ((8e-3, 3.6), (4e-3, 3.5), (2e-3, 3.55)):
        sweeps.add("stories", {"attention": "dense", "learning_rate": rate, "table_rate": 10.0, "loss": loss,
                               "steps": sweeps.PLANS["stories"].second})
        sweeps.add("stories", {"attention": "dense", "learning_rate": 2 * rate, "table_rate": 10.0, "loss": loss + 1})
    # the second round of the sweep is not finished for random
    rows = {row["attention"]: row for row in judge.sweep("stories")}
    assert rows["dense"]["1,200 steps, rate 0.004"] == "3.500" and rows["random"]["1,200 steps, rate 0.004"] == "–"
    assert rows["dense"]["rate 0.008"] == "4.500" and rows["dense"]["chosen"] == "0.004"
    assert rows["random"]["rate 0.008"] == "4.000" and rows["random"]["tables 3×"] == "3.900"
    assert rows["random"]["chosen"] == "0.008, tables 3× (first round)"
    assert rows["softmax"]["rate 0.008"] == rows["softmax"]["chosen"] == "–"


def test_the_page_of_method_says_the_numbers_of_the_code():
    text = " ".join(METHOD.split())
    for phrase in (f"{per_text.DRAWS:,} times", f"{blimp.PAIRS} pairs of each",
                   f"{masked.STRETCH} of masked words", "three draws"):
        assert phrase in text
    assert masked.DRAWS == 3
