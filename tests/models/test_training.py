"""Training: an interrupted run ends with the same weights, the learning rate follows its schedule."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from tiny import OutageError, Stopping, with_attention
from torch.testing import assert_close

from models.generate.decoding import generator
from models.nets.attention import TYPES
from models.nets.attention.base import Record
from models.nets.attention.selective import memory_in_use
from models.nets.config import Config
from models.nets.transformer import Transformer
from models.storage.checkpoint import CHECKPOINTS, read_card, read_json, read_model
from models.tasks import assignment
from models.tasks.base import Batch
from models.training import resume, trainer
from models.training.muon import Muon
from models.training.recipes import RECIPES, Recipe, task_of
from models.training.resume import write_curve
from models.training.trainer import PRECISIONS, batch_loss, train, update

V = 8
RECIPE = Recipe(Config("softmax", vocabulary=V, width=16, layers=2, heads=2, trained_length=6), steps=6,
                learning_rate=1e-2, warmup=2)
CPU = torch.device("cpu")
EXACTLY = {"rtol": 0, "atol": 0}


class Copying:
    """A task whose target, from the third token on, is the token before the previous one. It needs attention."""

    def __init__(self) -> None:
        self.steps: list[int] = []

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        self.steps.append(step)
        tokens = torch.randint(1, V, (16, 6), generator=generator(seed, step))
        targets = tokens.roll(1, 1)
        targets[:, 0] = -1
        return Batch(tokens, targets)

    def validation(self, times: int = 1) -> list[Batch]:
        parts = [Copying().batch(step, 0, 999) for step in range(2 * times)]
        return [*parts, Batch(parts[0].tokens[:3], parts[0].targets[:3])]


@pytest.fixture
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trainer, "SAVE_EVERY", 0.0)


def stopped(recipe: Recipe, folder: Path, at: int, seed: int = 5, precision: str = "float32") -> None:
    with pytest.raises(OutageError):
        train(recipe, Stopping(Copying(), at), folder, seed, CPU, precision)


def check_that_it_ends_the_same(recipe: Recipe, stops: list[int], folder: Path, precision: str = "float32") -> None:
    """Asserts that an interrupted training ends with the same weights bit by bit, and repeats no saved step."""
    whole = train(recipe, Copying(), folder / "whole", 5, CPU, precision)
    for at in stops:
        stopped(recipe, folder / "parts", at, precision=precision)
    task = Copying()
    parts = train(recipe, task, folder / "parts", 5, CPU, precision)
    assert task.steps == list(range(stops[-1], 6))
    assert_close(parts.state_dict(), whole.state_dict(), **EXACTLY)
    assert not parts.training
    fresh = train(replace(recipe, steps=0), Copying(), folder / "fresh", 5, CPU)
    # training changed the weights, so the comparison can fail
    assert not torch.equal(fresh.embedding.weight, whole.embedding.weight)


@pytest.mark.parametrize("stops", [[1], [3], [5], [2, 4], [3, 3]])
@pytest.mark.parametrize("muon", [False, True])
def test_training_that_stops_ends_the_same(muon: bool, stops: list[int], tmp_path: Path, save_always: None):
    check_that_it_ends_the_same(replace(RECIPE, muon=muon), stops, tmp_path)


@pytest.mark.parametrize(("attention", "precision", "changes"), [
    *((name, "float32", {"muon": True}) for name in sorted(TYPES)), ("softmax", "bfloat16", {"muon": True}),
    ("selective", "float32", {"memory_loss": 0.1})])
def test_training_that_stops_ends_the_same_with_any_recipe(attention: str, precision: str, changes: dict[str, object],
                                                           tmp_path: Path, save_always: None):
    """Both optimisers are restored: Muon for the matrices, AdamW for tables and vectors."""
    check_that_it_ends_the_same(with_attention(RECIPE, attention, **changes), [3], tmp_path, precision)


def test_another_recipes_state_is_refused(tmp_path: Path, save_always: None):
    """It is not changed, so that the other recipe can still be resumed."""
    stopped(RECIPE, tmp_path, at=3)
    with pytest.raises(FileExistsError, match="another recipe"):
        train(replace(RECIPE, learning_rate=RECIPE.learning_rate / 2), Copying(), tmp_path, 5, CPU)
    task = Copying()
    train(RECIPE, task, tmp_path, 5, CPU)
    assert task.steps == list(range(3, 6))


def test_what_was_not_saved_is_done_again(tmp_path: Path):
    """States are saved once per minute, so here none is saved before the interruption."""
    whole = train(RECIPE, Copying(), tmp_path / "whole", 5, CPU)
    stopped(RECIPE, tmp_path / "parts", at=4)
    task = Copying()
    parts = train(RECIPE, task, tmp_path / "parts", 5, CPU)
    assert task.steps == list(range(6))
    assert_close(parts.state_dict(), whole.state_dict(), **EXACTLY)


def test_a_save_that_breaks_off_loses_nothing(tmp_path: Path, save_always: None, monkeypatch: pytest.MonkeyPatch):
    """An interrupted save keeps the previous state, because only a complete file replaces it."""
    whole = train(RECIPE, Copying(), tmp_path / "whole", 5, CPU)
    stopped(RECIPE, tmp_path / "parts", at=3)

    def half(tensors: dict, path: Path, metadata: dict) -> None:
        path.write_bytes(b"half a state")
        raise OutageError

    with monkeypatch.context() as patch:
        patch.setattr(resume, "save_file", half)
        with pytest.raises(OutageError):
            train(RECIPE, Copying(), tmp_path / "parts", 5, CPU)
    assert_close(train(RECIPE, Copying(), tmp_path / "parts", 5, CPU).state_dict(), whole.state_dict(), **EXACTLY)


def test_a_finished_training_does_nothing_more(tmp_path: Path):
    whole = train(RECIPE, Copying(), tmp_path, 5, CPU)
    task = Copying()
    assert_close(train(RECIPE, task, tmp_path, 5, CPU).state_dict(), whole.state_dict(), **EXACTLY)
    assert task.steps == []


def test_the_seed_decides(tmp_path: Path):
    one, same, other = (train(RECIPE, Copying(), tmp_path / str(i), seed, CPU) for i, seed in enumerate((5, 5, 6)))
    assert_close(same.state_dict(), one.state_dict(), **EXACTLY)
    assert not torch.equal(other.embedding.weight, one.embedding.weight)
    fresh = [train(replace(RECIPE, steps=0), Copying(), tmp_path / f"fresh-{seed}", seed, CPU) for seed in (5, 6)]
    # the seeds change the initial weights, not only the order of the data
    assert not torch.equal(fresh[0].embedding.weight, fresh[1].embedding.weight)


def test_progress_is_a_plain_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(trainer, "REPORT_EVERY", 2)
    train(RECIPE, Copying(), tmp_path, 5, CPU)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["step", "2"], ["step", "4"], ["step", "6"]]
    assert all(0 < float(line.split()[3]) < 2 * math.log(V) for line in lines)


def test_validation_loss_is_the_mean_over_targets():
    """The validation loss is the mean over targets and not over batches, because the last batch can be smaller."""
    model, task = Transformer(RECIPE.config), Copying()
    tokens, targets = (torch.cat([getattr(batch, part) for batch in task.validation(2)])
                       for part in ("tokens", "targets"))
    loss = batch_loss(model, Batch(tokens, targets)).item()
    assert trainer.validation_loss(model, task, 2) == pytest.approx(loss, rel=1e-5)
    assert trainer.validation_loss(model, task) != trainer.validation_loss(model, task, 2)


def test_learning_curve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, save_always: None):
    """A point every few steps and one at the end, each the validation loss, also of an interrupted run."""
    monkeypatch.setattr(trainer, "CURVE_EVERY", 2)
    recipe = replace(RECIPE, steps=5)
    model = train(recipe, Copying(), tmp_path / "whole", 5, CPU)
    curve = read_json(tmp_path / "whole" / "curve.json")
    assert curve["step"] == [2, 4, 5] and curve["precision"] == "float32"
    assert curve["loss"][-1] == pytest.approx(trainer.validation_loss(model, Copying()), abs=1e-4)
    shorter = train(replace(RECIPE, steps=5), Copying(), tmp_path / "again", 5, CPU)
    assert curve["loss"][0] != curve["loss"][1] and shorter is not model
    monkeypatch.setattr(trainer, "SAVE_EVERY", 1e9)
    stopped(recipe, tmp_path / "parts", at=3)  # the run stops after the point of step 2, before anything is saved
    assert read_json(tmp_path / "parts" / "curve.json")["step"] == [2]
    train(recipe, Copying(), tmp_path / "parts", 5, CPU)
    assert read_json(tmp_path / "parts" / "curve.json") == curve


def test_measuring_the_curve_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    plain = train(RECIPE, Copying(), tmp_path / "plain", 5, CPU)
    monkeypatch.setattr(trainer, "CURVE_EVERY", 1)
    assert_close(train(RECIPE, Copying(), tmp_path / "often", 5, CPU).state_dict(), plain.state_dict(), **EXACTLY)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_precision_is_used_and_noted(precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The precision applies to the matrix products of a pass and of Muon, and is stored in the curve."""
    seen, optimisers = [], []
    monkeypatch.setattr(trainer, "batch_loss", lambda *_, **__: seen.append(torch.is_autocast_enabled("cpu")) or
                        batch_loss(*_, **__))
    monkeypatch.setattr(trainer, "update", lambda *args: optimisers.append(type(args[3][0])) or update(*args))
    train(replace(RECIPE, steps=2, muon=True), Copying(), tmp_path, 0, CPU, precision)
    assert set(optimisers) == {torch.optim.Muon if precision == "bfloat16" else Muon}
    assert seen[0] == seen[1] == (precision == "bfloat16")
    assert read_json(tmp_path / "curve.json")["precision"] == precision
    assert trainer.faster_precision(CPU) in PRECISIONS


