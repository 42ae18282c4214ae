"""Rules that decide verdicts: tests each part of a statement and combines the outcomes. rules.md explains the rules.

A difference is paired: both models were trained with the same seed and number of steps, so on the same texts in the
same order, and evaluated on the same held-out texts. The largest number of steps with three seeds or more decides, by
the mean m over seeds and the margin c:

    c² = (t s)² + (u e)²    s: standard error over seeds; t: one-sided 95% quantile of Student's t, seeds − 1
                            e: standard error due to the sampling of texts; u: the same quantile for fifty texts
                            (the margins of both errors are added as squares: Zou and Donner 2008)

    clearly below a limit: m + c < limit     clearly not below: m − c > limit     otherwise unclear

The p-value of a part is the significance level at which m + c (or m − c) equals the limit. `No worse` is the test
against a stated margin (non-inferiority; two-sided: Schuirmann 1987). A part fades if a longer training with fewer
seeds leaves less than half of its distance to the limit. tests/models/test_verdicts.py simulates the error rate of
each rule.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from numpy import ndarray
from scipy import optimize, special, stats

from models.messages import N_, listed, message, plural_message
from studies.bootstrap import chances_of_mean, limits_of_mean
from studies.claims.statement import BUILT, FADES, FAILS, HOLDS, ONCE, OPEN, PART, UNSURE, Verdict

YES, NO, UNCLEAR, UNKNOWN = "yes", "no", "unclear", "unknown"

LEVEL = 0.05  # error rate of each one-sided test, and false discovery rate over all statements
FEWEST = 3  # smallest number of trainings with different seeds for the verdict `holds`
LEFT = 0.5  # a part fades if less than this fraction of its distance to the limit is left after the longest training
TEXTS = 50  # number of texts in the smallest sample; its degrees of freedom are used for every sample
TOLERANCE = 0.01  # the margin of `no worse`: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """The outcome of the test of one part of a statement.

    Attributes:
        what: the part, worded as a true sentence.
        outcome: YES, NO, UNCLEAR or UNKNOWN.
        seeds: number of trainings with different seeds; 0 if unknown, None if the part does not depend on a training.
        steps: steps of the deciding trainings; 0 if unknown or if the part does not depend on a training.
        value: the value that is compared with the limit; None if the part is not one number.
        low, high: confidence limits of the value, each one-sided at 95%.
        limit: the part claims that the value is below this limit, or above it if `what` says so.
        p_true: p-value of the part: probability of such a value if the true value were at the limit or beyond it.
        p_false: p-value of the opposite of the part.
        later: the value after the longest training; None if no training is longer than the deciding trainings.
        fades: True if less than LEFT of the distance to the limit is left after the longest training.
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


def differences(first: Samples, second: Samples,
                scale: Callable[[float], float] = float) -> dict[int, dict[int, float]]:
    """Returns scale(first) - scale(second) for each training that is in both samples.

    Args:
        first, second: samples of two models.
        scale: a function that is applied to each value first, for example math.log.

    Returns:
        steps -> seed -> difference.
    """
    result = {}
    for steps in sorted(first.keys() & second.keys()):
        seeds = sorted(first[steps].keys() & second[steps].keys())
        if seeds:
            result[steps] = {seed: scale(first[steps][seed]) - scale(second[steps][seed]) for seed in seeds}
    return result


def deciding(samples: Samples) -> int:
    """Returns the largest number of steps with FEWEST seeds or more.

    If no number of steps has FEWEST seeds, the number with the most seeds is returned; 0 without samples.

    Args:
        samples: samples of one model, or differences.
    """
    known = {steps: min(len(values), FEWEST) for steps, values in samples.items() if values}
    return max(known, key=lambda steps: (known[steps], steps), default=0)


def mean_and_chance(values: Sequence[float], texts: float = 0.0, level: float = LEVEL) -> tuple[float, float]:
    """Returns the mean and the half-width of its one-sided confidence interval.

    Args:
        values: one value per seed, two or more.
        texts: standard error of the mean due to the sampling of texts, which are the same for all seeds.
        level: one-sided error rate.
    """
    error = statistics.stdev(values) / math.sqrt(len(values))
    student, many = (-float(special.stdtrit(count - 1, level)) for count in (len(values), TEXTS))
    return statistics.fmean(values), math.hypot(student * error, many * texts)


def _chance_of(distance: float, values: Sequence[float], texts: float) -> float:
    """Returns the one-sided p-value of a mean whose distance from the limit is `distance`; 1/2 at the limit."""
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
    """Tests whether the mean is below `limit`.

    Args:
        what: the part in words.
        samples: samples of one model, or differences.
        limit: limit of the mean.
        texts: standard error due to the sampling of texts.
    """
    return _decided(what, samples, texts, limit, float)


