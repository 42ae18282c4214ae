"""Tests of the tests of a statement's parts, on synthetic numbers."""

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from studies import per_text
from studies.claims import tables, verdict
from studies.claims.verdict import LEVEL, NO, TEXTS, UNCLEAR, UNKNOWN, YES

numbers = st.floats(-10, 10)
seeds = st.dictionaries(st.integers(0, 5), numbers, max_size=4)
budgets = st.dictionaries(st.sampled_from([1200, 4800]), seeds, max_size=2)


def test_the_textbook_example():
    """Differences -2, -3, -4: mean -3, error 1 / sqrt 3, Student's t 2.92: clear for limits outside -3 ± 1.686."""
    values = {1200: {0: -2.0, 1: -3.0, 2: -4.0}}
    estimate = verdict.of_values([*values[1200].values()])
    assert (estimate.value, estimate.half()) == pytest.approx((-3, 2.92 / math.sqrt(3)), abs=1e-4)
    check = verdict.below("", values, -1.3)
    assert (check.outcome, check.limit) == (YES, -1.3)
    assert (check.value, check.low, check.high) == pytest.approx((-3, -4.686, -1.314), abs=1e-3)
    assert verdict.below("", values, -1.4).outcome == UNCLEAR
    assert verdict.below("", values, -4.6).outcome == UNCLEAR
    assert verdict.below("", values, -4.7).outcome == NO
    assert verdict.within("", values, 4.7).outcome == YES
    assert verdict.within("", values, 4.6).outcome == UNCLEAR
    assert verdict.within("", values, 1.3).outcome == NO
    assert verdict.within("", {1200: {0: 2.0, 1: 3.0, 2: 4.0}}, 1.3).outcome == NO


@pytest.mark.parametrize("limit", [-9.0, -4.7, -3.5, -3.0, -1.3, 0.0, 5.0])
def test_p_values_are_those_of_students_t(limit: float):
    """Without an error of texts the p-value equals scipy's. The p-values of both sides sum to 1."""
    values = [-2.0, -3.0, -4.0]
    check = verdict.below("", {1200: dict(enumerate(values))}, limit)
    assert check.p_true == pytest.approx(stats.ttest_1samp(values, limit, alternative="less").pvalue, rel=1e-4)
    assert check.p_true + check.p_false == pytest.approx(1)
    assert (check.p_true < LEVEL) == (check.outcome == YES) and (check.p_false < LEVEL) == (check.outcome == NO)


def test_texts_add_to_chance():
    """The errors of few seeds and of hundreds of texts are independent, so 3 and 4 combine to 5."""
    student, many = stats.t.isf(LEVEL, [1, TEXTS - 1])
    values = [-3.0 / student, 3.0 / student]  # the standard deviation is sqrt 2 times the standard error
    check = verdict.below("", {1200: dict(enumerate(values))}, texts=4.0 / many)
    assert (check.low, check.high) == pytest.approx((-5.0, 5.0))
    assert verdict.below("", {1200: {0: -2.0, 1: -3.0, 2: -4.0}}, -1.3, texts=0.2).outcome == UNCLEAR


def test_the_longest_training_of_three_seeds_decides():
    assert verdict.deciding({}) == verdict.deciding({1200: {}}) == 0
    assert verdict.deciding({1200: {0: 1.0, 1: 1.0}, 4800: {0: 1.0}}) == 1200
    three = {0: 1.0, 1: 1.0, 2: 1.0}
    assert verdict.deciding({1200: three, 4800: {0: 1.0, 1: 1.0}}) == 1200
    assert verdict.deciding({1200: three, 4800: three}) == 4800
    assert verdict.deciding({1200: {0: 1.0}, 4800: {0: 1.0}}) == 4800


CLEAR = {0: -1.0, 1: -1.01, 2: -0.99}


