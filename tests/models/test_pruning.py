"""Tests of studies/corpus/pruning.py: losses of plans that prune more and more heads, or a single one."""

from pathlib import Path

import pytest
import tiny
import tiny_pairs
import torch
from torch.nn import functional

from models import load
from models.analysis import pruning_orders
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM
from models.plan import HeadPlan
from models.tasks import TASKS
from models.tasks.base import Batch, Pairs
from studies import held_out, store
from studies.corpus import pruning
from studies.corpus.heads import losses_of_single_heads
from studies.corpus.pruning import Measuring, Points, Scope, costs, curves, scopes_of

LAB = tiny.make_lab("softmax")
TASK = TASKS["assignment"].build()
PAIRS = tiny_pairs.make_lab()


def batches(count: int = 3) -> list[Batch]:
    """Returns batches in which some tokens have predictions, with one text without any prediction per batch."""
    found = []
    for i in range(count):
        tokens = tiny.random_ids(4, 12, seed=i)
        targets = torch.where(torch.rand(tokens.shape, generator=torch.Generator().manual_seed(i)) < 0.4, tokens, -1)
        targets[1] = -1
        found.append(Batch(tokens, targets))
    return found


def pairs() -> Pairs:
    texts, targets = tiny_pairs.random_pairs(4, 10, 8)
    return Pairs(targets, targets.masked_fill(targets == tiny_pairs.PADDING, -1), texts)


def heads_of(lab) -> dict:
    """Returns random measurements in the format of NAME.heads.json."""
    return {"kinds": {kind.name: {what: torch.rand(kind.layers, kind.heads).tolist() for what in ("loss", "confidence")}
                      for kind in lab.kinds}}


def under(lab, batch: Batch, plan: HeadPlan) -> float:
    """Returns the mean loss of all predictions under a plan, by the forward pass that the pages use."""
    if isinstance(batch, Pairs):
        interventions = lab.interventions(plan, batch.texts.shape[1], batch.tokens.shape[1])
        hidden = lab.model(batch.texts, batch.tokens, interventions)
    else:
        hidden = lab.model(batch.tokens, lab.interventions(plan, batch.tokens.shape[1]))
    return float(functional.cross_entropy(lab.model.logits(hidden).flatten(0, 1), batch.targets.flatten(),
                                          ignore_index=-1))


@pytest.mark.parametrize(("lab", "batch"), [(LAB, batches(1)[0]), (PAIRS, pairs())], ids=["one text", "two texts"])
def test_losses_alone_are_those_of_gates_of_0(lab, batch: Batch):
    untouched, alone = losses_of_single_heads(lab, [batch])
    assert untouched == pytest.approx(under(lab, batch, HeadPlan()), rel=1e-5)
    for kind, layer, head in [kind.addresses[i] for kind in lab.kinds for i in (0, 3, 5)]:
        expected = under(lab, batch, HeadPlan().gate(kind, layer, head, 0.0)) - untouched
        assert alone[kind][layer, head] == pytest.approx(expected, abs=1e-5)
        assert abs(expected) > 1e-4


def test_losses_are_a_mean_a_text():
    """The overall mean weights every prediction equally; texts without a prediction do not count."""
    values, counts = held_out.losses(LAB.model, batches())
    assert counts.tolist() == [int((batch.targets[i] >= 0).sum()) for batch in batches() for i in (0, 2, 3)]
    whole = Batch(*(torch.cat([getattr(b, name) for b in batches()]) for name in ("tokens", "targets")))
    assert held_out.mean(values, counts) == pytest.approx(under(LAB, whole, HeadPlan()), rel=1e-5)


def test_sizes_are_coarse_first():
    scope = Scope("all", tuple(LAB.kinds[0].addresses), {})
    assert scope.sizes()[:5] == [0, 8, 4, 2, 6] and sorted(scope.sizes()) == list(range(9))
    assert scope.sizes(4) == [0, 2, 4, 6, 8]
    odd = Scope("all", tuple(LAB.kinds[0].addresses)[:7], {})
    assert sorted(odd.sizes()) == list(range(8)) and odd.sizes(8) == list(range(8))


