"""The parts of a score sum to the score of the model in float64; single parts equal parts computed by hand.

pytest tests/models/test_score_parts.py
"""

from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from tiny import make_lab, prompt_of, random_ids

import models
from models.errors import InputError, StructureError
from models.labs.stack import StackLab
from models.nets.attention import TYPES
from models.nets.attention.base import Record
from models.plan import HeadPlan

PLANS = (HeadPlan(), HeadPlan().gate("self", 0, 1, 0.0).constant("self", 0, 2), HeadPlan().with_scale("logn", 6))


def exact(attention: str, causal: bool = True) -> StackLab:
    """Returns a tiny Lab whose model computes in float64."""
    lab = make_lab(attention, causal)
    return replace(lab, model=copy.deepcopy(lab.model).double())


@pytest.mark.parametrize("plan", PLANS, ids=str)
@pytest.mark.parametrize(("attention", "causal"), [("softmax", True), ("softmax", False), ("selective", True),
                                                  ("scalable-softmax", True), ("temperature", True), ("log-n", False)])
def test_every_split_sums_to_the_score(attention: str, causal: bool, plan: HeadPlan):
    if plan.scale.policy not in TYPES[attention].policies:
        plan = HeadPlan()
    lab = exact(attention, causal)
    prompt = prompt_of(random_ids(1, 12)[0])
    records: list[Record] = []
    lab.model(torch.tensor([prompt.ids]), lab.interventions(plan, 12), records)
    for layer, query, key in ((0, 5, 2), (1, 11, 0), (1, 7, 7)):
        for head in range(lab.kinds[0].heads):
            parts = lab.score_parts(prompt, plan, ("self", layer, head), query, key)
            score = float(records[layer].scores[0, head, query, key])
            for total in (parts.score, parts.dimensions.sum(), parts.content + parts.position, parts.writers.sum()):
                assert float(total) == pytest.approx(score, abs=1e-6)  # the factors on the scores are float32
            assert parts.weight == pytest.approx(float(records[layer].live[0, head, query, key]), abs=1e-12)
            assert len(parts.names) == len(parts.writers) == (1 if layer == 0 else 2 + lab.kinds[0].heads)


def test_one_part_by_hand():
    """The embedding's part is the score of the query and key computed from the embedding alone.

    The norm is that of the whole hidden state.
    """
    lab = exact("softmax")
    ids = random_ids(1, 12)[0].tolist()
    parts = lab.score_parts(prompt_of(torch.tensor(ids)), HeadPlan(), ("self", 1, 2), 9, 9)
    states = list(lab.model.states(torch.tensor([ids])))[1][0, 9]
    norm, source = lab.model.blocks[1].attention_norm, lab.model.blocks[1].attention.source
    rms = states.square().mean().add(torch.finfo(torch.float64).eps if norm.eps is None else norm.eps).sqrt()
    embedding = lab.model.embedding.weight[ids[9]] / rms * norm.weight
    query, key = ((matrix.weight @ embedding).unflatten(0, (lab.kinds[0].heads, -1))[2]
                  for matrix in (source.query, source.key))
    # at distance 0 the rotations of query and key cancel
    assert float(parts.writers[0, 0]) == pytest.approx(float(query @ key) * len(query) ** -0.5, abs=1e-6)
    assert parts.position == pytest.approx(0, abs=1e-6)


def test_selective_attention_subtracts_f():
    lab = models.load("stories-selective")
    trace = models.run(lab, "The girl was sad because her toy was lost.")
    parts = lab.score_parts(trace.prompt, HeadPlan(), ("self", 1, 2), 8, 3)
    assert trace.mask is not None
    assert parts.masking == pytest.approx(float(trace.mask[1, 8, 3]), abs=1e-5)
    assert parts.score == pytest.approx(float(trace.scores["self"][1, 2, 8, 3]), abs=1e-4)


@pytest.mark.parametrize(("attention", "reason"), [
    ("random", "of a table"), ("dense", "own vector"), ("factorized-dense", "own vector"), ("dense-softmax", "alone")])
def test_scores_without_query_and_key_are_named(attention: str, reason: str):
    with pytest.raises(StructureError, match=reason):
        make_lab(attention).score_parts(prompt_of(random_ids(1, 8)[0]), HeadPlan(), ("self", 0, 0), 3, 1)


def test_unseen_keys_are_refused():
    lab = make_lab("softmax")
    for query, key in ((2, 5), (99, 0), (-1, 0)):
        with pytest.raises(InputError, match="does not attend"):
            lab.score_parts(prompt_of(random_ids(1, 8)[0]), HeadPlan(), ("self", 0, 0), query, key)