def test_a_longer_training_may_contradict_what_does_not_hold():
    assert verdict.below("", {1200: {0: 1.0, 1: 1.01, 2: 0.99}, 4800: {0: 0.5}}).outcome == NO
    check = verdict.below("", {1200: {0: 1.0, 1: 1.01, 2: 0.99}, 4800: {0: -0.5}})
    assert check.outcome == UNCLEAR and "longer training" in check.what
    # a shorter training has no effect on the verdict
    assert verdict.below("", {300: {0: 5.0, 1: 5.1}, 1200: CLEAR}).outcome == YES


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("texts", [0.02, 0.2, 0.5, 1.0, 2.0, 20.0])
def test_seeds_and_texts_together_err_once_in_twenty_at_most(count: int, texts: float):
    """At the limit the error rate is about 5% at most, whether seeds or texts vary more; seeds share the texts."""
    random = numpy.random.default_rng(5)
    drawn = random.standard_normal((20_000, count)) * count**0.5 + texts * random.standard_normal((20_000, 1))
    estimates = (verdict.of_values(row, texts=texts) for row in drawn.tolist())
    erred = sum(its.value + its.half() < 0 for its in estimates) / len(drawn)
    assert 0.015 < erred < 0.055


def test_a_bootstrap_over_texts_errs_as_rarely():
    random = numpy.random.default_rng(6)
    drawn = random.standard_normal((400, 64)) * 0.1
    found = [verdict.below_in_texts("", row).outcome for row in drawn]
    assert found.count(YES) / 400 < 0.08 and found.count(NO) / 400 < 0.08
    assert verdict.below_in_texts("", [-0.01]).outcome == verdict.below_in_texts("", [-0.01, -0.02]).outcome == UNCLEAR
    assert verdict.below_in_texts("", [-0.1 - 0.2, -0.3] * 5).outcome == YES  # equal values except for rounding
    assert verdict.below_in_texts("", drawn[0] - 0.2).outcome == YES
    assert verdict.below_in_texts("", drawn[0] + 0.2).outcome == NO
    assert verdict.below_in_texts("", None).outcome == verdict.below_in_texts("", []).outcome == UNKNOWN


def test_the_bootstraps_p_value_agrees_with_students_t():
    """For 200 texts without skew the bootstrap's p-value agrees with Student's t."""
    drawn = numpy.random.default_rng(9).standard_normal(200)
    for limit in (0.0, 0.1, 0.15):
        check = verdict.below_in_texts("", drawn, limit)
        assert check.p_true == pytest.approx(stats.ttest_1samp(drawn, limit, alternative="less").pvalue, abs=0.02)
        assert check.p_true + check.p_false == pytest.approx(1, abs=2e-3)
    once, of_three = (verdict.below_in_texts("", drawn, 0.15, best_of=count).p_true for count in (1, 3))
    assert of_three == pytest.approx(min(1, 3 * once))


def test_a_median_is_judged_by_the_sign_test():
    """At least 20 of 30 blocks must be on one side of the limit. Two outliers change nothing."""
    def ratios(fast: int) -> list[float]:
        return [0.9] * (fast - 1) + [0.01] + [1.1] * (29 - fast) + [99.0]

    assert [verdict.median_below("", ratios(fast)).outcome for fast in (10, 12, 15, 18, 20, 29)] == [
        NO, UNCLEAR, UNCLEAR, UNCLEAR, YES, YES]
    assert verdict.median_below("", ratios(20)).p_true == pytest.approx(stats.binom.cdf(10, 30, 0.5))
    assert verdict.median_below("", None).outcome == verdict.median_below("", []).outcome == UNCLEAR


def test_a_normal_error_decides_at_95_percent_and_a_fact_at_once():
    assert [verdict.by_error("", value, 1.0).outcome for value in (1.7, 1.6, -1.6, -1.7)] == [YES, UNCLEAR, UNCLEAR, NO]
    assert verdict.by_error("", 1.645, 1.0).p_true == pytest.approx(0.05, abs=1e-4)
    assert verdict.by_error("", math.nan, 1.0).outcome == verdict.by_error("", 1.0, math.nan).outcome == UNKNOWN
    assert [verdict.fact("", value).outcome for value in (True, False, None)] == [YES, NO, UNKNOWN]


