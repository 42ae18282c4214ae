"""HeadPlan is an immutable value, and its string form loses nothing and needs no escaping in a link."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.plan import GATE_DECIMALS, KINDS, LIVE, MAX_INDEX, MAX_TEXT, POLICIES, HeadPlan, HeadState, Scale

UNRESERVED = re.compile(r"[A-Za-z0-9\-._~]*")  # unreserved characters of a URL (RFC 3986, section 2.3)
SHAPE = {"self": (2, 4)}

# gates within and beyond the stored precision; few heads, so that adjacent heads form ranges
gates = st.one_of(st.sampled_from([0.0, 0.4, 1.0]), st.floats(0, 1), st.integers(0, 10**GATE_DECIMALS).map(
    lambda i: i / 10**GATE_DECIMALS))
states = st.builds(HeadState, st.booleans(), gates)
indices = st.integers(0, 5) | st.just(MAX_INDEX)
addresses = st.tuples(st.sampled_from(KINDS), indices, indices)
plain_scales = st.sampled_from([Scale(), *map(Scale, ("sqrt", "length", "fixed"))])
scales = plain_scales | st.integers(2, 9999).map(lambda base: Scale("logn", base))
plans = st.builds(HeadPlan, st.dictionaries(addresses, states, max_size=20), scales)


@given(plans)
def test_text_form_and_copies_lose_nothing_and_need_no_escaping(plan: HeadPlan):
    assert HeadPlan.parse(str(plan)) == plan
    assert HeadPlan.read(str(plan)) == (plan, [])
    assert UNRESERVED.fullmatch(str(plan))
    for other in (pickle.loads(pickle.dumps(plan)), copy.copy(plan), copy.deepcopy(plan)):
        assert other == plan and hash(other) == hash(plan) and str(other) == str(plan)


@given(plans, plans)
def test_text_form_is_canonical(one: HeadPlan, other: HeadPlan):
    assert (one == other) == (str(one) == str(other))
    assert hash(HeadPlan.parse(str(one))) == hash(one)


@given(st.dictionaries(addresses, states), st.randoms(use_true_random=False))
def test_order_of_construction_is_irrelevant(heads: dict, random):
    shuffled = random.sample(list(heads.items()), len(heads))
    plan = HeadPlan()
    for (kind, layer, head), state in shuffled:
        plan = plan.gate(kind, layer, head, state.gate).constant(kind, layer, head, state.constant)
    assert plan == HeadPlan(heads)
    assert hash(plan) == hash(HeadPlan(heads)) and str(plan) == str(HeadPlan(heads))


@given(plans, addresses)
def test_only_the_named_head_changes(plan: HeadPlan, address: tuple):
    before, text = dict(plan.heads), str(plan)
    changed = plan.gate(*address, 0.25)
    assert changed.state(*address) == HeadState(plan.state(*address).constant, 0.25)
    assert {a: s for a, s in changed.heads.items() if a != address} == {a: s for a, s in before.items() if a != address}
    again = changed.with_heads([address], constant=False, gate=1.0)
    assert again.state(*address) == LIVE and address not in again.heads
    assert plan.heads == before and str(plan) == text  # the old plan is unchanged


def test_a_plan_cannot_be_changed():
    source = {("self", 0, 1): HeadState(True)}
    plan = HeadPlan(source)
    source[("self", 0, 2)] = HeadState(True)
    assert list(plan.heads) == [("self", 0, 1)]
    with pytest.raises(TypeError):
        plan.heads[("self", 0, 2)] = LIVE
    with pytest.raises(FrozenInstanceError):
        plan.scale = Scale("sqrt")
    with pytest.raises(FrozenInstanceError):
        plan.heads[("self", 0, 1)].gate = 0.0


def test_a_live_head_is_no_change():
    assert not HeadPlan() and str(HeadPlan()) == ""
    assert HeadPlan({("self", 0, 0): HeadState(False, 1.0)}) == HeadPlan()
    assert HeadPlan().gate("self", 0, 0, 0.99999) == HeadPlan()  # a gate is rounded to four decimals
    assert HeadPlan().gate("self", 0, 0, 0.9999) and HeadPlan().with_scale("sqrt")
    assert str(HeadPlan().gate("self", 0, 0, -0.0)) == "self-0.0g0"


# strings that are almost plans: valid ones with characters removed, inserted or exchanged
alphabet = st.sampled_from("0123456789.~gc-_selfcaognr+eE \u0661\u00b2−\n\0")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = list(str(draw(plans)))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(text)))
        text[place:place + draw(st.integers(0, 2))] = draw(st.lists(alphabet, max_size=2))
    return "".join(text)


@given(st.text() | mutated() | st.text(alphabet))
def test_reading_never_fails(text: str):
    plan, problems = HeadPlan.read(text)
    assert all(isinstance(problem, str) and problem for problem in problems)
    assert HeadPlan.parse(str(plan)) == plan  # the string of every parsed plan can be parsed again
    if problems:
        with pytest.raises(ValueError):
            HeadPlan.parse(text)
    else:
        assert HeadPlan.parse(text) == plan


@pytest.mark.parametrize("text", [
    "self-0.0g7", "self-0.0gnan", "self-0.0g-0.1", "self-0.0ginf", "self-0.0gTrue", "self-0.0g1.00001", "self-0.0g1e-1",
    "self-0.0g", "self-0.0", "self-0c", "self-", "head-0.0c", "0.0c", "self-0.3~1c", "self-0.0000c",
    "self-\u0660.\u0660c", "self-0.0g\u0660", "self-0.0 c", "scale", "scale-log", "scale-logn", "scale-logn1",
    "scale-logn10000", "scale-sqrt64", "scale-trained2", "scale-length64", "scale-fixed2", "scale-lengths",
    "\ud800", "x" * 10_000,
], ids=lambda text: ascii(text)[:30])
def test_nonsense_is_refused_and_the_rest_read(text: str):
    """The message quotes at most one line of the invalid part, and the plan before this part is kept."""
    plan, problems = HeadPlan.read(f"cross-1.2c_{text}")
    assert problems and all(len(problem) < 200 for problem in problems)
    assert plan == HeadPlan().constant("cross", 1, 2)
    with pytest.raises(ValueError):
        HeadPlan.parse(text)


@pytest.mark.parametrize("gate", [7, -0.1, 1.0001, float("nan"), float("inf"), -float("inf"), True, False, None, "0.5",
                                  1j])
def test_a_gate_is_a_number_from_0_to_1(gate: object):
    with pytest.raises(ValueError, match="from 0 to 1"):
        HeadPlan({("self", 0, 0): HeadState(False, gate)})
    if gate is not None:  # None in with_heads means that the gate is unchanged
        with pytest.raises(ValueError, match="from 0 to 1"):
            HeadPlan().gate("self", 0, 0, gate)


@pytest.mark.parametrize("address", [("self", -1, 0), ("self", 0, -1), ("self", 0, 1000), ("self", 1000, 0),
                                     ("heads", 0, 0), ("self", 0, 1.0), ("self", True, 0), ("self", 0, None),
                                     ("self", "0", 0)])
def test_an_address_is_a_kind_and_two_small_numbers(address: tuple):
    with pytest.raises(ValueError, match="expected a"):
        HeadPlan().constant(*address)


@pytest.mark.parametrize("policy, base", [("log", None), ("logn", None), ("logn", 1), ("logn", 10_000), ("logn", True),
                                          ("logn", 64.0), ("sqrt", 64), ("trained", 64), ("length", 64),
                                          ("fixed", 2), ("", None), (None, None)])
def test_a_scale_that_means_nothing_is_refused(policy: str, base: object):
    with pytest.raises(ValueError, match="scale"):
        HeadPlan().with_scale(policy, base)


def test_documented_text():
    """The example in the module docstring of heads.py is right."""
    plan = HeadPlan().constant("self", 0, 3).with_scale("logn", 64)
    plan = plan.with_heads([("self", 1, head) for head in range(8)], gate=0.4)
    assert str(plan) == "self-0.3c-1.0~7g0.4_scale-logn64"
    assert HeadPlan.parse("self-0.0~7c") == HeadPlan({("self", 0, head): HeadState(True) for head in range(8)})
    assert str(HeadPlan.parse("self-0.0c-0.1c-0.2cg0.50-0.4c-1.5c")) == "self-0.0~1c-0.2cg0.5-0.4c-1.5c"


@given(plans)
def test_within_splits_a_plan(plan: HeadPlan):
    """Each other head is reported in one sentence; both parts together are the whole plan."""
    inside, problems = plan.within(SHAPE)
    assert all(kind == "self" and layer < 2 and head < 4 for kind, layer, head in inside.heads)
    assert len(inside.heads) + len(problems) == len(plan.heads) and inside.scale == plan.scale
    assert inside.heads.items() <= plan.heads.items()
    assert inside.within(SHAPE) == (inside, [])


@given(plans, st.sets(st.sampled_from(POLICIES)).map(lambda chosen: {"trained", *chosen}))
def test_within_splits_scales(plan: HeadPlan, policies: set[str]):
    """A scale that the model's attention does not support is left out and reported. Heads are not affected."""
    inside, problems = plan.within(SHAPE, policies)
    expected, others = plan.within(SHAPE)
    assert inside.heads == expected.heads
    if plan.scale.policy in policies:
        assert inside.scale == plan.scale and problems == others
    else:
        assert inside.scale == Scale() and problems[:-1] == others and str(plan.scale) in problems[-1]


def test_within_counts_from_one_for_people():
    _, problems = HeadPlan.parse("self-2.0c-1.4c_cross-0.0c").within(SHAPE)
    assert len(problems) == 3
    assert "layer 3, head 1" in problems[0] + problems[1] and "layer 2, head 5" in problems[0] + problems[1]
    assert "cross" in problems[2] and "layer 1, head 1" in problems[2]


def test_long_text_is_cut():
    plan, problems = HeadPlan.read("self-0.3c" + "_" * 10_000 + "self-0.4c")
    assert plan == HeadPlan().constant("self", 0, 3)
    assert len(problems) == 1 and "10,018" in problems[0] and f"{MAX_TEXT:,}" in problems[0]
