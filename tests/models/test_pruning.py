"""Pruned heads: orders, plans made from them, measured losses, and models without these heads."""

from pathlib import Path

import pytest
import tiny
import tiny_pairs
import torch
from torch.nn import functional
from torch.testing import assert_close

from models import load
from models.analysis import pruning_orders
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM
from models.generate.seq2seq_decoding import write
from models.nets.head_removal import Nothing, multiplications, without
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
    """All heads, and the encoder's in a model of several blocks; a learned order exists only for learned gates."""
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


HEADS = [("encoder", layer, head) for layer in (0, 1) for head in (0, 1)]


def test_orders_by_value_and_by_chance():
    assert pruning_orders.by_values(HEADS, [3.0, -1.0, 2.0, -1.0]) == (HEADS[1], HEADS[3], HEADS[2], HEADS[0])
    first = pruning_orders.at_random(HEADS * 8, 0)
    assert first == pruning_orders.at_random(HEADS * 8, 0) != pruning_orders.at_random(HEADS * 8, 1)
    assert sorted(first) == sorted(HEADS * 8)


def run(plan: str, *probabilities: float, kinds: tuple[str, ...] = ("encoder",)) -> dict:
    rows = [list(probabilities[:2]), list(probabilities[2:])]
    return {"kinds": list(kinds), "plan": plan, "probabilities": {"encoder": rows}}


def test_learned_gates():
    """Heads go last whose gates stay open at more strengths, or with a higher probability at as many."""
    series = [run("encoder-0.0g0-0.1g0", 0.1, 0.3, 0.9, 0.8), run("encoder-0.0g0-0.1g0-1.0g0", 0.2, 0.1, 0.6, 0.7),
              run("", 0.99, 0.99, 0.99, 0.99, kinds=("encoder", "cross"))]
    assert pruning_orders.learned(series, HEADS) == (
        ("encoder", 0, 0), ("encoder", 0, 1), ("encoder", 1, 0), ("encoder", 1, 1))
    assert pruning_orders.learned(series[2:], HEADS) == pruning_orders.learned([], HEADS) == ()


@pytest.mark.parametrize("left", range(5))
def test_plans(left: int):
    order = pruning_orders.by_values(HEADS, [3.0, -1.0, 2.0, -1.0])
    before = HeadPlan().constant("encoder", 0, 0).gate("cross", 0, 0, 0.5).gate("encoder", 1, 1, 0.25)
    plan = pruning_orders.pruned(before, order, left)
    assert [address for address in order if plan.state(*address).gate == 0] == list(order[:4 - left])
    assert plan.state("encoder", 0, 0).constant and plan.state("cross", 0, 0).gate == 0.5
    assert pruning_orders.left_of(plan, order) == left
    assert pruning_orders.left_of(before, order) == 4


CLOSED = {
    "some": [(0, 1), (1, 0), (1, 3)], "the first ones": [(0, 0), (1, 0), (1, 1)],
    "one layer": [(0, 0), (0, 1), (0, 2), (0, 3), (1, 2)], "all": [(a, b) for a in (0, 1) for b in range(4)]}
CLOSE = {"rtol": 1e-4, "atol": 1e-4}


@pytest.mark.parametrize("which", CLOSED)
@tiny.either_way
def test_logits_are_those_of_gates_of_0(attention: str, causal: bool, which: str):
    lab = tiny.make_lab(attention, causal)
    closed = {tiny.address(lab, *its) for its in CLOSED[which]}
    ids = tiny.random_ids(2, 20)
    interventions = lab.interventions(HeadPlan().with_heads(closed, gate=0.0), 20)
    expected = lab.model.logits(lab.model(ids, interventions))
    before = {name: tensor.clone() for name, tensor in lab.model.state_dict().items()}
    smaller = without(lab.model, closed)
    assert_close(smaller.logits(smaller(ids)), expected, **CLOSE)
    assert multiplications(smaller, ids[:1]) < multiplications(lab.model, ids[:1])
    assert all(torch.equal(tensor, before[name]) for name, tensor in lab.model.state_dict().items())
    with pytest.raises(AssertionError):  # the unmodified model has other results
        assert_close(lab.model.logits(lab.model(ids)), expected, **CLOSE)


@tiny_pairs.every_type
def test_of_two_texts(attention: str):
    """Heads are removed in all three blocks, and generation with cached keys and values gives the same text."""
    lab = tiny_pairs.make_lab(attention)
    closed = {("encoder", 0, 1), ("encoder", 2, 0), ("decoder", 0, 0), ("decoder", 0, 2), ("cross", 0, 3),
              *(("cross", 1, head) for head in range(4)), *(("encoder", 1, head) for head in range(4))}
    texts, targets = tiny_pairs.random_pairs(3, 12, 9)
    plan = HeadPlan().with_heads(closed, gate=0.0)
    expected = lab.model.logits(lab.model(texts, targets, lab.interventions(plan, 12, 9)))
    smaller = without(lab.model, closed)
    found = smaller.logits(smaller(texts, targets))
    assert_close(found[targets != tiny_pairs.PADDING], expected[targets != tiny_pairs.PADDING], **CLOSE)
    assert isinstance(smaller.attentions("encoder")[1], Nothing)
    prompt = lab.read(tiny_pairs.TEXT_TYPED)
    assert write(smaller, [prompt.ids], 3, limit=lab.limit)[0].ids == lab.translate(prompt, plan, beam=3)


def test_multiplications_are_counted_by_hand():
    """A head has four projections of C by D per token, and two products of N by D per query."""
    lab = tiny.make_lab("softmax")
    n, width = 20, tiny.WIDTH
    ids = tiny.random_ids(1, n)
    head = n * 4 * width * (width // 4) + 2 * n * n * (width // 4)
    rest = tiny.LAYERS * n * 8 * width**2 + n * width * lab.model.config.vocabulary
    for closed in ([], CLOSED["some"], CLOSED["all"]):
        smaller = without(lab.model, [("self", *its) for its in closed])
        assert multiplications(smaller, ids) == rest + (8 - len(closed)) * head