def no_worse(what: str, samples: Samples, margin: float = TOLERANCE, texts: float = 0.0) -> Check:
    """Tests whether the mean is less than `margin` above 0.

    Args:
        what, samples, texts: as in `below`.
        margin: allowed difference.
    """
    return below(what, samples, margin, texts)


def within(what: str, samples: Samples, limit: float, texts: float = 0.0) -> Check:
    """Tests whether the mean is between -limit and limit, by two one-sided tests.

    Args:
        what, samples, texts: as in `below`.
        limit: limit of the absolute mean.
    """
    return _decided(what, samples, texts, limit, abs)


def _decided(what: str, samples: Samples, texts: float, limit: float, size: Callable[[float], float]) -> Check:
    """Tests size(mean) against the limit.

    The slope of `size` is at most 1, so the margin of the mean is also valid for size(mean).
    """
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
        return replace(check, what=message("{what} (a longer training has the opposite result)", what=what),
                       outcome=UNCLEAR)
    return check


def below_in_texts(what: str, values: Sequence[float] | ndarray | None, limit: float = 0.0, best_of: int = 1) -> Check:
    """Tests whether the mean over the texts of one training is below `limit`, by a bootstrap over texts.

    Args:
        what: the part in words.
        values: one value per text; None if not measured. For a single text, the outcome is UNCLEAR.
        limit: limit of the mean.
        best_of: number of candidates from which this part was chosen; p-values are multiplied by it (Bonferroni).
    """
    if values is None or not len(values):
        return Check(what, UNKNOWN, 0)
    low, high = limits_of_mean(values, LEVEL / best_of)
    p_true, p_false = (min(1.0, best_of * p) for p in chances_of_mean(values, limit))
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, 1, 0, float(sum(values) / len(values)), low, high, limit, p_true, p_false)


def by_error(what: str, value: float, error: float, seeds: int | None = None) -> Check:
    """Tests whether a value with a normal standard error is above 0.

    Args:
        what: the part in words.
        value, error: the value and its standard error; NaN if not measured.
        seeds: 1 if the value is from one training.
    """
    if math.isnan(value) or math.isnan(error):
        return Check(what, UNKNOWN, seeds)
    reach = float(stats.norm.isf(LEVEL)) * error
    p = float(stats.norm.sf(value / error)) if error else float(value <= 0)
    outcome = YES if value > reach else NO if value < -reach else UNCLEAR
    return Check(what, outcome, seeds, 0, value, value - reach, value + reach, 0.0, p, 1 - p)


def median_below(what: str, values: Sequence[float] | None, limit: float = 1.0) -> Check:
    """Tests whether the median over interleaved blocks is below `limit`: sign test, two-sided 90% interval.

    Args:
        what: the part in words.
        values: one value per block; None if not measured in blocks.
        limit: limit of the median.
    """
    if not values:
        return Check(what, UNCLEAR)
    p_true, p_false = (float(stats.quantile_test(values, q=limit, p=0.5, alternative=side).pvalue)
                       for side in ("less", "greater"))
    low, high = stats.quantile_test(values, q=limit, p=0.5).confidence_interval(1 - 2 * LEVEL)
    outcome = YES if high < limit else NO if low > limit else UNCLEAR
    return Check(what, outcome, None, 0, statistics.median(values), float(low), float(high), limit, p_true, p_false)


def of_one_training(check: Check) -> Check:
    """Returns the check with at most one training, for checks whose seeds are those of probes, fine-tunings or gates.

    Args:
        check: the check to change.
    """
    return replace(check, seeds=min(1, check.seeds or 0), steps=0)


def fact(what: str, is_true: bool | None) -> Check:
    """Returns the check of a part that is not statistical.

    Args:
        what: the part in words.
        is_true: None if unknown.
    """
    return Check(what, UNKNOWN if is_true is None else YES if is_true else NO)


