"""Training of encoder-decoders: the loss per token, label smoothing, disagreement, interruption, recipes."""

import json
import math
import shutil
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import OutageError, Stopping
from torch.testing import assert_close

import models
from models import loading
from models.generate.decoding import generator
from models.kind import CROSS, DECODER, ENCODER
from models.nets.attention.base import Record
from models.nets.config import END, PADDING, PairConfig
from models.nets.disagreement import TERMS, disagreement
from models.nets.seq2seq import Seq2Seq
from models.storage import checkpoint
from models.storage.checkpoint import build, read_card, read_model
from models.tasks.base import Batch, Pairs
from models.tasks.pairs import as_batch
from models.tasks.translation import TranslationCorpus
from models.training import cards, evaluate, sweeps, trainer
from models.training.recipes import RECIPES, PairRecipe, task_of
from models.training.trainer import batch_loss, objective_of, train, validation_loss
from studies import prune_heads, store

V, N = 10, 7
RECIPE = PairRecipe(PairConfig("softmax", V, 16, 1, 2, trained_length=N, encoder_layers=1), steps=6, learning_rate=1e-2,
                    warmup=2, initial_std=0.3, embedding_std=1.0)
CPU = torch.device("cpu")
EXACTLY = {"rtol": 0, "atol": 0}


class Backwards:
    """A task whose target is the reversed text; texts have several lengths."""

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        random = generator(seed, step)
        rows = torch.full((16, 2, N), PADDING)
        for row in range(16):
            count = int(torch.randint(2, N - 1, (), generator=random))
            words = torch.randint(3, V, (count,), generator=random)
            rows[row, 0, :count + 2] = torch.cat((torch.tensor([0]), words, torch.tensor([END])))
            rows[row, 1, :count + 1] = torch.cat((words.flip(0), torch.tensor([END])))
        return as_batch(rows.flatten(1), N)

    def validation(self, times: int = 1) -> list[Batch]:
        return [self.batch(step, 0, 999) for step in range(times)]


def make_model(dropout: float = 0.0) -> Seq2Seq:
    torch.manual_seed(3)
    return Seq2Seq(RECIPE.config, 0.3, 1.0, dropout)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_token_by_token(smoothing: float):
    """-(1 - s) ln p(right) - s mean of ln p (Szegedy et al. 2016, section 7); padding does not count."""
    model, batch = make_model(), Backwards().batch(0, 1, 1)
    probabilities = model.logits(model(batch.texts, batch.tokens)).softmax(-1).tolist()
    losses = []
    for row, targets in enumerate(batch.targets.tolist()):
        for place, target in enumerate(targets):
            if target >= 0:
                logs = [math.log(p) for p in probabilities[row][place]]
                losses.append(-(1 - smoothing) * logs[target] - smoothing * math.fsum(logs) / V)
    objective = objective_of(replace(RECIPE, label_smoothing=smoothing))
    assert batch_loss(model, batch, objective).item() == pytest.approx(math.fsum(losses) / len(losses), rel=1e-5)
    assert len(losses) < batch.targets.numel()
    if not smoothing:
        assert batch_loss(model, batch).item() == pytest.approx(math.fsum(losses) / len(losses), rel=1e-5)


@pytest.mark.parametrize("terms", [*((term,) for term in TERMS), TERMS])
def test_disagreement_is_maximised(terms: tuple[str, ...]):
    """For each term it is the mean over the layers of all blocks."""
    model, batch = make_model(), Backwards().batch(0, 1, 1)
    records: dict[str, list[Record]] = {ENCODER: [], DECODER: [], CROSS: []}
    model(batch.texts, batch.tokens, records=records)
    text, target = batch.texts != PADDING, batch.tokens != PADDING
    rows = {ENCODER: (text, text), DECODER: (target, target), CROSS: (target, text)}
    expected = sum(disagreement(its[0], term, *rows[kind]).item() / 3
                   for kind, its in records.items() for term in terms)
    plain, found = (batch_loss(model, batch, objective_of(replace(RECIPE, disagreement=its, disagreement_weight=0.7)))
                    for its in ((), terms))
    assert (plain - found).item() == pytest.approx(0.7 * expected, rel=1e-4) and expected < 0