def test_scopes():
    """The scopes are all heads and, for models with several blocks, the heads of the encoder. The learned order exists
    only for the heads that have learned gates."""
    (scope,) = scopes_of(LAB, heads_of(LAB), {})
    assert [*scope.orders] == [ALONE, CONFIDENCE, *(f"{RANDOM} {i}" for i in range(5))] and scope.main == ALONE
    run = {"kinds": ["encoder"], "plan": "encoder-0.1g0", "probabilities": {"encoder": torch.rand(3, 4).tolist()}}
    everything, encoder = scopes_of(PAIRS, heads_of(PAIRS), {"series": [run]})
    assert (everything.name, encoder.name) == ("all", "encoder") and len(everything.addresses) == 28
    assert everything.main == ALONE and encoder.main == LEARNED and encoder.orders[LEARNED][0] == ("encoder", 0, 1)


def test_an_interrupted_run_gives_the_same_points(tmp_path: Path):
    """An interrupted run gives the same points as an uninterrupted one, and measures no point twice."""
    (scope,) = scopes_of(LAB, heads_of(LAB), {})
    its = batches()
    half = Points(tmp_path / "points.json", ["weights"])
    work = Measuring(LAB.model, TASK, its, 0, half).work([scope])
    for _ in range(28):
        next(work)
    again = Points(tmp_path / "points.json", ["weights"])
    assert len(again.values) >= 10 and again.values == half.values
    again.values = {key: [*value, "kept"] for key, value in again.values.items()}
    steps = list(Measuring(LAB.model, TASK, its, 0, again).work([scope]))
    assert "all, loss" not in steps[0] and sum("kept" in value for value in again.values.values()) == len(half.values)
    found = curves(scope, {key: value[:2] for key, value in again.values.items()})
    assert [left for left, _, _ in found["curves"][ALONE]] == list(range(9)) and "bleu" not in found
    whole = Batch(*(torch.cat([getattr(b, name) for b in its]) for name in ("tokens", "targets")))
    for left, loss, error in found["curves"][CONFIDENCE]:
        plan = HeadPlan().with_heads(scope.orders[CONFIDENCE][:8 - left], gate=0.0)
        assert loss == pytest.approx(under(LAB, whole, plan), abs=1e-4)
        assert (error == 0) is (left == 8)
    assert found["orders"] == {name: pruning_orders.written(scope.orders[name]) for name in (ALONE, CONFIDENCE)}
    assert found["curves"][RANDOM][0][1] == pytest.approx(found["curves"][ALONE][0][1], abs=1e-4)
    assert Points(tmp_path / "points.json", ["other weights"]).values == {}


@pytest.mark.parametrize("name", sorted(path.name.split(".")[0] for path in store.MEASUREMENTS.glob("*.pruning.json")))
def test_curves_that_ship_are_of_the_orders_that_are_shown(name: str):
    """The orders change if gates or losses of heads are measured again."""
    found = store.read(name, "pruning")
    for scope in scopes_of(load(name), store.read(name, "heads"), store.read(name, "gates") or {}):
        now = {key: pruning_orders.written(order) for key, order in scope.orders.items() if not key.startswith(RANDOM)}
        assert found["scopes"][scope.name]["orders"] == now, f"python -m studies.corpus.pruning {name}"


@pytest.mark.parametrize("lab", [LAB, PAIRS], ids=["one text", "two texts"])
def test_costs_fall_with_heads(lab, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pruning, "REPEATS", 2)
    scope = scopes_of(lab, heads_of(lab), {})[0]
    found = costs(lab.model, scope, 12)
    counts = [its["multiplications"] for its in found]
    assert [its["left"] for its in found] == scope.sizes(8) and counts == sorted(set(counts))
    assert found[0]["of_heads"] == 0 and all(its["seconds"] > 0 for its in found)