def test_a_run_keeps_the_precision_that_it_began_with(tmp_path: Path):
    assert trainer.precision_for(tmp_path / "none", CPU, "bfloat16") == "bfloat16"
    assert trainer.precision_for(tmp_path / "none", CPU) in PRECISIONS
    for precision in PRECISIONS:  # either precision can be the faster one on this machine
        write_curve(tmp_path, [(1, 2.0)], precision)
        assert trainer.precision_for(tmp_path, CPU) == trainer.precision_for(tmp_path, CPU, precision) == precision
    with pytest.raises(FileExistsError, match="began in"):
        trainer.precision_for(tmp_path, CPU, next(its for its in PRECISIONS if its != precision))


def test_checkpoints_are_kept_in_place_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                                    capsys: pytest.CaptureFixture[str]):
    """With `--keep` the training is the same and no model is written; without it, to the given folder only."""
    name = "assignment-random"
    monkeypatch.setitem(RECIPES, name, replace(RECIPES[name], steps=3))
    monkeypatch.setattr(assignment, "TEST_TEXTS", 10)
    command = ["training", name, "--precision", "float32", "--target", str(tmp_path / "pending")]
    monkeypatch.setattr("sys.argv", [*command, "--runs", str(tmp_path / "runs"), "--keep", "1", "3"])
    trainer.main()
    kept = tmp_path / "pending" / name
    assert [path.name for path in kept.iterdir()] == ["steps"]
    cards = {step: read_card(kept / "steps" / str(step)) for step in (1, 3)}
    assert {step: card["training"]["steps"] for step, card in cards.items()} == {1: 1, 3: 3}
    assert cards[3]["variant"]["n"] == 3 and cards[3]["name"] == f"{name}@3" and "curve" not in cards[3]
    first, last = (read_model(kept / "steps" / str(step)).state_dict() for step in (1, 3))
    assert any(not torch.equal(first[key], last[key]) for key in first)
    monkeypatch.setattr("sys.argv", [*command, "--runs", str(tmp_path / "again")])
    before = {path: path.stat().st_mtime_ns for path in CHECKPOINTS.glob("*/*")}
    trainer.main()
    assert before == {path: path.stat().st_mtime_ns for path in CHECKPOINTS.glob("*/*")}
    card, whole = read_card(kept), read_model(kept)
    assert (card["training"]["steps"], card["training"]["precision"]) == (3, "float32")
    assert card["curve"]["step"] == [3] and 2 < card["curve"]["validation_loss"][0] < 20
    assert whole.config == RECIPES[name].config
    assert all(torch.equal(tensor, last[key]) for key, tensor in whole.state_dict().items())
    monkeypatch.setattr("sys.argv", [*command, "--runs", str(tmp_path / "runs"), "--keep", "2"])
    with pytest.raises(SystemExit, match="2"):
        trainer.main()
    assert "no checkpoint after steps [2]" in capsys.readouterr().err


