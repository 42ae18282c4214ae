"""What models/lengths.py measures, against sums written out."""

from __future__ import annotations

import math

import pytest
import torch

from models.attention import TYPES
from models.heads import HeadPlan
from models.lab import load
from models.lengths import TYPED, batches, entropies, facts, measure, plans_of, typed_limit
from models.tasks.assignment import Assignment
from models.trace import row_entropy, run


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


@pytest.mark.parametrize(("name", "text"), [
    ("stories-selective", "Once upon a time there was a dragon"), ("masked-gau-relu2", "The [cat] sat on [the] mat"),
    ("assignment-random", "x=1; y=2; x=?; y=?"), ("masked-softmax", "The [MASK] sat")])
def test_a_typed_text_has_the_numbers_of_its_trace(name: str, text: str):
    """Under a plan, against what the trace captures row by row."""
    lab = load(name)
    plan = HeadPlan().constant("self", 1, 0).gate("self", 0, 0, 0.5)
    trace = run(lab, text, plan)
    found = facts(lab, trace.prompt, plan)
    known = [output for output in trace.outputs if output.target >= 0]
    assert found["loss"] == (None if math.isnan(trace.loss) else pytest.approx(trace.loss, abs=1e-5))
    if known and name.startswith(("masked", "assignment")):
        assert found["accuracy"] == pytest.approx(sum(o.order[0] == o.target for o in known) / len(known))
    assert found["entropy"] == pytest.approx(row_entropy(trace.weights["self"]).mean(), abs=1e-4)
    scores = torch.tensor(trace.scores["self"])
    assert found["log_normaliser"] == pytest.approx(float(torch.stack(
        [block.attention.log_normaliser(s[None]).mean() for block, s in zip(lab.model.blocks, scores, strict=True)]
    ).mean()), abs=1e-4)


def test_how_much_of_a_typed_text_is_read():
    constant = HeadPlan().constant("self", 0, 0)
    for name, free, held in (
            ("stories-softmax", TYPED, 128), ("stories-dense", 256, 128), ("masked-gau-relu2", TYPED, 128),
            ("assignment-random", 49, 49), ("assignment-softmax", 193, 128)):
        lab = load(name)
        assert typed_limit(lab, HeadPlan().gate("self", 0, 0, 0.0)) == free
        assert typed_limit(lab, constant) == held
        text = "; ".join(["a=1"] * 200) + "; a=?" if name.startswith("assignment") else "a word " * 600
        for plan, limit in ((HeadPlan(), free), (constant, held)):
            prompt = lab.task.read(text, limit)
            assert limit - 1 <= len(prompt.ids) <= limit
            assert math.isfinite(facts(lab, prompt, plan)["entropy"])


@pytest.mark.parametrize("name", sorted(TYPES))
def test_normalisers(name: str):
    """ln Z of scores: of a softmax what makes rows sum to 1, of relu² the row's sum."""
    kind = TYPES[name]
    scores = torch.tensor([[0.3, -1.0, 2.0], [0.0, 0.5, -2.0]])
    z = kind.log_normaliser(None, scores).exp()
    values = scores.exp() if kind.is_distribution else scores.clamp_min(0).square()
    assert z.tolist() == pytest.approx(values.sum(-1).tolist(), rel=1e-5)
