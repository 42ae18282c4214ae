"""Tests of pruning orders (by measured values, random, by learned gates) and of the plans made from them."""

import pytest

from models.analysis import pruning_orders
from models.plan import HeadPlan

HEADS = [("encoder", layer, head) for layer in (0, 1) for head in (0, 1)]


def test_the_head_with_the_smallest_value_is_pruned_first():
    assert pruning_orders.by_values(HEADS, [3.0, -1.0, 2.0, -1.0]) == (HEADS[1], HEADS[3], HEADS[2], HEADS[0])


def test_chance_is_the_same_each_time_and_another_each_draw():
    first = pruning_orders.at_random(HEADS * 8, 0)
    assert first == pruning_orders.at_random(HEADS * 8, 0) != pruning_orders.at_random(HEADS * 8, 1)
    assert sorted(first) == sorted(HEADS * 8)


def run(plan: str, *probabilities: float, kinds: tuple[str, ...] = ("encoder",)) -> dict:
    rows = [list(probabilities[:2]), list(probabilities[2:])]
    return {"kinds": list(kinds), "plan": plan, "probabilities": {"encoder": rows}}


def test_learned_gates():
    """Heads whose gates stay open at more penalty strengths are pruned later. Ties are ordered by the probability that
    the gate is open. Trainings with gates in other blocks do not affect the order."""
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