def test_few_texts_that_are_skewed_err_nearly_as_rarely():
    """For 32 exponential texts, 5% err, half per side; quantiles of resampled means had 9% to 11%."""
    random = numpy.random.default_rng(8)
    drawn = random.exponential(size=(800, 32)) - 1
    found = [verdict.below_in_texts("", row).outcome for row in drawn]
    assert found.count(YES) / 800 < 0.075 and found.count(NO) / 800 < 0.06
    corrected = [verdict.below_in_texts("", row, best_of=2).outcome for row in drawn]
    assert corrected.count(YES) / 800 < 0.045 and corrected.count(YES) < found.count(YES)


def test_the_bootstraps_error_is_the_textbooks():
    """The standard deviation over sqrt n, or the standard error of the weighted mean."""
    values = numpy.random.default_rng(7).standard_normal(200)
    assert per_text.error(values) == pytest.approx(values.std() / math.sqrt(200), rel=0.08)
    weights = numpy.where(numpy.arange(200) < 100, 1.0, 0.0)  # half of the texts have weight 0
    assert per_text.error(values, weights) == pytest.approx(values[:100].std() / 10, rel=0.1)
    assert per_text.resampled(values, weights).mean() == pytest.approx(values[:100].mean(), abs=0.02)
    assert math.isnan(per_text.error(values[:1])) and math.isnan(per_text.error(values[:0]))


def test_what_is_not_known_of_texts_makes_nothing_clear():
    assert verdict.below("", {1200: {0: -5.0, 1: -5.1, 2: -4.9}}, texts=math.nan).outcome == UNCLEAR


def test_only_equal_steps_and_equal_seeds_are_compared():
    one, other = {300: {0: 5.0, 1: 6.0}, 1200: {0: 1.0}}, {300: {1: 4.0, 2: 9.0}, 1500: {0: 3.0}}
    assert verdict.differences(one, other) == {300: {1: 2.0}}


@given(budgets, numbers)
def test_a_statement_and_its_contrary_have_opposite_outcomes(samples, limit: float):
    """Without data neither is decided; a longer training with the opposite result leaves the contrary open."""
    mirrored = {steps: {seed: -value for seed, value in values.items()} for steps, values in samples.items()}
    one, other = verdict.below("", samples, limit), verdict.below("", mirrored, -limit)
    contrary = {YES: NO, NO: YES}
    is_reversed = one.later is not None and one.value is not None and one.outcome != other.outcome and (
        (one.value - limit) * (one.later - limit) < 0)
    if is_reversed:
        holds, denied = (one, other) if one.outcome == YES else (other, one)
        assert (holds.outcome, denied.outcome) == (YES, UNCLEAR)
    else:
        assert other.outcome == contrary.get(one.outcome, one.outcome)
    assert (one.outcome == UNKNOWN) == (not any(samples.values()))
    if verdict.within("", samples, abs(limit)).outcome == YES:
        assert verdict.no_worse("", samples, abs(limit)).outcome == YES


@given(budgets, numbers, st.floats(0, 5))
def test_a_larger_limit_is_easier(samples, limit: float, more: float):
    """With one training length, a larger limit never makes a statement harder to confirm; with several it can."""
    one = dict(list(samples.items())[:1])
    order = {NO: 0, UNCLEAR: 1, YES: 2, UNKNOWN: 3}
    assert order[verdict.below("", one, limit).outcome] <= order[verdict.below("", one, limit + more).outcome]


def test_cells():
    assert tables.cell({}, ".2f") == tables.NOTHING
    assert tables.cell({0: 1.0}, ".2f") == "1.00 (one seed)"
    assert tables.cell({0: 1.0, 1: 2.0, 2: 3.0}, ".2f") == "2.00 ± 1.69 (3 seeds)"  # 2.92 / sqrt 3
