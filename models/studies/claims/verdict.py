"""Verdicts by rule. Nothing here knows a model: differences come in, a word and its reason come out.

A difference is taken between two models trained with the same seed and steps, so on the same texts in the same order.
The longest training decides, and a difference is clear if chance alone makes one as large less than once in twenty:
by Student's t over its seeds; where it has one seed, over those of a shorter training; where there are none either,
beyond a fixed margin, and the verdict says `one seed`. A shorter training of several seeds must not clearly say the
opposite.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from models.words import N_, listed, told, told_n

HOLDS, PART, FAILS, OPEN = N_("holds"), N_("holds in part"), N_("does not hold here"), N_("not measured yet")
YES, PARTLY, NO, UNKNOWN = "yes", "partly", "no", "unknown"

STUDENT = (6.31, 2.92, 2.35, 2.13, 2.02, 1.94, 1.89, 1.86, 1.83)  # t at 95%, one side, 1 to 9 degrees of freedom
MARGIN = 0.02  # of one seed: 2% of perplexity, or two points of accuracy
TOLERANCE = 0.01  # what `no worse` allows: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """One part of a statement.

    Attributes:
        what: in words, as what should be true.
        outcome: YES; PARTLY, the right side of the limit but not clearly; NO; or UNKNOWN.
        seeds: that tell what is chance; 0 if unknown, None if seeds do not come into it.
    """

    what: str
    outcome: str
    seeds: int | None = None


@dataclass(frozen=True)
class Verdict:
    word: str
    why: str


def differences(one: Samples, other: Samples, scale: Callable[[float], float] = float) -> dict[int, dict[int, float]]:
    """Steps -> seed -> scale(one) - scale(other), where both were measured."""
    result = {}
    for steps in sorted(one.keys() & other.keys()):
        seeds = sorted(one[steps].keys() & other[steps].keys())
        if seeds:
            result[steps] = {seed: scale(one[steps][seed]) - scale(other[steps][seed]) for seed in seeds}
    return result


def spread(samples: Samples) -> tuple[float, float, int]:
    """Mean of the longest training, how far from it is still chance, and the number of seeds that say so."""
    values = list(samples[max(samples)].values())
    if len(values) > 1:
        return statistics.fmean(values), _half_width(values) / math.sqrt(len(values)), len(values)
    others = max((list(its.values()) for its in samples.values()), key=len)
    return values[0], _half_width(others) if len(others) > 1 else MARGIN, len(others)


def _half_width(values: list[float]) -> float:
    """How far one more value may be from the true mean: t times the standard deviation of these."""
    return STUDENT[min(len(values) - 1, len(STUDENT)) - 1] * statistics.stdev(values)


def below(what: str, samples: Samples, limit: float = 0.0) -> Check:
    """Is the mean below `limit`? Clearly so is YES, otherwise PARTLY; not below is NO."""
    return _decided(what, samples, lambda mean: mean - limit, _is_negative)


def not_above(what: str, samples: Samples, limit: float = TOLERANCE) -> Check:
    """Is the mean at `limit` or below? Above, but within chance, is PARTLY: noise makes no claim true."""
    return _decided(what, samples, lambda mean: mean - limit, _is_not_positive)


def within(what: str, samples: Samples, limit: float) -> Check:
    """Is the mean between -limit and limit? Clearly so is YES, otherwise PARTLY; outside is NO."""
    return _decided(what, samples, lambda mean: abs(mean) - limit, _is_negative)


def _is_negative(excess: float, chance: float) -> str:
    return YES if excess < -chance else PARTLY if excess < 0 else NO


def _is_not_positive(excess: float, chance: float) -> str:
    return YES if excess <= 0 else PARTLY if excess <= chance else NO


def _decided(what: str, samples: Samples, excess: Callable[[float], float],
             outcome: Callable[[float, float], str]) -> Check:
    """
    Args:
        excess: how far a mean is over the limit.
        outcome: of an excess and how far from it is still chance.
    """
    samples = {steps: values for steps, values in samples.items() if values}
    if not samples:
        return Check(what, UNKNOWN, 0)
    mean, chance, seeds = spread(samples)
    result = outcome(excess(mean), chance)
    for steps, values in samples.items():
        if steps < max(samples) and len(values) > 1:
            mean, chance, _ = spread({steps: values})
            clearly_not = outcome(excess(mean) - chance, 0.0) == NO
            clearly = outcome(excess(mean), chance) == YES
            if (result == YES and clearly_not) or (result == NO and clearly):
                return Check(told("{what} (not with every number of steps)", what=what), PARTLY, seeds)
    return Check(what, result, seeds)


def fact(what: str, is_true: bool | None) -> Check:
    """A part that no seed decides; None while unknown."""
    return Check(what, UNKNOWN if is_true is None else YES if is_true else NO)


def conclude(checks: list[Check]) -> Verdict:
    """`holds` if every part does, clearly; `does not hold here` if no part clearly does; `holds in part` between;
    `not measured yet` while parts that are not measured could still decide it."""
    outcomes = [check.outcome for check in checks]
    missing = outcomes.count(UNKNOWN)
    known = len(checks) - missing
    decided = YES in outcomes and (PARTLY in outcomes or NO in outcomes)
    if missing and not decided:
        return Verdict(OPEN, told("{known} of {count} parts are measured", known=known, count=len(checks))
                       if known else "")
    if NO not in outcomes and PARTLY not in outcomes:
        word = HOLDS
    elif YES not in outcomes:
        word = FAILS
    else:
        word = PART
    parts = [_count(checks)] if len(checks) > 1 else []
    labels = {PARTLY: N_("Not clearly: {parts}"), NO: N_("Not: {parts}"), UNKNOWN: N_("Not measured yet: {parts}")}
    parts += [told(label, parts=listed((check.what for check in checks if check.outcome == outcome), N_("; ")))
              for outcome, label in labels.items()
              if outcome in outcomes and (word != FAILS or len(checks) > 1 or outcome == PARTLY)]
    counts = [check.seeds for check in checks if check.seeds]
    if counts:
        fewest = min(counts)
        parts.append(told_n("One seed", "Spread over {n} seeds", fewest))
    return Verdict(word, listed(parts, N_(". ")))


def _count(checks: list[Check]) -> str:
    held = sum(check.outcome == YES for check in checks)
    if held < len(checks):
        return told("{held} of {count} parts hold", held=held, count=len(checks))
    return told("Both parts hold") if len(checks) == 2 else told("All {count} parts hold", count=len(checks))