@pytest.mark.parametrize("dropout, terms", [(0.0, ()), (0.3, ()), (0.3, ("out",))])
def test_training_that_stops_ends_the_same(dropout: float, terms: tuple, tmp_path: Path,
                                           monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trainer, "SAVE_EVERY", 0.0)
    recipe = replace(RECIPE, muon=True, dropout=dropout, disagreement=terms)
    whole = train(recipe, Backwards(), tmp_path / "whole", 5, CPU)
    with pytest.raises(OutageError):
        train(recipe, Stopping(Backwards(), 3), tmp_path / "parts", 5, CPU)
    parts = train(recipe, Backwards(), tmp_path / "parts", 5, CPU)
    assert_close(parts.state_dict(), whole.state_dict(), **EXACTLY)
    other = train(replace(recipe, dropout=0.0), Backwards(), tmp_path / "other", 5, CPU)
    assert torch.equal(other.encoder[0].up.weight, whole.encoder[0].up.weight) == (dropout == 0)


def test_validation_leaves_nothing_out():
    """Validation uses neither label smoothing nor dropout, and does not change the training that follows it."""
    model = make_model(dropout=0.5).train()
    found = validation_loss(model, Backwards(), 2)
    assert model.training and found == validation_loss(model, Backwards(), 2)
    model.eval()
    batches = Backwards().validation(2)
    sums = [int((batch.targets >= 0).sum()) for batch in batches]
    expected = sum(batch_loss(model, batch).item() * count for batch, count in zip(batches, sums, strict=True))
    assert found == pytest.approx(expected / sum(sums), rel=1e-5)


def test_a_tiny_problem_is_learnt(tmp_path: Path):
    """Reversing a text needs all three blocks; with a disagreement term the heads differ more."""
    found = {}
    for terms in ((), ("out",)):
        recipe = replace(RECIPE, steps=250, learning_rate=1e-2, warmup=20, dropout=0.0, label_smoothing=0.0,
                         disagreement=terms)
        model = train(recipe, Backwards(), tmp_path / str(len(terms)), 0, CPU)
        batch = Backwards().batch(10_000, 0, 0)
        loss = batch_loss(model, batch)
        with_term = batch_loss(model, batch, objective_of(replace(recipe, disagreement=("out",))))
        found[terms] = (loss - with_term).item()
        assert loss.item() < 0.5 * math.log(V - 3)
    assert found["out",] > found[()] + 0.05


def test_recipes():
    """They differ only in attention, disagreement terms and swept rates; the first has more steps."""
    names = [name for name in RECIPES if name.startswith("translation-")]
    softmax, longer = RECIPES["translation-softmax-one-pass"], RECIPES["translation-softmax"]
    assert len(names) == 10 and isinstance(softmax, PairRecipe)
    assert softmax.steps < longer.steps and replace(longer, steps=softmax.steps, warmup=softmax.warmup) == softmax
    for name in names:
        recipe = RECIPES[name]
        assert isinstance(recipe, PairRecipe) and recipe.compiled and recipe.config.encoder_layers == 3
        swept = sweeps.chosen("translation", recipe.config.attention) or {"learning_rate": 4e-3, "table_rate": 10.0}
        assert {rate: getattr(recipe, rate) for rate in swept} == swept
        rates = {rate: getattr(softmax, rate) for rate in ("learning_rate", "table_rate")}
        assert replace(recipe, config=softmax.config, disagreement=(), **rates) == \
            (longer if name == "translation-softmax" else softmax)
        assert recipe.disagreement_weight == 1.0
        task = task_of(name).reader
        assert (recipe.config.vocabulary, recipe.config.trained_length) == (task.vocabulary, task.trained_length)
        with torch.device("meta"):
            assert 3e6 < build(recipe.config).parameter_count() < 4.5e6
    terms = {name.removeprefix("translation-disagreement-"): RECIPES[name].disagreement for name in names
            if "disagreement" in name}
    assert terms == {"sub": ("sub",), "pos": ("pos",), "out": ("out",), "all": TERMS}


def test_states_of_other_families_go_on():
    """Their saved states can be resumed, because the string form of their recipes is unchanged."""
    text = repr(RECIPES["stories-softmax"])
    assert text.startswith("Recipe(config=Config(") and "smoothing" not in text and "encoder" not in text
    assert isinstance(Backwards().batch(0, 1, 0), Pairs)


