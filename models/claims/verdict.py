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

HOLDS, PART, FAILS, OPEN = "holds", "holds in part", "does not hold here", "not measured yet"
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
    def outcome(mean: float, chance: float) -> str:
        return YES if mean < limit - chance else PARTLY if mean < limit else NO

    return _decided(what, samples, outcome, lambda mean, chance: mean - chance)


def not_above(what: str, samples: Samples, limit: float = TOLERANCE) -> Check:
    """Is the mean at `limit` or below? Above, but within chance, is PARTLY: noise makes no claim true."""
    def outcome(mean: float, chance: float) -> str:
        return YES if mean <= limit else PARTLY if mean <= limit + chance else NO

    return _decided(what, samples, outcome, lambda mean, chance: mean - chance)


def within(what: str, samples: Samples, limit: float) -> Check:
    """Is the mean between -limit and limit? Clearly so is YES, otherwise PARTLY; outside is NO."""
    def outcome(mean: float, chance: float) -> str:
        return YES if abs(mean) < limit - chance else PARTLY if abs(mean) < limit else NO

    return _decided(what, samples, outcome, lambda mean, chance: max(0.0, abs(mean) - chance))


def _decided(what: str, samples: Samples, outcome: Callable[[float, float], str],
             at_best: Callable[[float, float], float]) -> Check:
    """
    Args:
        outcome: of a mean and how far from it is still chance.
        at_best: the mean within chance that speaks most for the claim.
    """
    samples = {steps: values for steps, values in samples.items() if values}
    if not samples:
        return Check(what, UNKNOWN, 0)
    *decides, seeds = spread(samples)
    result = outcome(*decides)
    others = [spread({steps: values})[:2] for steps, values in samples.items()
              if steps != max(samples) and len(values) > 1]
    if (result == YES and any(outcome(at_best(*other), 0.0) == NO for other in others)) \
            or (result == NO and any(outcome(*other) == YES for other in others)):
        result, what = PARTLY, f"{what} (not with every number of steps)"
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
        return Verdict(OPEN, f"{known} of {len(checks)} parts are measured" if known else "")
    if NO not in outcomes and PARTLY not in outcomes:
        word = HOLDS
    elif YES not in outcomes:
        word = FAILS
    else:
        word = PART
    parts = [_count(checks)] if len(checks) > 1 else []
    parts += [f"{label}: " + "; ".join(check.what for check in checks if check.outcome == outcome)
              for outcome, label in ((PARTLY, "not clearly"), (NO, "not"), (UNKNOWN, "not measured yet"))
              if outcome in outcomes and (word != FAILS or len(checks) > 1 or outcome == PARTLY)]
    counts = [check.seeds for check in checks if check.seeds]
    if counts:
        fewest = min(counts)
        parts.append("one seed" if fewest == 1 else f"spread over {fewest} seeds")
    return Verdict(word, ". ".join(part[:1].upper() + part[1:] for part in parts))


def _count(checks: list[Check]) -> str:
    held = sum(check.outcome == YES for check in checks)
    every = "both" if len(checks) == 2 else f"all {len(checks)}"
    return f"{every} parts hold" if held == len(checks) else f"{held} of {len(checks)} parts hold"
