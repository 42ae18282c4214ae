"""Winning heads against an exhaustive search, and gates that make heads constant against plans.

pytest tests/models/test_winning_heads.py
"""

from __future__ import annotations

import itertools

import pytest
import torch
from foreign_tiny import TEXT, lab_of
from tiny_pairs import TEXT_TYPED, make_lab
from torch import Tensor
from torch.testing import assert_close

import models
from models.analysis.answer import winning_heads
from models.analysis.gated_predictions import Gating, Question
from models.errors import CancelledError
from models.kind import Kind, Traits
from models.lab import Lab, run_prompt
from models.labs.foreign.running.constants import mean_weights
from models.plan import HeadPlan
from models.prompt import Prompt


def random_toy(seed: int, count: int = 9) -> Gating:
    """Returns a model of one layer and four tokens, whose heads have effects of different size, some only in pairs."""
    random = torch.Generator().manual_seed(seed)
    first, second = (torch.randn(count, 4, generator=random) for _ in range(2))

    def under(gates: dict[str, Tensor], asked: tuple[int, ...]) -> Tensor:
        rows = gates["self"][:, 0]
        return torch.stack([rows @ first + torch.relu(rows @ second - 0.5)] * len(asked), 1).log_softmax(-1)
    return Gating([Kind("self", 1, count, Traits("Softmax"))], under, Question((0,), (0,), True))


@pytest.mark.parametrize("seed", range(6))
def test_as_few_as_an_exhaustive_search(seed: int):
    """If a set of at most two heads wins, the search finds a smallest winning set; else it has at most one head more.

    The margin of the result is that of the gated predictions, and a token that wins already needs no head.
    """
    gating = random_toy(seed)
    sets = torch.tensor(list(itertools.product([False, True], repeat=9)))
    log_probabilities = gating.in_parts(gating.log_probabilities, 1 - sets.float())[:, 0]
    for token in range(4):
        others = log_probabilities.clone()
        others[:, token] = -torch.inf
        wins = log_probabilities[:, token] > others.max(-1).values
        fewest = int(sets[wins].sum(1).min()) if wins.any() else None
        found = winning_heads.search(gating, token)
        if fewest is None:
            assert found.fewest is None and found.best[found.nearest][0] <= 0
            continue
        assert found.fewest is not None and fewest <= found.fewest <= (fewest if fewest <= 2 else fewest + 1)
        margin, changed = found.best[found.fewest]
        row = (sets == changed).all(1)
        assert int(changed.sum()) == found.fewest
        assert margin == pytest.approx(float((log_probabilities[row, token] - others[row].max(-1).values)[0]), abs=1e-5)


def test_cancel():
    with pytest.raises(CancelledError):
        winning_heads.search(random_toy(0), 3, cancelled=lambda: True)


def constant_as_plans(lab: Lab, prompt: Prompt) -> None:
    """Asserts that gates of 0 and 1 with `constant` give the predictions of plans with constant heads."""
    prompt = lab.anchored(prompt)
    gating = Gating.of(lab, prompt, Question.of(run_prompt(lab, prompt)), constant=True)
    sets = torch.rand(2, len(gating.heads), generator=torch.Generator().manual_seed(3)) < 0.6
    found = gating.log_probabilities(sets.float()).detach().exp()
    for stays, rows in zip(sets, found, strict=True):
        plan = gating.plan(stays)
        assert plan == HeadPlan().with_heads(
            [head for head, its in zip(gating.heads, stays.tolist(), strict=True) if not its], constant=True)
        by_place = {output.position: torch.tensor(output.distribution)
                    for output in run_prompt(lab, prompt, plan).outputs}
        for place, row in zip(gating.question.positions, rows, strict=True):
            if place in by_place:
                assert_close(row, by_place[place], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("name", ["assignment-selective", "masked-gau-relu2", "stories-random"])
def test_constant_gates_of_ours_are_plans(name: str):
    lab = models.load(name)
    text = {"assignment": "x=7; y=2; x=?", "masked": "The girl lost [her] toy."}.get(lab.task.name, "Once upon a time")
    constant_as_plans(lab, lab.read(text))


def test_constant_gates_of_models_of_two_texts_are_plans():
    lab = make_lab()
    constant_as_plans(lab, lab.read(TEXT_TYPED))


@pytest.mark.parametrize("name", ["gpt2", "t5"])
def test_constant_gates_of_foreign_models_are_plans(name: str):
    lab = lab_of(name)
    with pytest.raises(ValueError, match="no constant matrices"):
        lab.gated_log_probabilities(lab.read(TEXT), constant=True)
    lab = lab.with_constant(mean_weights(lab, [TEXT, "The dog ran to the park."]))
    constant_as_plans(lab, lab.read(TEXT))
