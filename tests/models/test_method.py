"""Statements about trainings come from cards, sweeps and measurements; cards have costs and origins."""

import json
import shutil
import sys
from pathlib import Path

import pytest
import torch
from tiny import make_model

import models
from models import catalogue
from models.messages import Message, listed, message, plural_message
from models.nets.attention import TYPES
from models.nets.transformer import Block
from models.storage import checkpoint
from models.storage.checkpoint import CARD_KEYS, CheckpointError, build, read_card, write_json
from models.tasks import TASKS, masked
from models.training import sweeps
from models.training.cards import cost, make_card
from models.training.recipes import RECIPES
from models.training.variants import VARIANTS, part_of_card
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


UNITS_SHARED, RANK = 128, 8


def multiplications(attention: str, c: int, h: int, n: int, factors: tuple[int, int]) -> int:
    """Returns the multiplications of one layer's scores for one text of n tokens, from the papers' formulas."""
    own = {"dot": 2 * n * c * c + n * n * c,  # two projections, then n² products of c / h numbers in each of h heads
           "random": 0, "fixed-random": 0, "factorized-random": h * n * n * RANK,
           "dense": n * c * c + n * c * n, "factorized-dense": n * c * c + n * c * sum(factors),
           "unit": n * c * UNITS_SHARED + n * n * UNITS_SHARED}
    own |= {"random-dense": own["dense"], "dense-softmax": own["dense"] + own["dot"], "random-softmax": own["dot"]}
    return own.get(attention, own["unit"] if attention.startswith("gau-") else own["dot"])


@pytest.mark.parametrize("name", RECIPES)
def test_cost_by_hand(name: str):
    """The sum of encoder and decoder, whose types can differ; gated units are beside half as many softmax layers."""
    config = RECIPES[name].config
    stacks = [(config.layers, getattr(config, "longest_target", config.trained_length)),
              (getattr(config, "encoder_layers", 0), config.trained_length)]
    factors = {512: (32, 16), 256: (16, 16), 128: (16, 8), 64: (8, 8), 49: (7, 7)}
    found, times = cost(config), 2 if name.endswith("wide") else 1
    halves = 2 if config.attention.startswith("gau-") else 1

    def expected(attention: str) -> int:
        return sum(layers * multiplications(attention, config.width, config.heads, n, factors.get(n, (0, 0)))
                   for layers, n in stacks)

    assert found["score_multiplications"] == times * expected(config.attention)
    assert found["softmax_score_multiplications"] == expected("softmax") // halves
    assert found["softmax_score_parameters"] == sum(layers for layers, _ in stacks) // halves * 2 * config.width**2
    with torch.device("meta"):
        sources = [block.attention.source for block in build(config).modules() if isinstance(block, Block)]
    assert found["score_parameters"] == sum(p.numel() for source in sources for p in source.parameters())


def test_a_card(attention: str, tmp_path: Path):
    """The card of an untrained tiny model has every entry that readers of cards use; only mixtures have alpha."""
    name = "assignment-softmax"
    run = tmp_path / "seed-0"
    run.mkdir()
    (run / "log.txt").write_text("step 50 loss 1.0 rate 1e-3 seconds 60 left 9\nstep 100 loss 1.0 seconds 90 left 0\n")
    (tmp_path / "seed-1").mkdir()
    write_json(tmp_path / "seed-1" / "card.json", {"metric": {"accuracy": 0.5}})
    model = make_model(attention, length=49)
    card = make_card(name, model, TASKS["assignment"].build(), run, 0, {"accuracy": 1.0})
    assert all(key in card for key in CARD_KEYS) and card["name"] == name
    kind = TYPES[attention]
    assert card["attention"] == {"title": kind.title, "formula": kind.formula, "source": kind.published}
    assert card["model"]["parameters"] == sum(p.numel() for p in model.parameters())
    assert card["model"]["longest_text"] == (49 if kind.source_type.is_limited else 128)
    assert card["training"]["minutes"] == 1.5 and card["other_seeds"] == {"1": {"accuracy": 0.5}}
    assert ("alpha" in card) == bool(kind.parts)
    if "alpha" in card:
        assert card["alpha"]["parts"] == list(kind.parts) and len(card["alpha"]["by_layer"]) == 2
        for row in card["alpha"]["by_layer"]:
            assert sum(row) == pytest.approx(1, abs=1e-3) and row != [0.5, 0.5]


def test_models_are_described_by_their_type_or_card_and_share_no_title():
    labels = [attention.label for attention in TYPES.values()]
    assert all(labels) and len(set(labels)) == len(labels)
    info = catalogue.find("stories-log-n")
    assert (info.title, info.label, info.base, info.style) == ("Log n", "log n", "", (2, 2))
    assert info.line == TYPES["log-n"].line
    info = catalogue.find("translation-pruned-60")
    assert (info.title, info.label, info.base) == ("Softmax · 60 heads left", "60 heads left", "translation-softmax")
    assert catalogue.find("stories-selective-memory").style != catalogue.find("stories-selective").style
    for name in models.names():
        family = [catalogue.find(other) for other in catalogue.family(name)]
        assert len({str(info.title) for info in family}) == len({str(info.label) for info in family}) == len(family)


@pytest.mark.parametrize("name", sorted({*VARIANTS} & {*models.names()}))
def test_cards_hold_the_descriptions_of_variants(name: str):
    assert read_card(checkpoint.CHECKPOINTS / name)["variant"] == part_of_card(name)["variant"]
    info = catalogue.find(name)
    assert info.base in catalogue.family(name) and not catalogue.find(info.base).base


def test_a_damaged_description_is_a_damaged_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    name = "stories-softmax-wide"
    shutil.copytree(checkpoint.CHECKPOINTS / name, tmp_path / name, ignore=shutil.ignore_patterns("*.safetensors"))
    path = tmp_path / name / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"variant": {"colours": 1}}))
    monkeypatch.setattr(checkpoint, "CHECKPOINTS", tmp_path)
    with pytest.raises(CheckpointError, match="card.json is damaged"):
        catalogue.find(name)
    assert catalogue.describe(name) is None and catalogue.describe("stories-nothing") is None