@pytest.mark.parametrize("name", RECIPES)
def test_rate(name: str):
    """It rises linearly to the end of the warm-up, then falls to a tenth, with the mean of both in the middle."""
    plan = RECIPES[name]
    rates = [trainer.rate(step, plan) for step in range(plan.steps + 1)]
    assert rates[0] == pytest.approx(plan.learning_rate / plan.warmup)
    assert rates[plan.warmup // 2 - 1] == pytest.approx(plan.learning_rate / 2)
    assert max(rates) == rates[plan.warmup] == pytest.approx(plan.learning_rate)
    assert rates[(plan.warmup + plan.steps) // 2] == pytest.approx(plan.learning_rate * 0.55, rel=0.01)
    assert rates[-1] == pytest.approx(plan.learning_rate / 10)
    rise, fall = rates[:plan.warmup + 1], rates[plan.warmup:]
    assert rise == sorted(rise) and fall == sorted(fall, reverse=True)


def test_loss_counts_only_where_there_is_a_target():
    """The loss is the negative log-probability of the right token, with and without positions that have no target."""
    model = Transformer(RECIPE.config)
    tokens, targets = torch.randint(0, V, (2, 3, 5), generator=generator(1))
    probabilities = model.logits(model(tokens)).softmax(-1).tolist()
    for missing in ([], [(0, 0), (2, 1)]):
        for place in missing:
            targets[place] = -1
        losses = [-math.log(probabilities[row][i][target]) for row in range(3) for i in range(5)
                  if (target := int(targets[row, i])) >= 0]
        found = batch_loss(model, Batch(tokens, targets)).item()
        assert found == pytest.approx(math.fsum(losses) / len(losses), rel=1e-5)


def test_memory_loss_is_added_with_its_weight():
    torch.manual_seed(0)
    model = Transformer(with_attention(RECIPE, "selective").config, initial_std=0.7, embedding_std=1.0)
    batch = Copying().batch(0, 6, 0)
    records: list[Record] = []
    model(batch.tokens, records=records)
    expected = memory_in_use([record.mask for record in records]).item()
    plain, with_memory = (batch_loss(model, batch, memory_loss=weight).item() for weight in (0.0, 0.25))
    assert with_memory - plain == pytest.approx(0.25 * expected, rel=1e-4)
    assert 0.1 < expected < 0.95  # F frees a part of the memory, so the comparison can fail


ONE_OF_EACH_KIND = ("softmax", "selective", "random", "factorized-dense", "factorized-random", "gau-relu2")


@pytest.mark.parametrize("attention, muon", [*((attention, False) for attention in ONE_OF_EACH_KIND), ("dense", True)])
def test_a_tiny_problem_is_learnt(attention: str, muon: bool, tmp_path: Path):
    """The loss falls from ln 7 nats, the loss of a uniform guess, to less than a tenth of this value."""
    steps = 250 if attention.startswith("gau-") else 100  # weights of relu² / n start near 0, so learning takes longer
    recipe = with_attention(RECIPE, attention, steps=steps, warmup=10, learning_rate=2e-2, muon=muon)
    model = train(recipe, Copying(), tmp_path, 0, CPU)
    assert batch_loss(model, Copying().batch(10_000, 0, 0)).item() < 0.1 * math.log(V - 1)


def test_the_memory_loss_frees_memory(tmp_path: Path):
    """The training with this loss needs less memory and learns as well."""
    needs = {}
    for weight in (0.0, 0.3):
        recipe = with_attention(RECIPE, "selective", steps=80, warmup=10, learning_rate=2e-2, memory_loss=weight)
        model, unseen = train(recipe, Copying(), tmp_path / str(weight), 0, CPU), Copying().batch(10_000, 0, 0)
        plain = batch_loss(model, unseen).item()
        needs[weight] = batch_loss(model, unseen, memory_loss=1.0).item() - plain
        assert plain < 0.1 * math.log(V - 1)
    assert needs[0.3] < needs[0.0] - 0.1


@pytest.mark.parametrize("name", [name for name in RECIPES if name.startswith("assignment")])
def test_no_batch_is_longer_than_the_tables(name: str):
    """No batch is longer than the tables of a Synthesizer. The last steps have the longest texts."""
    task, recipe = task_of(name).corpus, RECIPES[name]
    longest = max(task.batch(step, recipe.steps, 0).tokens.shape[1] for step in range(recipe.steps - 60, recipe.steps))
    assert longest == recipe.config.trained_length == task.trained_length


def test_recipes_of_the_families_that_need_data_fit_their_tasks():
    """test_stories and test_masked_texts check that batches have this length."""
    for name, recipe in RECIPES.items():
        task = task_of(name).corpus
        assert (recipe.config.vocabulary, recipe.config.trained_length) == (task.reader.vocabulary, task.trained_length)
        assert recipe.config.causal == (task.reader.name != "masked")
        attention = name.removeprefix(f"{task.reader.name}-")
        if attention.startswith("disagreement-"):
            assert recipe.config.attention == "softmax" and recipe.disagreement
        else:
            assert attention.startswith(recipe.config.attention)
