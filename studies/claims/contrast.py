"""The rule of the verdicts (rules.md): one contrast a statement, its 90% interval, and the word that follows from it.

verdict.py has the estimates, their intervals and their p-values.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy
from scipy import stats

from models.messages import N_, listed, message
from studies import claims, per_text
from studies.claims import BUILT, FADES, FAILS, HOLDS, MISSING, ONCE, OPEN, SMALL, Chart, Statement, Verdict
from studies.claims.evidence import Evidence, Metric
from studies.claims.stored_text import Table
from studies.claims.verdict import FEWEST, LEVEL, UNKNOWN, Check, Estimate, Samples, deciding, holm, table_of_parts
from studies.per_text import error

POCOCK = (0.05, 0.0304, 0.0232, 0.0194)  # one-sided nominal level of each of 1 to 4 looks, 5% together (Pocock 1977)


def word_of(estimate: Estimate, margin: float | None, limit: float | None, looks: int = 1) -> tuple[str, float]:
    """Returns the word of the interval and its p-value, raised for the number of looks at the data."""
    if limit is not None:
        p = {HOLDS: estimate.p_below(limit), FAILS: estimate.p_above(limit)}
    else:
        assert margin is not None  # a statement has a margin or a limit
        p = {HOLDS: estimate.p_above(margin),
             SMALL: max(estimate.p_below(margin), estimate.p_above(-margin)) if margin else 1.0,
             FAILS: estimate.p_below(0.0)}
    paid = {word: min(1.0, value * LEVEL / POCOCK[looks - 1]) for word, value in p.items()}
    word = next((word for word, value in paid.items() if value <= LEVEL), OPEN)
    return word, paid.get(word, min(paid.values()))


def decide(key: str, estimate: Estimate | None, checks: Sequence[Check]) -> Verdict:
    """Returns the verdict of a statement before the correction for all statements; `checks` are its other parts."""
    own = claims.entry(key)
    parts = table_of_parts(checks)
    if own.get("construction"):
        missing = any(check.outcome == UNKNOWN for check in checks)
        return Verdict(MISSING if missing else BUILT, "", parts=parts)
    if estimate is None or math.isnan(estimate.half()):
        return Verdict(MISSING, "", parts=parts)
    margin, limit, looks = natural(own, "margin"), natural(own, "limit"), own.get("looks", 1)
    sign = 1
    if "least" in own:  # the value has to be above this number
        sign, limit, estimate = -1, -own["least"], replace(estimate, value=-estimate.value)
    word, p = word_of(estimate, margin, limit, looks)
    notes = []
    if own.get("every") and (false := [check.what for check, value in zip(checks, holm([
            check.p_false for check in checks]), strict=True) if value <= LEVEL]):
        word = FAILS
        notes.append(message("does not hold: {parts}", parts=listed(false, "; ")))
    before = estimate.shorter
    if word != HOLDS and not notes and before and word_of(before, margin, limit, looks)[0] == HOLDS:
        change = replace(before, value=before.value - estimate.value, error=math.hypot(before.error, estimate.error),
                         texts=math.hypot(before.texts, estimate.texts))
        if (change.p_above(0.0) if limit is None else change.p_below(0.0)) <= LEVEL:
            word = FADES
            notes.append(message("after {steps:,} steps {value}", steps=before.steps, value=shown(before.value, own)))
    if word == HOLDS and 0 < estimate.trainings < FEWEST:
        word = ONCE
    half = estimate.half(POCOCK[looks - 1])
    if word == OPEN:
        needed = trainings_needed(estimate, margin, limit, looks)
        about = N_("about {n} models would decide it") if own.get("models") else \
            N_("about {n} trainings of each model would decide it")
        notes.append(message(about, n=needed) if needed else message("more trainings would not decide it"))
    low, high = sorted(_scaled(sign * (estimate.value + side * half), own) for side in (-1, 1))
    trainings = 0 if own.get("models") else estimate.trainings
    return Verdict(word, listed(notes, ". "), trainings, estimate.steps, p, parts=parts,
                   value=_scaled(sign * estimate.value, own), low=low, high=high,
                   bound=next(own[name] for name in ("margin", "limit", "least") if name in own),
                   is_limit=limit is not None, is_least="least" in own, unit=message(own.get("unit", "")))


def judged(key: str, ours: str, estimate: Estimate | None, checks: Sequence[Check], table: Table, chart: Chart | None,
           command: str, **values: Any) -> Statement:
    """Returns a statement with its verdict; the arguments are those of `decide` and `stated`."""
    return claims.stated(key, ours, decide(key, estimate, checks), table, chart, command, **values)


def natural(own: Mapping[str, Any], name: str) -> float | None:
    """Returns a margin or limit in the unit of the estimate."""
    value, unit = own.get(name), own.get("unit")
    if value is None:
        return None
    return math.log1p(value / 100) if unit == "%" else value / 100 if unit == "points" else float(value)


def _scaled(value: float, own: Mapping[str, object]) -> float:
    """Returns the value in the statement's unit: ln of a ratio as percent, a share as points."""
    unit = own.get("unit", "")
    return round(100 * math.expm1(value) if unit == "%" else 100 * value if unit == "points" else value, 4)


