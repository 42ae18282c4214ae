"""Statements about trainings come from cards and sweeps; verdicts.json has the verdicts of the stored measurements."""

import json
import sys
from pathlib import Path

import pytest

from models.errors import CheckpointError
from models.messages import Message, listed, message, plural_message
from models.tasks import masked
from models.training import sweeps
from studies import claims as module
from studies import per_text, seeds
from studies.claims import KEYS, judge, read, stored_text
from studies.claims.__main__ import main
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


def test_the_stored_verdicts_are_those_of_the_measurements():
    """To nine digits: the last of sixteen depend on the processor."""
    stored, computed = (json.loads(text, parse_float=lambda digits: f"{float(digits):.9g}") for text in (
        module.VERDICTS.read_text(encoding="utf-8"), json.dumps(module.as_json(judge.judge()))))
    assert stored == computed
    assert [claim.key for claim in read()] == list(KEYS)


@pytest.mark.parametrize("text", [
    "plain", message("plain"), message("{n:,} steps of {name}", n=4800, name=message("gates")),
    plural_message("{n} seed", "{n} seeds", 3), listed((message("{x:g}x", x=2.0), "b"), "; ")])
def test_a_sentence_keeps_its_parts(text: str):
    again = stored_text.load(json.loads(json.dumps(stored_text.dump(text))))
    assert again == text
    assert getattr(again, "template", again) == getattr(text, "template", text)
    assert getattr(again, "values", {}) == getattr(text, "values", {})


def test_a_sentence_without_values_is_translated_inside_another():
    """A value that is a sentence stays one; a value that is a plain string, such as a number, is never translated."""
    text = message("{name} of {n}", name=message("mean"), n="3")
    again = stored_text.load(json.loads(json.dumps(stored_text.dump(text))))
    assert (type(again.values["name"]), type(again.values["n"])) == (Message, str)
    # the field of a statement is a sentence even if it has no values, because the page puts it into another one
    assert isinstance(stored_text.load_text(stored_text.dump(message("mean"))), Message)


@pytest.mark.parametrize("text", [{}, {"text": 1}, {"text": 1, "values": {}}, {"text": "{n}", "values": {}},
                                  {"parts": 7}, None, 3])
def test_what_is_no_sentence_is_refused(text: object):
    with pytest.raises(ValueError, match="sentence"):
        stored_text.load_text(text)


@pytest.mark.parametrize("damage", [b"", b"[", b"{}", b"[{}]", b"null"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: bytes):
    (path := tmp_path / "verdicts.json").write_bytes(damage)
    with pytest.raises(CheckpointError, match="verdicts.json is damaged.*--write"):
        read(path)


def test_the_command_writes_what_it_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]):
    """Claims are read as they were written: messages keep their templates and values, which their strings lack."""
    monkeypatch.setattr(module, "VERDICTS", tmp_path / "verdicts.json")
    monkeypatch.setattr(sys, "argv", ["claims"])
    main()
    assert not (tmp_path / "verdicts.json").exists()
    monkeypatch.setattr(sys, "argv", ["claims", "--write"])
    main()
    again, claims = read(), judge.judge()
    assert again == claims and module.as_json(again) == module.as_json(claims)
    assert all(claim.title in capsys.readouterr().out for claim in read()[:1])
