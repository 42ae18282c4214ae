"""Tests of the rule of the verdicts on synthetic numbers: words, error rates, pooled spread, corrections."""

import math
from dataclasses import replace

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from studies import claims
from studies.claims import BUILT, FADES, FAILS, HOLDS, MISSING, ONCE, OPEN, SMALL, WORDS, Verdict
from studies.claims.contrast import POCOCK, corrected, decide, natural, pooled, word_of
from studies.claims.verdict import LEVEL, NO, Check, Estimate, holm

MARGIN, TRIALS = 0.02, 2000
TYPES, SEEDS, NOISE = 13, 3, 0.0073  # the design and the residual spread of the stories family


def simulated(truth: float, noise: float = NOISE) -> list[Estimate]:
    """Returns estimates of a difference of two types out of a family, each from a new family of trainings."""
    random, result = numpy.random.default_rng(4), []
    for _ in range(TRIALS):
        rows = random.standard_normal(SEEDS) + noise * random.standard_normal((TYPES, SEEDS))
        rows[0] += truth
        spread = pooled([{1: dict(enumerate(row.tolist()))} for row in rows])
        assert spread is not None
        result.append(Estimate(float((rows[0] - rows[1]).mean()), spread[0] * math.sqrt(2 / SEEDS), spread[1]))
    return result


def share(estimates: list[Estimate], word: str, looks: int = 1) -> float:
    return sum(word_of(estimate, MARGIN, None, looks)[0] == word for estimate in estimates) / len(estimates)


@pytest.mark.parametrize("noise", [0.002, NOISE, 0.02])
def test_a_true_difference_at_the_margin_holds_in_one_case_of_twenty_at_most(noise: float):
    assert share(simulated(MARGIN, noise), HOLDS) <= 0.06
    assert share(simulated(MARGIN, noise), SMALL) <= 0.06 and share(simulated(-MARGIN, noise), SMALL) <= 0.06
    assert share(simulated(0.0, noise), FAILS) <= 0.06
    assert share(simulated(MARGIN, noise), HOLDS, 3) <= 0.035  # a third look is paid for


def test_twice_the_margin_holds_in_four_cases_of_five():
    assert share(simulated(2 * MARGIN), HOLDS) >= 0.8
    assert share(simulated(0.0), SMALL) >= 0.8


def test_looking_again_errs_as_rarely_as_one_look():
    """Of four looks at growing data each at Pocock's level, one errs in about 5% of the cases."""
    drawn = numpy.random.default_rng(2).standard_normal((40_000, 4)).cumsum(1) / numpy.sqrt([1, 2, 3, 4])
    for looks, level in enumerate(POCOCK, 1):
        assert (drawn[:, :looks].max(1) > stats.norm.isf(level)).mean() == pytest.approx(LEVEL, abs=0.004)


@given(st.floats(-1, 1), st.floats(0.001, 1), st.floats(1, 60), st.floats(0, 1), st.floats(0.001, 1))
def test_the_word_is_that_of_the_interval(value: float, error: float, freedom: float, texts: float, margin: float):
    estimate = Estimate(value, error, freedom, texts)
    low, high = value - estimate.half(), value + estimate.half()
    both = math.hypot(stats.t.isf(0.05, freedom) * error, stats.t.isf(0.05, 49) * texts)  # 50 texts have 49 degrees
    assert estimate.half() == pytest.approx(both, rel=1e-9)
    expected = HOLDS if low > margin else SMALL if -margin < low and high < margin else FAILS if high < 0 else OPEN
    near = min(abs(low - margin), abs(high - margin), abs(low + margin), abs(high)) < 1e-6
    assert near or word_of(estimate, margin, None)[0] == expected
    limited = HOLDS if high < margin else FAILS if low > margin else OPEN
    assert near or word_of(estimate, None, margin)[0] == limited
    assert estimate.p_above(margin) + estimate.p_below(margin) == pytest.approx(1)


