"""Estimates with their intervals, and the tests of the parts of a statement, shown beside the primary contrast.

The half-width of an interval at a one-sided level adds two errors as squares (Zou and Donner 2008):

    c² = (t s)² + (u e)²    s: standard error over seeds, t: quantile of Student's t with the degrees of freedom of s
                            e: standard error due to the sampling of texts, u: the quantile for TEXTS texts

A difference is paired: both models were trained with the same seed and number of steps, so on the same texts in the
same order, and evaluated on the same held-out texts. `No worse` is the test against a stated margin (non-inferiority;
two-sided: Schuirmann 1987). tests/models/test_verdicts.py compares them with scipy, and simulates error rates.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from numpy import ndarray
from scipy import optimize, special, stats

from models.messages import N_, message
from studies.claims.stored_text import NOTHING
from studies.per_text import chances_of_mean, limits_of_mean

YES, NO, UNCLEAR, UNKNOWN = "yes", "no", "unclear", "unknown"

LEVEL = 0.05  # error rate of each one-sided test, and false discovery rate over all statements
FEWEST = 3  # smallest number of trainings with different seeds for the verdict `holds`
TEXTS = 50  # number of texts in the smallest sample; its 49 degrees of freedom are used for every sample
TOLERANCE = 0.01  # the margin of `no worse`: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """The outcome of the test of one part of a statement."""

    what: str  # the part, worded as a true sentence
    outcome: str  # YES, NO, UNCLEAR or UNKNOWN
    value: float | None = None  # the value that is compared with the limit; None if the part is not one number
    # low, high: confidence limits of the value, each one-sided at 95%
    low: float | None = None
    high: float | None = None
    limit: float | None = None  # the part claims that the value is below this limit, or above it if `what` says so
    # p-value of the part: probability of such a value if the true value were at the limit or beyond it
    p_true: float | None = None
    p_false: float | None = None  # p-value of the opposite of the part
    # the value after the longest training; None if no training is longer than the deciding trainings
    later: float | None = None


def differences(first: Samples, second: Samples,
                scale: Callable[[float], float] = float) -> dict[int, dict[int, float]]:
    """Returns scale(first) - scale(second) for each training that is in both samples."""
    result = {}
    for steps in sorted(first.keys() & second.keys()):
        seeds = sorted(first[steps].keys() & second[steps].keys())
        if seeds:
            result[steps] = {seed: scale(first[steps][seed]) - scale(second[steps][seed]) for seed in seeds}
    return result


def deciding(samples: Samples) -> int:
    """Returns the largest number of steps with FEWEST seeds or more."""
    known = {steps: min(len(values), FEWEST) for steps, values in samples.items() if values}
    return max(known, key=lambda steps: (known[steps], steps), default=0)


@dataclass(frozen=True)
class Estimate:
    """The value of a contrast."""

    value: float  # mean over seeds
    # error, freedom: standard error over seeds and its degrees of freedom
    error: float = 0.0
    freedom: float = math.inf
    texts: float = 0.0  # standard error due to the sampling of texts
    trainings: int = 1  # number of trainings with different seeds; 0 if no training is involved
    steps: int = 0  # steps of these trainings
    shorter: Estimate | None = None  # the estimate after a shorter training

    def half(self, level: float = LEVEL) -> float:
        """Returns the half-width of the interval whose limits each have this error rate."""
        student = -float(special.stdtrit(self.freedom, level)) if math.isfinite(self.freedom) else stats.norm.isf(level)
        return math.hypot(student * self.error, -float(special.stdtrit(TEXTS - 1, level)) * self.texts)

    def p_above(self, limit: float) -> float:
        """Returns the one-sided p-value of "the true value is above the limit"."""
        if math.isnan(self.half()):
            return math.nan
        distance = self.value - limit
        if distance < 0:
            return 1 - replace(self, value=-self.value).p_above(-limit)
        if not distance:
            return 0.5
        lowest, highest = -30.0, math.log(0.5)

        def excess(log_level: float) -> float:
            return self.half(math.exp(log_level)) - distance

        return math.exp(lowest if excess(lowest) < 0 else optimize.brentq(excess, lowest, highest))

    def p_below(self, limit: float) -> float:
        """Returns the one-sided p-value of "the true value is below the limit"."""
        return replace(self, value=-self.value).p_above(-limit)


def of_values(values: Sequence[float], trainings: int = 1, texts: float = 0.0) -> Estimate | None:
    """Returns the mean of independent values, for example of trainings, probes or blocks; None for fewer than two."""
    if len(values) < 2:
        return None
    return Estimate(statistics.fmean(values), statistics.stdev(values) / math.sqrt(len(values)), len(values) - 1, texts,
                    trainings)


def below(what: str, samples: Samples, limit: float = 0.0, texts: float = 0.0) -> Check:
    """Tests whether the mean is below `limit`."""
    return _decided(what, samples, texts, limit, float)


def no_worse(what: str, samples: Samples, margin: float = TOLERANCE, texts: float = 0.0) -> Check:
    """Tests whether the mean is less than `margin` above 0."""
    return below(what, samples, margin, texts)


def within(what: str, samples: Samples, limit: float, texts: float = 0.0) -> Check:
    """Tests whether the mean is between -limit and limit, by two one-sided tests."""
    return _decided(what, samples, texts, limit, abs)


def _decided(what: str, samples: Samples, texts: float, limit: float, size: Callable[[float], float]) -> Check:
    """Tests size(mean) against the limit."""
    steps = deciding(samples)
    if not steps:
        return Check(what, UNKNOWN)
    values = list(samples[steps].values())
    value = size(statistics.fmean(values))
    mean = of_values(values, texts=texts)
    if mean is None:
        return Check(what, UNCLEAR, value, limit=limit)
    mean = replace(mean, value=value)
    half = mean.half()
    outcome = YES if value < limit - half else NO if value > limit + half else UNCLEAR
    later = max((count for count in samples if count > steps and samples[count]), default=0)
    after = size(statistics.fmean(samples[later].values())) if later else None
    check = Check(what, outcome, value, value - half, value + half, limit, mean.p_below(limit), mean.p_above(limit),
                  after)
    if outcome == NO and after is not None and after < limit:
        return replace(check, what=message("{what} (opposite after a longer training)", what=what), outcome=UNCLEAR)
    return check


def below_in_texts(what: str, values: Sequence[float] | ndarray | None, limit: float = 0.0, best_of: int = 1) -> Check:
    """Tests whether the mean over the texts of one training is below `limit`, by a bootstrap over texts."""
    if values is None or not len(values):
        return Check(what, UNKNOWN)
    low, high = limits_of_mean(values, LEVEL / best_of)
    p_true, p_false = (min(1.0, best_of * p) for p in chances_of_mean(values, limit))
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, float(sum(values) / len(values)), low, high, limit, p_true, p_false)


def by_error(what: str, value: float, error: float) -> Check:
    """Tests whether a value with a normal standard error is above 0."""
    if math.isnan(value) or math.isnan(error):
        return Check(what, UNKNOWN)
    reach = float(stats.norm.isf(LEVEL)) * error
    p = float(stats.norm.sf(value / error)) if error else float(value <= 0)
    outcome = YES if value > reach else NO if value < -reach else UNCLEAR
    return Check(what, outcome, value, value - reach, value + reach, 0.0, p, 1 - p)


def median_below(what: str, values: Sequence[float] | None, limit: float = 1.0) -> Check:
    """Tests whether the median over interleaved blocks is below `limit`: sign test, two-sided 90% interval."""
    if not values:
        return Check(what, UNCLEAR)
    p_true, p_false = (float(stats.quantile_test(values, q=limit, p=0.5, alternative=side).pvalue)
                       for side in ("less", "greater"))
    low, high = stats.quantile_test(values, q=limit, p=0.5).confidence_interval(1 - 2 * LEVEL)
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, statistics.median(values), float(low), float(high), limit, p_true, p_false)


def fact(what: str, is_true: bool | None) -> Check:
    """Returns the check of a part that is not statistical."""
    return Check(what, UNKNOWN if is_true is None else YES if is_true else NO)


def holm(values: Sequence[float | None]) -> list[float]:
    """Returns the p-values of the parts of one statement after Holm's correction; 1 for a part without a p-value."""
    p = [1.0 if value is None or math.isnan(value) else value for value in values]
    order = sorted(range(len(p)), key=p.__getitem__)
    result, largest = list(p), 0.0
    for rank, index in enumerate(order):
        largest = result[index] = max(largest, min(1.0, (len(p) - rank) * p[index]))
    return result


def table_of_parts(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Returns a table row for each part that is one number: value, limits and one-sided p-values."""
    rows = []
    true, false = (holm([getattr(check, side) for check in checks]) for side in ("p_true", "p_false"))
    for check, is_true, is_false in zip(checks, true, false, strict=True):
        if check.value is not None and check.limit is not None:
            interval = NOTHING if check.low is None or check.high is None else message(
                "{low:.3g} to {high:.3g}", low=check.low, high=check.high)
            rows.append({N_("part"): check.what, N_("value"): f"{check.value:.3g}", N_("limits"): interval,
                         N_("compared with"): f"{check.limit:.3g}",
                         N_("longest training"): NOTHING if check.later is None else f"{check.later:.3g}",
                         N_("p, holds"): _p_cell(is_true), N_("p, does not hold"): _p_cell(is_false)})
    return rows


def _p_cell(p: float | None) -> str:
    return NOTHING if p is None or math.isnan(p) else f"{p:.2g}" if p >= 1e-4 else "< 0.0001"