def shown(value: float, own: Mapping[str, object]) -> str:
    """Returns the value with its unit."""
    return claims.with_unit(f"{_scaled(value, own):.3g}", message(str(own.get("unit", ""))))


def trainings_needed(estimate: Estimate, margin: float | None, limit: float | None, looks: int) -> int:
    """Returns the number of trainings after which the same mean is decided; 0 if more than 100 are not enough."""
    for count in range(estimate.trainings + 1, 101):
        scaled = replace(estimate, error=estimate.error * math.sqrt(max(1, estimate.trainings) / count),
                         freedom=estimate.freedom + count - estimate.trainings)
        if word_of(scaled, margin, limit, min(looks + 1, len(POCOCK)))[0] != OPEN:
            return count
    return 0


def corrected(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Returns the verdicts with q-values over all primary contrasts (Benjamini and Hochberg 1995)."""
    known = [verdict.p for verdict in verdicts if verdict.p is not None]
    q_values = iter(stats.false_discovery_control(known).tolist() if known else [])
    result = []
    for verdict in verdicts:
        q = None if verdict.p is None else next(q_values)
        if q is not None and q > LEVEL and verdict.word not in (OPEN, FADES):
            verdict = replace(verdict, word=OPEN, why=message("not significant (corrected q = {q:.2f})", q=q))
        result.append(replace(verdict, q=q))
    return result


@dataclass(frozen=True)
class Side:
    """A model, how its number is read from a training's metric, and how its values per text are (None: not stored)."""

    name: str
    read: Callable[[Metric], float]
    texts: per_text.Reader | None = None


def log_of(name: str) -> Callable[[Metric], float]:
    """Returns a function that reads ln of a number of a metric."""
    def read(metric: Metric) -> float:
        value = metric[name]
        return math.log(value) if isinstance(value, (int, float)) and value > 0 else math.nan

    return read


def of_trainings(evidence: Evidence, first: Sequence[Side], second: Sequence[Side] = (),
                 pool: Sequence[Side] = ()) -> Estimate | None:
    """Returns the mean of some models minus that of others, over the seeds that all of them have."""
    numbers = [[evidence.samples(side.name, side.read) for side in sides] for sides in (first, second)]

    def at(steps: int, seed: int) -> float | None:
        known = [[samples.get(steps, {}).get(seed) for samples in side] for side in numbers]
        if any(value is None for side in known for value in side):
            return None
        means = [statistics.fmean(value for value in side if value is not None) for side in known if side]
        return means[0] - sum(means[1:])

    between: Samples = {steps: values for steps, seeds in numbers[0][0].items()
                        if (values := {seed: value for seed in seeds if (value := at(steps, seed)) is not None})}
    last = deciding(between)
    if not last:
        return None
    spread = pooled([evidence.samples(side.name, side.read) for side in pool])
    weight = math.sqrt(1 / len(first) + (1 / len(second) if second else 0.0))

    def estimate(steps: int) -> Estimate:
        deviation: float
        freedom: float
        values = list(between[steps].values())
        read = [[(side.name, side.texts) for side in sides if side.texts] for sides in (first, second)]
        behind = evidence.error_of_texts([*filter(None, read)], steps, between[steps]) if first[0].texts else 0.0
        if spread or len(values) > 1:
            deviation, freedom = (spread[0] * weight, spread[1]) if spread else \
                (statistics.stdev(values), len(values) - 1)
        else:  # one training of each: texts alone
            deviation, freedom = (0.0 if first[0].texts else math.nan), math.inf
        return Estimate(statistics.fmean(values), deviation / math.sqrt(len(values)), freedom, behind, len(values),
                        steps)

    before = max((steps for steps, values in between.items() if steps < last and len(values) >= FEWEST), default=0)
    return replace(estimate(last), shorter=estimate(before) if before else None)


def pooled(samples: Sequence[Samples]) -> tuple[float, int] | None:
    """Returns the standard deviation of one training around its type and its seed, and its degrees of freedom."""
    squares, freedom = 0.0, 0
    for steps in {steps for own in samples for steps in own}:
        cells = [(i, seed, own[steps][seed]) for i, own in enumerate(samples) for seed in own.get(steps, {})]
        kinds, seeds = sorted({i for i, *_ in cells}), sorted({seed for _, seed, _ in cells})
        design = numpy.array([[kind == i for i in kinds] + [seed == own for own in seeds]
                              for kind, seed, _ in cells], float)
        values = numpy.array([value for *_, value in cells])
        fitted, _, rank, _ = numpy.linalg.lstsq(design, values, rcond=None)
        squares += float(((values - design @ fitted) ** 2).sum())
        freedom += len(cells) - int(rank)
    return (math.sqrt(squares / freedom), freedom) if freedom > 0 else None


def of_texts(values: Sequence[float] | numpy.ndarray | None) -> Estimate | None:
    """Returns the mean over the texts of one training."""
    if values is None or len(values) < 2:
        return None
    array = numpy.asarray(values, float)
    return Estimate(float(array.mean()), texts=error(array))


def largest(estimates: Sequence[Estimate | None]) -> Estimate | None:
    """Returns the estimate with the largest value; None if one is missing."""
    known = [estimate for estimate in estimates if estimate is not None]
    return max(known, key=lambda estimate: estimate.value) if len(known) == len(estimates) else None
