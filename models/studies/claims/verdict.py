"""Verdicts by rule: tests the parts of a statement and concludes a word from them. rules.md explains the rules.

A difference is paired: two models trained with the same seed and steps, so on the same texts in the same order, and
measured on the same held-out texts. The largest number of steps with three seeds or more decides, by its mean m and

    c² = (t s)² + (u e)²    s: standard error over seeds, t: Student's of seeds − 1 at 95% on one side
                            e: standard error by the choice of texts, u: the same of fifty texts
                            (squares of each one's own limits: Zou and Donner 2008)

    clearly below a limit: m + c < limit     clearly not: m − c > limit     else it cannot be told

The p-value of a part is the level at which m + c (or m − c) would touch the limit. `No worse` is the same test against
a stated margin (non-inferiority; of two sides, Schuirmann 1987). After a longer training of fewer seeds a part fades
where less than half of its distance to the limit is left. tests/models/test_verdicts.py simulates how often each rule
errs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from numpy import ndarray
from scipy import optimize, special, stats

from models.messages import N_, listed, told, told_n
from models.studies.bootstrap import chances_of_mean, limits_of_mean
from models.studies.claims.statement import BUILT, FADES, FAILS, HOLDS, ONCE, OPEN, PART, UNSURE, Verdict

YES, NO, UNCLEAR, UNKNOWN = "yes", "no", "unclear", "unknown"

LEVEL = 0.05  # of each one-sided test, and of the false discovery rate over all statements
FEWEST = 3  # trainings that differ by their seed, of which a statement holds
LEFT = 0.5  # share of a part's distance to its limit that is still there after the longest training
TEXTS = 50  # texts drawn again, of which there are this many at least
TOLERANCE = 0.01  # what `no worse` allows: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """One part of a statement.

    Attributes:
        what: in words, as what should be true.
        outcome: YES, NO, UNCLEAR or UNKNOWN.
        seeds: trainings that tell what is chance; 0 if unknown, None if the part is not about a training.
        steps: of the training that decides; 0 if unknown or not about one.
        value: what is compared with the limit; None where it is not one number.
        low, high: limits of the value, each at 95% on one side.
        limit: what the value is to be below, or above where `what` says so.
        p_true: chance of such a value if the truth were at the limit or above.
        p_false: chance of such a value if the truth were at the limit or below.
        later: the value after the longest training; None where none is longer.
        fades: less than LEFT of the distance to the limit is left by then.
    """

    what: str
    outcome: str
    seeds: int | None = None
    steps: int = 0
    value: float | None = None
    low: float | None = None
    high: float | None = None
    limit: float | None = None
    p_true: float | None = None
    p_false: float | None = None
    later: float | None = None
    fades: bool = False


def differences(one: Samples, other: Samples, scale: Callable[[float], float] = float) -> dict[int, dict[int, float]]:
    """Returns steps -> seed -> scale(one) - scale(other), where both were measured."""
    result = {}
    for steps in sorted(one.keys() & other.keys()):
        seeds = sorted(one[steps].keys() & other[steps].keys())
        if seeds:
            result[steps] = {seed: scale(one[steps][seed]) - scale(other[steps][seed]) for seed in seeds}
    return result


def deciding(samples: Samples) -> int:
    """Returns the largest number of steps with FEWEST seeds or more; of fewer seeds, that with the most; 0 if nothing
    was measured."""
    known = {steps: min(len(values), FEWEST) for steps, values in samples.items() if values}
    return max(known, key=lambda steps: (known[steps], steps), default=0)


def mean_and_chance(values: Sequence[float], texts: float = 0.0, level: float = LEVEL) -> tuple[float, float]:
    """Returns the mean, and how far from it is still chance.

    Args:
        values: one per seed, two or more.
        texts: standard error of the mean by the choice of texts, which all seeds share.
        level: chance of a truth that is farther away, on one side.
    """
    error = statistics.stdev(values) / math.sqrt(len(values))
    student, many = (-float(special.stdtrit(count - 1, level)) for count in (len(values), TEXTS))
    return statistics.fmean(values), math.hypot(student * error, many * texts)


def _chance_of(distance: float, values: Sequence[float], texts: float) -> float:
    """Returns the level at which the mean of `values` would be just `distance` beyond a limit; 1/2 at the limit."""
    if math.isnan(texts):
        return math.nan
    if distance <= 0:
        return 1 - _chance_of(-distance, values, texts) if distance < 0 else 0.5

    error = statistics.stdev(values) / math.sqrt(len(values))
    if not texts:
        return float(special.stdtr(len(values) - 1, -distance / error)) if error else 0.0

    def excess(log_level: float) -> float:
        return mean_and_chance(values, texts, math.exp(log_level))[1] - distance

    lowest, highest = -30.0, math.log(0.5)
    return math.exp(lowest if excess(lowest) < 0 else optimize.brentq(excess, lowest, highest))


def below(what: str, samples: Samples, limit: float = 0.0, texts: float = 0.0) -> Check:
    """Tests whether the mean is below `limit`."""
    return _decided(what, samples, texts, limit, float)


def no_worse(what: str, samples: Samples, margin: float = TOLERANCE, texts: float = 0.0) -> Check:
    """Tests whether the mean is above 0 by less than `margin`."""
    return below(what, samples, margin, texts)


def within(what: str, samples: Samples, limit: float, texts: float = 0.0) -> Check:
    """Tests whether the mean is between -limit and limit, by two tests of one side each."""
    return _decided(what, samples, texts, limit, abs)


def _decided(what: str, samples: Samples, texts: float, limit: float, size: Callable[[float], float]) -> Check:
    """Tests size(mean) against the limit; `size` has a slope of 1 at most, so chance of a mean is chance of it."""
    steps = deciding(samples)
    if not steps:
        return Check(what, UNKNOWN, 0)
    values = list(samples[steps].values())
    value = size(statistics.fmean(values))
    if len(values) == 1:
        return Check(what, UNCLEAR, 1, steps, value, limit=limit)
    mean, chance = mean_and_chance(values, texts)
    over = value - limit
    outcome = YES if over < -chance else NO if over > chance else UNCLEAR
    later = max((count for count in samples if count > steps and samples[count]), default=0)
    after = size(statistics.fmean(samples[later].values())) if later else None
    check = Check(what, outcome, len(values), steps, value, value - chance, value + chance, limit,
                  _chance_of(-over, values, texts), _chance_of(over, values, texts), after,
                  after is not None and limit - after < LEFT * (limit - value))
    if outcome == NO and after is not None and after < limit:
        return replace(check, what=told("{what} (a longer training says otherwise)", what=what), outcome=UNCLEAR)
    return check


def below_in_texts(what: str, values: Sequence[float] | ndarray | None, limit: float = 0.0, best_of: int = 1) -> Check:
    """Tests whether the mean of one training's texts is below `limit`, by a bootstrap over its texts.

    Args:
        values: one per text; None while not measured. A single one is not clear.
        best_of: how many were compared to choose this one, which makes chance so many times as likely (Bonferroni).
    """
    if values is None or not len(values):
        return Check(what, UNKNOWN, 0)
    low, high = limits_of_mean(values, LEVEL / best_of)
    p_true, p_false = (min(1.0, best_of * p) for p in chances_of_mean(values, limit))
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, 1, 0, float(sum(values) / len(values)), low, high, limit, p_true, p_false)


def by_error(what: str, value: float, error: float, seeds: int | None = None) -> Check:
    """Tests whether a value with a normal standard error is above 0; both NaN while it is not known.

    Args:
        seeds: 1 where it is about one training.
    """
    if math.isnan(value) or math.isnan(error):
        return Check(what, UNKNOWN, seeds)
    reach = float(stats.norm.isf(LEVEL)) * error
    p = float(stats.norm.sf(value / error)) if error else float(value <= 0)
    outcome = YES if value > reach else NO if value < -reach else UNCLEAR
    return Check(what, outcome, seeds, 0, value, value - reach, value + reach, 0.0, p, 1 - p)


def median_below(what: str, values: Sequence[float] | None, limit: float = 1.0) -> Check:
    """Tests whether the median of interleaved blocks is below `limit`, by the sign test; its interval has 90%.

    Args:
        values: one per block; None while not measured by blocks.
    """
    if not values:
        return Check(what, UNCLEAR)
    p_true, p_false = (float(stats.quantile_test(values, q=limit, p=0.5, alternative=side).pvalue)
                       for side in ("less", "greater"))
    low, high = stats.quantile_test(values, q=limit, p=0.5).confidence_interval(1 - 2 * LEVEL)
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, None, 0, statistics.median(values), float(low), float(high), limit, p_true, p_false)


def of_one_training(check: Check) -> Check:
    """Returns the check as one about a single training, whose seeds are of probes, fine-tunings or gates."""
    return replace(check, seeds=min(1, check.seeds or 0), steps=0)


def fact(what: str, is_true: bool | None) -> Check:
    """A part that chance has no share in; None while unknown."""
    return Check(what, UNKNOWN if is_true is None else YES if is_true else NO)


def conclude(checks: Sequence[Check], by_construction: bool = False) -> Verdict:
    """Returns the verdict on a statement before all statements are looked at together (`corrected`).

    holds: every part clearly, by three trainings or more, and no part fades. fades with training, seen once, by
    construction: every part clearly, but one fades, or has fewer than three trainings, or the statement follows from
    what is computed. holds in part: a part clearly, another clearly not. does not hold here: a part clearly not, none
    clearly. inconclusive: else. not measured yet: parts that are missing could still decide.
    """
    outcomes = [check.outcome for check in checks]
    missing = outcomes.count(UNKNOWN)
    known = len(checks) - missing
    if missing and not (YES in outcomes and NO in outcomes):
        return Verdict(OPEN, told("{known} of {count} parts are measured", known=known, count=len(checks))
                       if known else "", *fewest(checks))
    if NO in outcomes:
        word = PART if YES in outcomes else FAILS
    elif UNCLEAR in outcomes:
        word = UNSURE
    else:
        seen_once = any(check.seeds is not None and check.seeds < FEWEST for check in checks)
        word = BUILT if by_construction else FADES if any(check.fades for check in checks) else \
            ONCE if seen_once else HOLDS
    parts = [_count(checks)] if len(checks) > 1 else []
    labels = {UNCLEAR: N_("Cannot be told: {parts}"), NO: N_("Not: {parts}"), UNKNOWN: N_("Not measured yet: {parts}")}
    parts += [told(label, parts=listed((check.what for check in checks if check.outcome == outcome), N_("; ")))
              for outcome, label in labels.items() if outcome in outcomes]
    if fading := [check.what for check in checks if check.outcome == YES and check.fades]:
        parts.append(told("Less than half of it is left after the longest training: {parts}",
                          parts=listed(fading, N_("; "))))
    return Verdict(word, listed([*parts, *_budget(checks)], N_(". ")), *fewest(checks), chance(checks, word),
                   parts=table_of_parts(checks))


def table_of_parts(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Returns a row per part that is one number: its value with both limits, what it is compared with, and one-sided
    p-values; differences of logarithms and nats are shown as they are tested."""
    rows = []
    for check in checks:
        if check.value is not None and check.limit is not None:
            interval = "–" if check.low is None or check.high is None else f"{check.low:.3g} to {check.high:.3g}"
            rows.append({N_("part"): check.what, N_("value"): f"{check.value:.3g}", N_("limits"): interval,
                         N_("compared with"): f"{check.limit:.3g}",
                         N_("after the longest training"): "–" if check.later is None else f"{check.later:.3g}",
                         N_("p, holds"): _p_cell(check.p_true), N_("p, does not hold"): _p_cell(check.p_false)})
    return rows


