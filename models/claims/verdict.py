"""Verdicts by rule. Nothing here knows a model: differences come in, a word and its reason come out.

A difference is taken between two models trained with the same seed and steps, so on the same texts in the same order.
With two seeds or more it counts as clear beyond twice the standard error of its mean over seeds; with one seed beyond
a fixed margin, and the verdict says `one seed`. Where both a budget of several seeds and another one were measured,
the one with more seeds decides, and the other must not clearly say the opposite.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass

HOLDS, PART, FAILS, OPEN = "holds", "holds in part", "does not hold here", "not measured yet"
YES, PARTLY, NO, UNKNOWN = "yes", "partly", "no", "unknown"

ERRORS = 2.0  # standard errors
MARGIN = 0.01  # of one seed: 1% of perplexity, or one point of accuracy

Samples = Mapping[int, Mapping[int, float]]  # steps -> seed -> value


@dataclass(frozen=True)
class Check:
    """One part of a statement.

    Attributes:
        what: in words, as what should be true.
        outcome: YES; PARTLY, the right side of the limit but not clearly; NO; or UNKNOWN.
        seeds: that the deciding budget has; 0 if unknown, None if seeds do not come into it.
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


def spread(values: Mapping[int, float]) -> tuple[float, float]:
    """Mean over seeds and how far from it is still chance: ERRORS standard errors, MARGIN for one seed."""
    numbers = list(values.values())
    if len(numbers) < 2:
        return numbers[0], MARGIN
    return statistics.fmean(numbers), ERRORS * statistics.stdev(numbers) / math.sqrt(len(numbers))


def below(what: str, samples: Samples, limit: float = 0.0) -> Check:
    """Is the mean below `limit`? Clearly so is YES, otherwise PARTLY; not below is NO."""
    def outcome(mean: float, chance: float) -> str:
        return YES if mean < limit - chance else PARTLY if mean < limit else NO

    return _decided(what, samples, outcome)


def not_above(what: str, samples: Samples, limit: float = 0.0) -> Check:
    """Is the mean at `limit` or below? Above, but within chance, is YES: `at` is part of the claim."""
    def outcome(mean: float, chance: float) -> str:
        return YES if mean <= limit + chance else NO

    return _decided(what, samples, outcome)


def within(what: str, samples: Samples, limit: float) -> Check:
    """Is the mean between -limit and limit? Clearly so is YES, otherwise PARTLY; outside is NO."""
    def outcome(mean: float, chance: float) -> str:
        return YES if abs(mean) < limit - chance else PARTLY if abs(mean) < limit else NO

    return _decided(what, samples, outcome)


def _decided(what: str, samples: Samples, outcome: Callable[[float, float], str]) -> Check:
    samples = {steps: values for steps, values in samples.items() if values}
    if not samples:
        return Check(what, UNKNOWN, 0)
    outcomes = {steps: outcome(*spread(values)) for steps, values in samples.items()}
    decides = max(samples, key=lambda steps: (len(samples[steps]), steps))
    others = {outcomes[steps] for steps in samples if steps != decides}
    result = outcomes[decides]
    if (result == YES and NO in others) or (result == NO and YES in others):
        result, what = PARTLY, f"{what} (not with every number of steps)"
    return Check(what, result, len(samples[decides]))


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
        parts.append("one seed" if fewest == 1 else f"{fewest} seeds")
    return Verdict(word, ". ".join(part[:1].upper() + part[1:] for part in parts))


def _count(checks: list[Check]) -> str:
    held = sum(check.outcome == YES for check in checks)
    every = "both" if len(checks) == 2 else f"all {len(checks)}"
    return f"{every} parts hold" if held == len(checks) else f"{held} of {len(checks)} parts hold"