def conclude(checks: Sequence[Check], by_construction: bool = False) -> Verdict:
    """Returns the verdict on a statement before the correction for all statements (`corrected`).

    The rules, where "clear" means outcome YES: *holds*: every part is clear, from three trainings or more, and no part
    fades. *By construction*, *fades with training*, *seen once*: every part is clear, but the statement follows from
    the computation, or a part fades, or a part has fewer than three trainings; the first rule that applies decides.
    *Holds in part*: a part is YES and another part is NO. *Does not hold here*: a part is NO and no part is YES. *Not
    measured yet*: a part is UNKNOWN and could change the verdict. *Inconclusive*: otherwise.

    Args:
        checks: the parts.
        by_construction: True if the statement follows from the computation or the training objective.
    """
    outcomes = [check.outcome for check in checks]
    missing = outcomes.count(UNKNOWN)
    known = len(checks) - missing
    if missing and not (YES in outcomes and NO in outcomes):
        return Verdict(OPEN, message("{known} of {count} parts are measured", known=known, count=len(checks))
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
    labels = {UNCLEAR: N_("Undecided: {parts}"), NO: N_("Does not hold: {parts}"),
              UNKNOWN: N_("Not measured yet: {parts}")}
    parts += [message(label, parts=listed((check.what for check in checks if check.outcome == outcome), N_("; ")))
              for outcome, label in labels.items() if outcome in outcomes]
    if fading := [check.what for check in checks if check.outcome == YES and check.fades]:
        parts.append(message("Less than half of the effect is left after the longest training: {parts}",
                             parts=listed(fading, N_("; "))))
    return Verdict(word, listed([*parts, *_budget(checks)], N_(". ")), *fewest(checks), chance(checks, word),
                   parts=table_of_parts(checks))


def table_of_parts(checks: Sequence[Check]) -> list[dict[str, str]]:
    """Returns a table row for each part that is one number: value, limits and one-sided p-values.

    Differences of logarithms and of losses are shown in nats, as they are tested.

    Args:
        checks: the parts.
    """
    rows = []
    for check in checks:
        if check.value is not None and check.limit is not None:
            interval = "–" if check.low is None or check.high is None else message(
                "{low:.3g} to {high:.3g}", low=check.low, high=check.high)
            rows.append({N_("part"): check.what, N_("value"): f"{check.value:.3g}", N_("limits"): interval,
                         N_("compared with"): f"{check.limit:.3g}",
                         N_("after the longest training"): "–" if check.later is None else f"{check.later:.3g}",
                         N_("p, holds"): _p_cell(check.p_true), N_("p, does not hold"): _p_cell(check.p_false)})
    return rows


def _p_cell(p: float | None) -> str:
    return "–" if p is None or math.isnan(p) else f"{p:.2g}" if p >= 1e-4 else "< 0.0001"


def chance(checks: Sequence[Check], word: str) -> float | None:
    """Returns the two-sided p-value of a verdict; None if no part has a p-value.

    The p-value of "all parts are true" is the largest p-value of the parts (intersection-union test). That of "a part
    is not true" is the smallest, times the number of parts (Bonferroni). That of `holds in part` is the larger p-value
    of "a part is true" and "a part is not true".

    Args:
        checks: the parts.
        word: the verdict, one of WORDS.
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
    """Returns the verdicts with q-values over all statements (Benjamini and Hochberg 1995).

    A verdict with a q-value above LEVEL becomes inconclusive.

    Args:
        verdicts: verdicts of all statements.
    """
    known = [verdict.p for verdict in verdicts if verdict.p is not None]
    q_values = iter(stats.false_discovery_control(known).tolist() if known else [])
    result = []
    for verdict in verdicts:
        q = None if verdict.p is None else next(q_values)
        if q is not None and q > LEVEL and verdict.word not in (UNSURE, OPEN):
            verdict = replace(verdict, word=UNSURE, why=listed((
                message("Not significant among all statements (q = {q:.2f})", q=q), verdict.why), N_(". ")))
        result.append(replace(verdict, q=q))
    return result


def fewest(checks: Sequence[Check]) -> tuple[int, int]:
    """Returns the seeds and steps of the part with the fewest seeds; (0, 0) if no part depends on a training.

    Args:
        checks: the parts.
    """
    return min(((check.seeds, check.steps) for check in checks if check.seeds), default=(0, 0))


def _budget(checks: Sequence[Check]) -> list[str]:
    """Returns a sentence on the seeds and steps of the part with the fewest seeds, in a list; empty without seeds."""
    seeds, steps = fewest(checks)
    if not seeds:
        return []
    if not steps:
        return [message("Each model was trained once, so other seeds may give other results")]
    if seeds == 1:
        return [message("One seed of {steps:,} steps, which gives no estimate of the random error", steps=steps)]
    return [plural_message("Decided by {n} seed of {steps:,} steps", "Decided by {n} seeds of {steps:,} steps", seeds,
                           steps=steps)]


def _count(checks: Sequence[Check]) -> str:
    holding = sum(check.outcome == YES for check in checks)
    if holding < len(checks):
        return message("{held} of {count} parts of the claim hold", held=holding, count=len(checks))
    return message("Both parts of the claim hold") if len(checks) == 2 else \
        message("All {count} parts of the claim hold", count=len(checks))