def _p_cell(p: float | None) -> str:
    return "–" if p is None or math.isnan(p) else f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def chance(checks: Sequence[Check], word: str) -> float | None:
    """Returns the two-sided p-value of what a word says: that all parts are true, or that one is not.

    All parts true: the largest of their p-values (intersection-union test). One not true: the smallest, times the
    number of parts (Bonferroni). None where no part has a p-value.
    """
    known = [(check.p_true, check.p_false) for check in checks if check.p_true is not None and
             check.p_false is not None and not math.isnan(check.p_true + check.p_false)]
    if word == OPEN or not known:
        return None
    all_true = max(true for true, _ in known)
    one_true, one_false = (min(1.0, len(known) * min(side)) for side in zip(*known, strict=True))
    p = {FAILS: one_false, PART: max(one_true, one_false), UNSURE: min(all_true, one_false)}.get(word, all_true)
    return min(1.0, 2 * p)


def corrected(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Returns the verdicts with their q-values over all statements (Benjamini and Hochberg 1995); what is decided at a
    q-value above LEVEL becomes inconclusive."""
    known = [verdict.p for verdict in verdicts if verdict.p is not None]
    q_values = iter(stats.false_discovery_control(known).tolist() if known else [])
    result = []
    for verdict in verdicts:
        q = None if verdict.p is None else next(q_values)
        if q is not None and q > LEVEL and verdict.word not in (UNSURE, OPEN):
            verdict = replace(verdict, word=UNSURE, why=listed((
                told("Not beyond chance among all statements (q = {q:.2f})", q=q), verdict.why), N_(". ")))
        result.append(replace(verdict, q=q))
    return result


def fewest(checks: Sequence[Check]) -> tuple[int, int]:
    """Returns the seeds and steps of the part with the fewest seeds; (0, 0) where no part is about a training."""
    return min(((check.seeds, check.steps) for check in checks if check.seeds), default=(0, 0))


def _budget(checks: Sequence[Check]) -> list[str]:
    """Returns what is said of seeds and steps, those of the part with the fewest."""
    seeds, steps = fewest(checks)
    if not seeds:
        return []
    if not steps:
        return [told("One training each, so other seeds may differ")]
    if seeds == 1:
        return [told("One seed of {steps:,} steps, which tells nothing of chance", steps=steps)]
    return [told_n("Decided by {n} seed of {steps:,} steps", "Decided by {n} seeds of {steps:,} steps", seeds,
                   steps=steps)]


def _count(checks: Sequence[Check]) -> str:
    held = sum(check.outcome == YES for check in checks)
    if held < len(checks):
        return told("{held} of {count} parts hold", held=held, count=len(checks))
    return told("Both parts hold") if len(checks) == 2 else told("All {count} parts hold", count=len(checks))
