"""What models/lengths.py measures, against sums written out."""

from __future__ import annotations

import math

import pytest
import torch

from models.attention import TYPES
from models.lab import load
from models.lengths import batches, entropies, measure, plans_of
from models.tasks.assignment import Assignment


def test_entropy_of_a_row():
    rows = torch.tensor([[1.0, 0, 0, 0], [0.25] * 4, [0.5, 0.5, 0, 0]]).view(1, 1, 3, 4)
    assert entropies(rows).flatten().tolist() == pytest.approx([0, math.log(4), math.log(2)], abs=1e-6)
    assert entropies(3 * rows).flatten().tolist() == pytest.approx([0, math.log(4), math.log(2)], abs=1e-6)


def test_a_models_numbers_are_means_over_its_texts():
    lab, task = load("assignment-softmax"), Assignment()
    plan = plans_of(lab)["trained"]
    result = measure(lab, task, 13, plan)
    losses, hits = [], []
    for batch in batches(task, 13):
        probabilities = lab.model.logits(lab.model(batch.tokens)).softmax(-1)
        for row, place in (batch.targets >= 0).nonzero().tolist():
            answer = int(batch.targets[row, place])
            losses.append(-math.log(float(probabilities[row, place, answer])))
            hits.append(int(probabilities[row, place].argmax()) == answer)
    assert result["loss"] == pytest.approx(math.fsum(losses) / len(losses), abs=1e-4)
    assert result["accuracy"] == pytest.approx(sum(hits) / len(hits), abs=1e-4)
    assert len(result["entropy"]) == 3 and all(len(row) == 4 for row in result["entropy"])


@pytest.mark.parametrize("name", sorted(TYPES))
def test_normalisers(name: str):
    """ln Z of scores: of a softmax what makes rows sum to 1, of relu² the row's sum."""
    kind = TYPES[name]
    scores = torch.tensor([[0.3, -1.0, 2.0], [0.0, 0.5, -2.0]])
    z = kind.log_normaliser(None, scores).exp()
    values = scores.exp() if kind.is_distribution else scores.clamp_min(0).square()
    assert z.tolist() == pytest.approx(values.sum(-1).tolist(), rel=1e-5)