def test_the_pooled_spread_is_that_of_the_residuals_of_type_and_seed():
    """Types and seeds add, so only what is left varies: here exactly 0, and 1 degree of freedom for a 2 x 2 table."""
    assert pooled([{1: {0: 1.0, 1: 2.0}}, {1: {0: 5.0, 1: 6.0}}]) == (pytest.approx(0.0, abs=1e-9), 1)
    spread = pooled([{1: {0: 1.0, 1: 3.0}, 2: {0: 1.0}}, {1: {0: 0.0, 1: 0.0}}])
    assert spread == (pytest.approx(1.0), 1)
    assert pooled([{1: {0: 1.0}}]) is None


@pytest.fixture
def toy(monkeypatch):
    """Returns a function that decides a statement with these fields."""
    def judged(fields: dict, estimate: Estimate | None, checks=()) -> Verdict:
        monkeypatch.setattr(claims, "entry", lambda key: fields)
        return decide("toy", estimate, checks)

    return judged


CLEAR = Estimate(0.05, 0.001, 24, trainings=3, steps=4800)


def test_one_training_is_seen_once_and_three_hold(toy):
    assert toy({"margin": 2, "unit": "%"}, CLEAR).word == HOLDS
    assert toy({"margin": 2, "unit": "%"}, replace(CLEAR, trainings=1)).word == ONCE
    assert toy({"margin": 2, "unit": "%"}, replace(CLEAR, trainings=0)).word == HOLDS  # no training is involved
    assert toy({"limit": 2, "unit": "%"}, replace(CLEAR, trainings=1)).word == FAILS
    assert toy({"least": 0.01}, CLEAR).word == HOLDS and toy({"least": 0.1}, CLEAR).word == FAILS
    assert toy({"construction": True}, None).word == BUILT and toy({"margin": 1}, None).word == MISSING
    shown = toy({"margin": 2, "unit": "%"}, CLEAR)
    assert shown.value == pytest.approx(100 * math.expm1(0.05), abs=1e-3) and shown.low < shown.value < shown.high


def test_an_effect_fades_only_if_its_change_is_significant(toy):
    later = Estimate(0.0, 0.004, 24, trainings=3, steps=4800)
    assert toy({"margin": 2, "unit": "%"}, replace(later, shorter=replace(CLEAR, steps=1200))).word == FADES
    assert toy({"margin": 2, "unit": "%"}, replace(later, shorter=replace(later, value=0.005))).word == SMALL
    noisy = replace(later, error=0.05, shorter=replace(CLEAR, steps=1200))
    assert toy({"margin": 2, "unit": "%"}, noisy).word == OPEN


def test_one_counterexample_refutes_every(toy):
    parts = [Check("a part", NO, p_false=0.01), Check("another", NO, p_false=0.9)]
    assert toy({"limit": 9, "unit": "%", "every": True}, CLEAR, parts).word == FAILS
    doubtful = [replace(parts[0], p_false=0.04), parts[1]]
    assert toy({"limit": 9, "unit": "%", "every": True}, CLEAR, doubtful).word == HOLDS
    assert toy({"limit": 9, "unit": "%"}, CLEAR, parts).word == HOLDS


def test_holms_correction():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])  # scipy has no such function
    assert holm([None, 0.02]) == pytest.approx([1.0, 0.04]) and holm([]) == []


def test_all_contrasts_are_corrected_together():
    """Benjamini and Hochberg's example of 1995: the first four of fifteen hypotheses are rejected at 5%."""
    p_values = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528,
                0.7590, 1.0]
    words = [its.word for its in corrected([*(Verdict(HOLDS, "", 3, 1200, p) for p in p_values), Verdict(BUILT, "")])]
    assert words == [HOLDS] * 4 + [OPEN] * 11 + [BUILT]
    assert corrected([]) == []


def test_each_statement_has_one_contrast_with_one_margin():
    for path in claims.STATEMENTS.glob("*.toml"):
        own = claims.entry(path.stem)
        assert sum(name in own for name in ("margin", "limit", "least", "construction")) == 1, path.stem
        assert {"text", "source", "basis", "contrast"} <= own.keys() and 1 <= own.get("looks", 1) <= len(POCOCK)
    assert natural({"margin": 2, "unit": "%"}, "margin") == pytest.approx(math.log(1.02))
    assert len(WORDS) == 8