def test_a_finished_model_can_be_loaded_and_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                     capsys: pytest.CaptureFixture[str]):
    """A new measurement equals the card's; then gates are learned, and weights without the pruned heads written."""
    name, folder = "translation-random-softmax", tmp_path / "shipped"
    small = replace(RECIPES[name].config, width=32, layers=1, encoder_layers=2, heads=4)
    monkeypatch.setitem(RECIPES, name, replace(RECIPES[name], config=small, steps=2, compiled=False))
    pairs = [(f"Number {i} is here.", f"Nummer {i} ist hier.") for i in range(600)]
    monkeypatch.setattr(TranslationCorpus, "pairs", lambda _, split: pairs if split == "train" else pairs[:5])
    monkeypatch.setattr(cards, "CONSTANT_PAIRS", 40)
    monkeypatch.setattr(TranslationCorpus, "step_tokens", 200)
    monkeypatch.setattr("models.generate.seq2seq_decoding.longest_of", lambda *_: 12)
    for module in (checkpoint, prune_heads, store):
        monkeypatch.setattr(module, "CHECKPOINTS", folder)
    runs = ["--runs", str(tmp_path / "runs")]
    monkeypatch.setattr("sys.argv", ["training", name, *runs, "--target", str(folder)])
    trainer.main()
    card = read_card(folder / name)
    assert card["model"] == {"parameters": build(small).parameter_count(), "layers": 1, "encoder_layers": 2, "heads": 4,
                             "width": 32, "vocabulary": 4000, "longest_text": 64}
    assert card["training"]["label_smoothing"] == 0.1 and card["training"]["steps"] == 2
    assert len(card["alpha"]["by_layer"]) == 3 and list(card["metric"])[0] == "bleu"
    assert card["curve"]["step"] == [2] and "Tatoeba" in card["data"][0]["name"]
    monkeypatch.setattr(loading, "_held", OrderedDict())
    loaded = models.load(name)
    trace = models.run(loaded, "Number 3 is here.", models.HeadPlan().constant("cross", 0, 1).constant("encoder", 1, 0))
    assert trace.weights["cross"].shape[:2] == (1, 4) and loaded.constant["encoder"].shape == (2, 4, 64, 64)

    monkeypatch.setattr("sys.argv", ["evaluate", name, *runs])
    monkeypatch.setattr(evaluate, "names", lambda: [name])
    capsys.readouterr()
    evaluate.main()
    assert json.loads(capsys.readouterr().out) == {"name": name} | card["metric"]

    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path / "measurements")
    monkeypatch.setattr("sys.argv", ["pruned", "--model", name, "--kinds", "cross", "encoder", "--strengths", "0",
                                     "0.001", "9", "--steps", "50", "--sentences", "3", *runs])
    prune_heads.main()
    shutil.rmtree(tmp_path / "runs" / name / "gates-encoder-cross-0.001-seed-0")
    monkeypatch.setattr("sys.argv", ["pruned", "--model", name, "--kinds", "cross", "encoder", "--strengths", "9",
                                     "--steps", "50", *runs])
    prune_heads.main()  # these results are added to the results of other machines
    found = store.read(name, "gates", checkpoints=folder)
    series, (control,) = found["series"], found["controls"]
    assert [(its["strength"], its["kinds"]) for its in series] == [(0.001, ["encoder", "cross"]),
                                                                   (9.0, ["encoder", "cross"])]
    assert (control["strength"], control["heads_left"], control["plan"]) == (0.0, {"encoder": 8, "cross": 4}, "")
    assert series[1]["heads_left"] == {"encoder": 0, "cross": 0} and series[0]["heads_left"]["encoder"] > 0
    assert series[1]["sentences"] == 3 and len(models.HeadPlan.parse(series[1]["plan"]).heads) == 12
    study = tmp_path / "measurements" / f"{name}.gates.json"
    study.write_text("{")
    with pytest.raises(SystemExit):  # a damaged file with the results of other machines is not overwritten
        prune_heads.main()
    assert study.read_text() == "{" and "is damaged" in capsys.readouterr().err
    study.unlink()
    closed = read_model(tmp_path / "runs" / name / "gates-encoder-cross-9-seed-0" / "model")
    assert not any(closed.attentions(kind)[0].output.weight.any() for kind in ("encoder", "cross"))
    assert closed.attentions("decoder")[0].output.weight.any()

    shipped = "translation-pruned-4"
    monkeypatch.setitem(prune_heads.SHIPPED, shipped, prune_heads.Pruning(name, ("encoder", "cross"), 9.0, 50))
    monkeypatch.setattr("sys.argv", ["pruned", "--model", name, "--ship", shipped, *runs])
    prune_heads.main()
    own = read_card(folder / shipped)
    assert own["training"]["heads_left"] == {"encoder": 0, "cross": 0} and own["training"]["start"] == name
    assert own["metric"].keys() == card["metric"].keys() and own["weights"] != card["weights"] and "curve" not in own
    its = models.load(shipped)
    assert its.closed == {(kind, layer, head) for kind, layers in (("encoder", 2), ("cross", 1))
                          for layer in range(layers) for head in range(4)} and not loaded.closed
    weights = (folder / shipped / "model.safetensors").read_bytes()
    assert weights == (tmp_path / "runs" / name / "gates-encoder-cross-9-seed-0/model/model.safetensors").read_bytes()
