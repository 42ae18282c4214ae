"""Verdicts by rule. Nothing here knows a model: differences come in, a word and its reason come out.

A difference is paired: two models trained with the same seed and steps, so on the same texts in the same order, and
measured on the same held-out texts. The largest number of steps with two seeds or more decides, by its mean m and

    c² = (t s)² + (u e)²    s: standard error over seeds, t: Student's of seeds − 1 at 95% on one side
                            e: standard error by the choice of texts, u: the same of fifty texts
                            (squares of each one's own limits: Zou and Donner 2008)

    clearly below a limit: m + c < limit     clearly not: m − c > limit     else it cannot be told

`No worse` is the same test against a stated margin (non-inferiority; of two sides, Schuirmann's 1987): noise makes no
claim true, and what is worse by the margin or more passes once in twenty at most. A longer training with one seed, as
that of what ships, may object: where it lies on the other side of the limit, nothing is clear. One seed alone decides
nothing. tests/models/test_verdicts.py simulates how often each rule errs.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from numpy import ndarray

from models.messages import N_, listed, told, told_n
from models.studies.bootstrap import limits_of_mean
from models.studies.claims.statement import FAILS, HOLDS, OPEN, PART, UNSURE, Verdict

YES, NO, UNCLEAR, UNKNOWN = "yes", "no", "unclear", "unknown"

STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83)  # t at 95%, one side, 1 to 9 degrees of freedom
MANY = 1.68  # the same of fifty texts, which are the fewest that there are
TOLERANCE = 0.01  # what `no worse` allows: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """One part of a statement.

    Attributes:
        what: in words, as what should be true.
        outcome: YES, NO, UNCLEAR or UNKNOWN.
        seeds: that tell what is chance; 0 if unknown, None if seeds do not come into it.
        steps: of the training that decides; 0 if unknown or not about one.
    """

    what: str
    outcome: str
    seeds: int | None = None
    steps: int = 0


def differences(one: Samples, other: Samples, scale: Callable[[float], float] = float) -> dict[int, dict[int, float]]:
    """Steps -> seed -> scale(one) - scale(other), where both were measured."""
    result = {}
    for steps in sorted(one.keys() & other.keys()):
        seeds = sorted(one[steps].keys() & other[steps].keys())
        if seeds:
            result[steps] = {seed: scale(one[steps][seed]) - scale(other[steps][seed]) for seed in seeds}
    return result


def deciding(samples: Samples) -> int:
    """The largest number of steps with two seeds or more, else the largest; 0 if nothing was measured."""
    known = {steps: len(values) for steps, values in samples.items() if values}
    return max((steps for steps, seeds in known.items() if seeds > 1), default=max(known, default=0))


def mean_and_chance(values: Sequence[float], texts: float = 0.0) -> tuple[float, float]:
    """Mean, and how far from it is still chance.

    Args:
        values: one a seed, two or more.
        texts: standard error of the mean by the choice of texts, which all seeds share.
    """
    student = STUDENT[min(len(values) - 1, len(STUDENT)) - 1]
    error = statistics.stdev(values) / math.sqrt(len(values))
    return statistics.fmean(values), math.hypot(student * error, MANY * texts)


def below(what: str, samples: Samples, limit: float = 0.0, texts: float = 0.0) -> Check:
    """Is the mean below `limit`?"""
    return _decided(what, samples, texts, lambda mean: mean - limit)


def no_worse(what: str, samples: Samples, margin: float = TOLERANCE, texts: float = 0.0) -> Check:
    """Is the mean above 0 by less than `margin`?"""
    return below(what, samples, margin, texts)


def within(what: str, samples: Samples, limit: float, texts: float = 0.0) -> Check:
    """Is the mean between -limit and limit? Two tests of one side each."""
    return _decided(what, samples, texts, lambda mean: abs(mean) - limit)


def _decided(what: str, samples: Samples, texts: float, excess: Callable[[float], float]) -> Check:
    """
    Args:
        excess: how far a mean is over the limit; its slope is 1 at most, so chance of a mean is chance of it.
    """
    steps = deciding(samples)
    if not steps:
        return Check(what, UNKNOWN, 0)
    values = list(samples[steps].values())
    if len(values) == 1:
        return Check(what, UNCLEAR, 1, steps)
    mean, chance = mean_and_chance(values, texts)
    over = excess(mean)
    outcome = YES if over < -chance else NO if over > chance else UNCLEAR
    for longer in (statistics.fmean(its.values()) for count, its in samples.items() if count > steps and its):
        if (outcome == YES and excess(longer) > 0) or (outcome == NO and excess(longer) < 0):
            return Check(told("{what} (a longer training says otherwise)", what=what), UNCLEAR, len(values), steps)
    return Check(what, outcome, len(values), steps)


def below_in_texts(what: str, values: Sequence[float] | ndarray | None, limit: float = 0.0, best_of: int = 1) -> Check:
    """Is the mean of one model's texts below `limit`? By a bootstrap over its texts.

    Args:
        values: one a text; None while not measured. One alone tells nothing.
        best_of: how many were looked at to find this one, which makes chance so many times as likely (Bonferroni).
    """
    if values is None or not len(values):
        return Check(what, UNKNOWN, 0)
    low, high = limits_of_mean(values, 0.05 / best_of)
    return Check(what, YES if high < limit else NO if low > limit else UNCLEAR, 1)


def fact(what: str, is_true: bool | None) -> Check:
    """A part that no seed decides; None while unknown."""
    return Check(what, UNKNOWN if is_true is None else YES if is_true else NO)


def conclude(checks: list[Check]) -> Verdict:
    """`holds` if every part clearly does; `holds in part` if one clearly does and one clearly does not; `does not hold
    here` if one clearly does not, and none clearly does; `inconclusive` otherwise; `not measured yet` while parts that
    are not measured could still decide it."""
    outcomes = [check.outcome for check in checks]
    missing = outcomes.count(UNKNOWN)
    known = len(checks) - missing
    if missing and not (YES in outcomes and NO in outcomes):
        return Verdict(OPEN, told("{known} of {count} parts are measured", known=known, count=len(checks))
                       if known else "", *fewest(checks))
    if NO in outcomes:
        word = PART if YES in outcomes else FAILS
    else:
        word = UNSURE if UNCLEAR in outcomes else HOLDS
    parts = [_count(checks)] if len(checks) > 1 else []
    labels = {UNCLEAR: N_("Cannot be told: {parts}"), NO: N_("Not: {parts}"), UNKNOWN: N_("Not measured yet: {parts}")}
    parts += [told(label, parts=listed((check.what for check in checks if check.outcome == outcome), N_("; ")))
              for outcome, label in labels.items() if outcome in outcomes]
    return Verdict(word, listed([*parts, *_budget(checks)], N_(". ")), *fewest(checks))


def fewest(checks: Sequence[Check]) -> tuple[int, int]:
    """Returns the seeds and steps of the part with the fewest seeds; (1, 0) where parts have one training each, and
    (0, 0) where no training comes into it."""
    by_seeds = [(check.seeds, check.steps) for check in checks if check.seeds and check.steps]
    return min(by_seeds) if by_seeds else (int(any(check.seeds for check in checks)), 0)


def _budget(checks: Sequence[Check]) -> list[str]:
    """What is said of seeds and steps, those of the part with the fewest."""
    by_seeds = [(check.seeds, check.steps) for check in checks if check.seeds and check.steps]
    seeds, steps = fewest(checks)
    if not steps:
        return [told("One training each: chance is that of the texts, and other seeds may differ")] if seeds else []
    if seeds == 1:
        return [told("One seed of {steps:,} steps, which tells nothing of chance", steps=steps)
                if max(by_seeds)[0] == 1 else
                told("Some parts have one seed of {steps:,} steps, which tells nothing of chance", steps=steps)]
    return [told_n("Decided by {n} seed of {steps:,} steps", "Decided by {n} seeds of {steps:,} steps", seeds,
                   steps=steps)]


def _count(checks: list[Check]) -> str:
    held = sum(check.outcome == YES for check in checks)
    if held < len(checks):
        return told("{held} of {count} parts hold", held=held, count=len(checks))
    return told("Both parts hold") if len(checks) == 2 else told("All {count} parts hold", count=len(checks))
