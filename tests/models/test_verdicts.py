"""The rules that turn numbers into verdicts, on numbers made up for them.

    pytest tests/models/test_verdicts.py
"""

from __future__ import annotations

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.studies.claims import FAILS, HOLDS, OPEN, PART, tables
from models.studies.claims.verdict import (
    MARGIN,
    NO,
    PARTLY,
    STUDENT,
    UNKNOWN,
    YES,
    Check,
    below,
    conclude,
    differences,
    fact,
    not_above,
    spread,
    within,
)

numbers = st.floats(-10, 10)
seeds = st.dictionaries(st.integers(0, 5), numbers, max_size=4)
budgets = st.dictionaries(st.sampled_from([300, 1200]), seeds, max_size=2)
outcomes = st.lists(st.sampled_from([YES, PARTLY, NO, UNKNOWN]), min_size=1, max_size=6)


def test_the_textbook_example():
    """Three seeds, differences -2, -3, -4: mean -3, standard error 1 / sqrt 3, Student's t 2.92, so clear up to
    -3 + 1.686."""
    values = {300: {0: -2.0, 1: -3.0, 2: -4.0}}
    assert spread(values) == pytest.approx((-3, 2.92 / math.sqrt(3), 3))
    assert below("", values, -1.3).outcome == YES
    assert below("", values, -1.4).outcome == PARTLY
    assert below("", values, -3.1).outcome == NO
    assert not_above("", values, -3.0).outcome == YES
    assert not_above("", values, -4.6).outcome == PARTLY  # above, but within chance
    assert not_above("", values, -4.7).outcome == NO
    assert within("", values, 4.7).outcome == YES
    assert within("", values, 4.6).outcome == PARTLY
    assert within("", values, 2.9).outcome == NO


def test_students_t():
    """Against the density integrated numerically: 95% of it lies below."""
    for freedom, t in enumerate(STUDENT, 1):
        x = numpy.linspace(-t, t, 200_001)
        density = (1 + x**2 / freedom) ** (-(freedom + 1) / 2)
        density *= math.gamma((freedom + 1) / 2) / (math.sqrt(freedom * math.pi) * math.gamma(freedom / 2))
        assert numpy.trapezoid(density, x) == pytest.approx(0.90, abs=2e-3)


def test_one_seed_needs_a_margin_and_is_named():
    assert below("", {1200: {0: -MARGIN / 2}}).outcome == PARTLY
    assert below("", {1200: {0: -MARGIN * 2}}).outcome == YES
    assert conclude([below("", {1200: {0: -1.0}})]).why == "One seed"
    assert conclude([below("", {1200: {0: -1.0, 1: -1.1}})]).why == "Spread over 2 seeds"


def test_one_long_training_has_the_spread_of_three_short_ones():
    """Standard deviation 0.1 of one training: one more may be 2.92 times that away from the mean."""
    short = {0: -0.9, 1: -1.0, 2: -1.1}
    assert spread({300: short, 1200: {0: -0.5}}) == pytest.approx((-0.5, 0.292, 3))
    assert below("", {300: short, 1200: {0: -0.30}}) == Check("", YES, 3)
    assert below("", {300: short, 1200: {0: -0.28}}) == Check("", PARTLY, 3)
    assert spread({300: short, 1200: {0: -0.5, 1: -0.5}})[1:] == (0.0, 2)  # it has a spread of its own


def test_the_longest_training_decides_and_a_shorter_one_may_object():
    assert below("", {300: {0: -1.0, 1: -1.1}, 1200: {0: -1.0}}) == Check("", YES, 2)
    assert below("", {300: {0: 1.0, 1: 1.1}, 1200: {0: -1.0}}).outcome == PARTLY
    assert below("", {300: {0: -1.0, 1: -1.1}, 1200: {0: 1.0}}).outcome == PARTLY
    assert below("", {300: {0: 0.1, 1: -0.05}, 1200: {0: -1.0}}).outcome == YES  # it objects to nothing clearly
    assert below("", {300: {0: 1.0}, 1200: {0: -1.0}}).outcome == YES  # one seed objects to nothing
    assert within("", {300: {0: 2.0, 1: 2.01}, 1200: {0: 0.0}}, 1.0).outcome == PARTLY


def test_only_equal_steps_and_equal_seeds_are_compared():
    one, other = {300: {0: 5.0, 1: 6.0}, 1200: {0: 1.0}}, {300: {1: 4.0, 2: 9.0}, 1500: {0: 3.0}}
    assert differences(one, other) == {300: {1: 2.0}}


@given(budgets, numbers)
def test_a_claim_and_its_contrary(samples, limit: float):
    """Whatever the numbers: they are never both clear, and nothing is known of nothing."""
    mirrored = {steps: {seed: -value for seed, value in values.items()} for steps, values in samples.items()}
    one, other = below("", samples, limit).outcome, below("", mirrored, -limit).outcome
    assert (one, other) != (YES, YES)
    assert (one == UNKNOWN) == (not any(samples.values())) == (other == UNKNOWN)
    if one == YES:
        assert not_above("", samples, limit).outcome == YES


@given(budgets, numbers, st.floats(0, 5))
def test_a_larger_limit_is_easier(samples, limit: float, more: float):
    order = {NO: 0, PARTLY: 1, YES: 2, UNKNOWN: 3}
    for rule in (below, not_above):
        assert order[rule("", samples, limit).outcome] <= order[rule("", samples, limit + more).outcome]


@given(outcomes)
def test_conclusions(found: list[str]):
    verdict = conclude([Check(str(i), outcome) for i, outcome in enumerate(found)])
    if UNKNOWN in found:
        expected = PART if YES in found and {PARTLY, NO} & set(found) else OPEN
    elif YES in found:
        expected = HOLDS if set(found) == {YES} else PART
    else:
        expected = FAILS
    assert verdict.word == expected
    for i, outcome in enumerate(found):
        if verdict.word == PART and outcome != YES:
            assert str(i) in verdict.why


@given(outcomes, st.sampled_from([YES, PARTLY, NO]))
def test_what_is_still_missing_never_turns_a_verdict_round(found: list[str], then: str):
    """A verdict that was given with parts missing stays when they are measured."""
    before = conclude([Check("", outcome) for outcome in found]).word
    after = conclude([Check("", then if outcome == UNKNOWN else outcome) for outcome in found]).word
    assert before in (OPEN, after)


def test_facts():
    assert [fact("", value).outcome for value in (True, False, None)] == [YES, NO, UNKNOWN]


def test_cells():
    assert tables.cell({}, ".2f") == tables.NOTHING
    assert tables.cell({0: 1.0}, ".2f") == "1.00 (one seed)"
    assert tables.cell({0: 1.0, 1: 2.0, 2: 3.0}, ".2f") == "2.00 ± 1.00 (3 seeds)"
