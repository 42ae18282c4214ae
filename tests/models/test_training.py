"""Training: stopped anywhere and started again, it ends with the same weights; the learning rate rises and falls as
written; and a tiny problem is learnt in seconds."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.testing import assert_close

from models import training
from models.recipes import RECIPES, Recipe
from models.tasks.base import Batch, generator
from models.training import loss_of, rate, train
from models.config import Config
from models.transformer import Transformer

V = 8
RECIPE = Recipe(Config("softmax", vocabulary=V, width=16, layers=2, heads=2), steps=6, learning_rate=1e-2, warmup=2)
CPU = torch.device("cpu")
EXACTLY = {"rtol": 0, "atol": 0}


class OutageError(Exception):
    """The machine goes down."""


class Copying:
    """Say the token before the last one again: needs attention, and a loss that counts only from there on."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.stop_at = stop_at
        self.steps: list[int] = []

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        if step == self.stop_at:
            raise OutageError
        self.steps.append(step)
        tokens = torch.randint(1, V, (16, 6), generator=generator(seed, step))
        targets = tokens.roll(1, 1)
        targets[:, 0] = -1
        return Batch(tokens, targets)


@pytest.fixture
def save_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "SAVE_EVERY", 0.0)


def recipe(attention: str, steps: int = 6) -> Recipe:
    return replace(RECIPE, config=replace(RECIPE.config, attention=attention), steps=steps)


def stopped(recipe: Recipe, folder: Path, at: int, seed: int = 5) -> None:
    with pytest.raises(OutageError):
        train(recipe, Copying(stop_at=at), folder, seed, CPU)


@pytest.mark.parametrize("stops", [[1], [3], [5], [2, 4], [3, 3]])
def test_training_that_stops_ends_the_same(attention: str, stops: list[int], tmp_path: Path, save_always: None):
    """Bit by bit, and without doing a step twice that was saved."""
    whole = train(recipe(attention), Copying(), tmp_path / "whole", 5, CPU)
    for at in stops:
        stopped(recipe(attention), tmp_path / "parts", at)
    task = Copying()
    parts = train(recipe(attention), task, tmp_path / "parts", 5, CPU)
    assert task.steps == list(range(stops[-1], 6))
    for name, tensor in whole.state_dict().items():
        assert_close(parts.state_dict()[name], tensor, **EXACTLY)
    assert not parts.training


def test_what_was_not_saved_is_done_again(tmp_path: Path):
    """With a minute between saves none is made in time, so the second attempt begins at the beginning."""
    whole = train(RECIPE, Copying(), tmp_path / "whole", 5, CPU)
    stopped(RECIPE, tmp_path / "parts", at=4)
    task = Copying()
    parts = train(RECIPE, task, tmp_path / "parts", 5, CPU)
    assert task.steps == list(range(6))
    assert_close(parts.state_dict(), whole.state_dict(), **EXACTLY)


def test_a_save_that_breaks_off_loses_nothing(tmp_path: Path, save_always: None, monkeypatch: pytest.MonkeyPatch):
    """The state is replaced only by a whole one."""
    whole = train(RECIPE, Copying(), tmp_path / "whole", 5, CPU)
    stopped(RECIPE, tmp_path / "parts", at=3)

    def half(tensors: dict, path: Path, metadata: dict) -> None:
        path.write_bytes(b"half a state")
        raise OutageError

    with monkeypatch.context() as patch:
        patch.setattr(training, "save_file", half)
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
    assert not torch.equal(fresh[0].embedding.weight, fresh[1].embedding.weight)  # not the data's order alone


def test_progress_is_a_plain_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(training, "REPORT_EVERY", 2)
    train(RECIPE, Copying(), tmp_path, 5, CPU)
    lines = (tmp_path / "log.txt").read_text().splitlines()
    assert [line.split()[:2] for line in lines] == [["step", "2"], ["step", "4"], ["step", "6"]]
    assert all(0 < float(line.split()[3]) < 2 * math.log(V) for line in lines)


@pytest.mark.parametrize("name", RECIPES)
def test_rate(name: str):
    """Up in a line, highest where the warm-up ends, down to a tenth; half-way down it is half-way between."""
    plan = RECIPES[name]
    rates = [rate(step, plan) for step in range(plan.steps + 1)]
    assert rates[0] == pytest.approx(plan.learning_rate / plan.warmup)
    assert rates[plan.warmup // 2 - 1] == pytest.approx(plan.learning_rate / 2)
    assert max(rates) == rates[plan.warmup] == pytest.approx(plan.learning_rate)
    assert rates[(plan.warmup + plan.steps) // 2] == pytest.approx(plan.learning_rate * 0.55, rel=0.01)
    assert rates[-1] == pytest.approx(plan.learning_rate / 10)
    rise, fall = rates[:plan.warmup + 1], rates[plan.warmup:]
    assert rise == sorted(rise) and fall == sorted(fall, reverse=True)


def test_loss_counts_only_where_there_is_a_target():
    """Against the logarithm of the right token's probability, token by token; with and without gaps."""
    model = Transformer(RECIPE.config)
    tokens, targets = torch.randint(0, V, (2, 3, 5), generator=generator(1))
    probabilities = model.logits(model(tokens)).softmax(-1).tolist()
    for missing in ([], [(0, 0), (2, 1)]):
        for place in missing:
            targets[place] = -1
        losses = [-math.log(probabilities[row][i][target]) for row in range(3) for i in range(5)
                  if (target := int(targets[row, i])) >= 0]
        assert loss_of(model, tokens, targets).item() == pytest.approx(math.fsum(losses) / len(losses), rel=1e-5)


def test_a_tiny_problem_is_learnt(attention: str, tmp_path: Path):
    """From ln 7 nats, which is guessing, to under a tenth of that."""
    model = train(replace(recipe(attention, steps=150), warmup=20), Copying(), tmp_path, 0, CPU)
    unseen = Copying().batch(10_000, 0, 0)
    assert loss_of(model, unseen.tokens, unseen.targets).item() < 0.1 * math.log(V - 1)
