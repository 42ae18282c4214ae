"""Rows of tables and points of charts, from samples: theirs beside ours, with the spread over seeds."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from models.messages import N_, told, told_n
from models.studies.claims.verdict import Samples, differences

SOURCE = N_("source")
NOTHING = "–"


def ratios(one: Samples, other: Samples) -> dict[int, dict[int, float]]:
    """Steps -> seed -> one / other."""
    return {steps: {seed: math.exp(value) for seed, value in values.items()}
            for steps, values in differences(one, other, math.log).items()}


def steps_of(all_samples: Sequence[Samples]) -> list[int]:
    """Every number of steps that occurs, the longest training first."""
    return sorted({steps for samples in all_samples for steps in samples}, reverse=True)


def cell(values: Mapping[int, float], form: str) -> str:
    """`1.052 ± 0.004 (3 seeds)`: mean and standard deviation over seeds."""
    if not values:
        return NOTHING
    numbers = list(values.values())
    if len(numbers) == 1:
        return told("{value} (one seed)", value=f"{numbers[0]:{form}}")
    return told("{mean} ± {deviation} ({seeds})", mean=f"{statistics.fmean(numbers):{form}}",
                deviation=f"{statistics.stdev(numbers):{form}}", seeds=_seeds(len(numbers)))


def table(rows: Sequence[tuple[str, str, Samples]], form: str = ".3f", first: str = "attention",
          theirs: str = "source") -> list[dict[str, str]]:
    """One row each of (label, their number, our samples); one column for each number of steps."""
    steps = steps_of([samples for *_, samples in rows])
    columns: dict[int, str] = {count: told("here, {steps:,} steps", steps=count) for count in steps}
    return [{first: label, theirs: number or NOTHING} |
            ({columns[count]: cell(samples.get(count, {}), form) for count in steps} or {"here": NOTHING})
            for label, number, samples in rows]


def with_parameters(rows: Sequence[dict[str, str]], cards: Sequence[Mapping[str, Any]],
                    plain: Mapping[str, Any]) -> list[dict[str, str]]:
    """Rows with a third column: how many times the parameters of `plain` each one's model has, by their cards."""
    def times(card: Mapping[str, Any]) -> str:
        ours, theirs = (its.get("model", {}).get("parameters") for its in (card, plain))
        return f"{ours / theirs:.2f}" if ours and theirs else NOTHING

    return [dict([*list(row.items())[:2], (N_("parameters / softmax's"), times(card)), *list(row.items())[2:]])
            for row, card in zip(rows, cards, strict=True)]


def wide(rows: Sequence[tuple[str, Mapping[int, Samples]]], across: Sequence[int], unit: str,
         theirs: Mapping[str, Mapping[int, float]] | None = None) -> list[dict[str, str]]:
    """Shares in percent, one column for each of `across`; a row each of the source's numbers and of every number of
    steps of (label, x -> our samples); what took none was not trained."""
    result = []
    for label, by_x in rows:
        published = (theirs or {}).get(label)
        if published:
            result.append({unit: told("{label}: source", label=told(label))} | {
                str(x): f"{published[x]:.1f}%" if x in published else NOTHING for x in across})
        for steps in steps_of(list(by_x.values())) or [0]:
            found = {x: by_x[x].get(steps, {}) for x in across}
            seeds = max(len(values) for values in found.values())
            title = told("{label}: {steps:,} steps, {seeds}", label=told(label), steps=steps,
                         seeds=_seeds(seeds)) if seeds and steps else label
            result.append({unit: title} | {str(x): _share(values) for x, values in found.items()})
    return result


def _seeds(count: int) -> str:
    return told_n("one seed", "{n} seeds", count)


def _share(values: Mapping[int, float]) -> str:
    if not values:
        return NOTHING
    numbers = [100 * value for value in values.values()]
    spread = f" ± {statistics.stdev(numbers):.1f}" if len(numbers) > 1 else ""
    return f"{statistics.fmean(numbers):.1f}{spread}%"


def dots(rows: Sequence[tuple[str, float | None, Samples]]) -> list[dict[str, Any]]:
    """One point each of the source and of each seed; (label, their number or None, our samples)."""
    points = []
    for label, theirs, samples in rows:
        if theirs is not None:
            points.append({"name": label, "value": round(theirs, 4), "which": SOURCE})
        points += [{"name": label, "value": round(value, 4), "which": told("here, {steps:,} steps", steps=steps)}
                   for steps, values in sorted(samples.items(), reverse=True) for value in values.values()]
    return points


def lines(rows: Sequence[tuple[str, Mapping[int, Samples]]], steps: int = 0) -> list[dict[str, Any]]:
    """Points of (label, x -> samples), of one number of steps."""
    return [{"name": label, "x": x, "value": round(value, 4), "seed": seed}
            for label, by_x in rows for x, samples in by_x.items()
            for seed, value in samples.get(steps, {}).items()]


def best_budget(all_samples: Sequence[Samples]) -> int:
    """The number of steps at which most was measured, of equals the largest, 0 if nothing was: charts of many lines
    show one."""
    counts = {steps: sum(steps in samples for samples in all_samples) for steps in steps_of(all_samples)}
    return max(counts, key=lambda steps: (counts[steps], steps), default=0)
