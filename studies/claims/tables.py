"""Functions for table cells, table rows and chart points: the source's numbers and ours, with the spread over seeds."""

import math
import statistics
import string
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from models.messages import N_, listed, message, plural_message
from studies.claims import Chart
from studies.claims.stored_text import NOTHING as NOTHING
from studies.claims.verdict import Samples, deciding, differences, of_values

SOURCE = N_("source")


def half(numbers: Sequence[float]) -> float:
    """Returns the half-width of the 90% interval of the mean, which is what ± means on every page."""
    estimate = of_values(numbers)
    return estimate.half() if estimate else math.nan


def ratios(numerator: Samples, denominator: Samples) -> dict[int, dict[int, float]]:
    """Returns steps -> seed -> numerator / denominator, for the trainings that are in both samples."""
    return {steps: {seed: math.exp(value) for seed, value in values.items()}
            for steps, values in differences(numerator, denominator, math.log).items()}


def steps_of(all_samples: Sequence[Samples]) -> list[int]:
    """Returns all numbers of steps in the samples, the largest first."""
    return sorted({steps for samples in all_samples for steps in samples}, reverse=True)


def cell(values: Mapping[int, float], form: str) -> str:
    """Returns `1.052 ± 0.004 (3 seeds)`: mean and half-width of its 90% interval."""
    if not values:
        return NOTHING
    numbers = list(values.values())
    if len(numbers) == 1:
        return message("{value} (one seed)", value=f"{numbers[0]:{form}}")
    return message("{mean} ± {deviation} ({seeds})", mean=f"{statistics.fmean(numbers):{form}}",
                   deviation=f"{half(numbers):{form}}", seeds=_seeds(len(numbers)))


def table(rows: Sequence[tuple[str, str, Samples]], form: str = ".3f", first: str = "attention",
          theirs: str = "source") -> list[dict[str, str]]:
    """Returns a row for each model, with a column for each number of steps."""
    steps = steps_of([samples for *_, samples in rows])
    columns: dict[int, str] = {count: message("here, {steps:,} steps", steps=count) for count in steps}
    return [{first: label, theirs: number or NOTHING} |
            ({columns[count]: cell(samples.get(count, {}), form) for count in steps} or {"here": NOTHING})
            for label, number, samples in rows]


def with_parameters(rows: Sequence[dict[str, str]], cards: Sequence[Mapping[str, Any]],
                    plain: Mapping[str, Any]) -> list[dict[str, str]]:
    """Returns the rows with a third column: the model's parameters as a multiple of those of softmax."""
    def times(card: Mapping[str, Any]) -> str:
        ours, theirs = (entry.get("model", {}).get("parameters") for entry in (card, plain))
        return f"{ours / theirs:.2f}" if ours and theirs else NOTHING

    return [dict([*list(row.items())[:2], (N_("parameters / softmax's"), times(card)), *list(row.items())[2:]])
            for row, card in zip(rows, cards, strict=True)]


def wide(rows: Sequence[tuple[str, Mapping[int, Samples]]], across: Sequence[int], unit: str,
         theirs: Mapping[str, Mapping[int, float]] | None = None) -> list[dict[str, str]]:
    """Returns rows of fractions in percent, with a column for each value of x, for example a length."""
    result = []
    for label, by_x in rows:
        published = (theirs or {}).get(label)
        if published:
            result.append({unit: message("{label}: source", label=message(label))} | {
                str(x): f"{published[x]:.1f}%" if x in published else NOTHING for x in across})
        for steps in steps_of(list(by_x.values())) or [0]:
            by_length = {x: by_x[x].get(steps, {}) for x in across}
            seeds = max(len(values) for values in by_length.values())
            title = message("{label}: {steps:,} steps, {seeds}", label=message(label), steps=steps,
                            seeds=_seeds(seeds)) if seeds and steps else label
            result.append({unit: title} | {str(x): percent(values.values()) for x, values in by_length.items()})
    return result


def spread(values: Mapping[int, float] | Sequence[float], form: str) -> str:
    """Returns `1.052 ± 0.004`, mean and half-width of its 90% interval."""
    numbers = [*values.values()] if isinstance(values, Mapping) else [*values]
    if not numbers:
        return NOTHING
    deviation = f" ± {half(numbers):{form}}" if len(numbers) > 1 else ""
    return f"{statistics.fmean(numbers):{form}}{deviation}"


def over_time(samples: Samples, form: str = ".3f") -> str:
    """Returns `0.982 ± 0.008 after 1,200 steps, 0.999 after 4,800`: the deciding number of steps, then the largest."""
    steps, most = deciding(samples), max(samples, default=0)
    if not steps:
        return NOTHING
    if most == steps:
        return message("{value} after {steps:,} steps", value=spread(samples[steps], form), steps=steps)
    return message("{value} after {steps:,} steps, {later} after {more:,}", value=spread(samples[steps], form),
                   steps=steps, later=spread(samples[most], form), more=most)


def each(rows: Sequence[tuple[str, str]]) -> str:
    """Returns `random 41.0%, softmax 99.9%`."""
    return listed(message("{name} {value}", name=message(name), value=value) for name, value in rows)


def each_over_time(rows: Sequence[tuple[str, Samples]], form: str = ".3f") -> str:
    """Returns each model's mean at the deciding number of steps, then each model's mean at the largest number."""
    parts = [message("{values} after {steps:,} steps", steps=steps, values=each([
        (name, spread(samples[steps], form)) for name, samples in rows if samples.get(steps)]))
             for steps in _table_steps(rows)]
    return listed(parts, "; ") if parts else NOTHING


def _table_steps(rows: Sequence[tuple[str, Samples]]) -> list[int]:
    return sorted({steps for _, samples in rows if samples for steps in (deciding(samples), max(samples))})


def at_decision(samples: Samples) -> Mapping[int, float]:
    """Returns seed -> value at the deciding number of steps."""
    return samples.get(deciding(samples), {})


def range_over_time(rows: Sequence[tuple[str, Samples]], form: str = ".3f") -> str:
    """Returns the smallest and the largest mean of models, named, at the deciding and the largest steps."""
    parts = []
    for steps in _table_steps(rows):
        known = sorted((statistics.fmean(samples[steps].values()), name, spread(samples[steps], form))
                       for name, samples in rows if samples.get(steps))
        parts.append(message("{low} ({first}) to {high} ({last}) after {steps:,} steps", low=known[0][2],
                             first=known[0][1], high=known[-1][2], last=known[-1][1], steps=steps))
    return listed(parts, "; ") if parts else NOTHING


def _seeds(count: int) -> str:
    return plural_message("one seed", "{n} seeds", count)


def percent(shares: Iterable[float]) -> str:
    """Returns `41.0 ± 0.5%`, mean and half-width of its 90% interval."""
    numbers = [100 * share for share in shares]
    return f"{spread(numbers, '.1f')}%" if numbers else NOTHING


def dots(rows: Sequence[tuple[str, float | None, Samples]]) -> list[dict[str, Any]]:
    """Returns the points of a dot chart: one for the source's number and one for each of our trainings."""
    points = []
    for label, theirs, samples in rows:
        if theirs is not None:
            points.append({"name": label, "value": round(theirs, 4), "which": SOURCE})
        points += [{"name": label, "value": round(value, 4), "which": message("here, {steps:,} steps", steps=steps)}
                   for steps, values in sorted(samples.items(), reverse=True) for value in values.values()]
    return points


def lines(rows: Sequence[tuple[str, Mapping[int, Samples]]], steps: int = 0) -> list[dict[str, Any]]:
    """Returns the points of a line chart at one number of steps."""
    return [{"name": label, "x": x, "value": round(value, 4), "seed": seed}
            for label, by_x in rows for x, samples in by_x.items()
            for seed, value in samples.get(steps, {}).items()]


def chart(kind: str, points: Sequence[Mapping[str, Any]], title: str, alt: str | Iterable[str], across: str = "",
          rule: tuple[float, str] | None = None, form: str = ".4~r") -> Chart | None:
    """Returns a chart; None without points. Its text alternative is `alt`: texts, or a template for each point."""
    if isinstance(alt, str):
        names, template = [field for _, field, _, _ in string.Formatter().parse(alt) if field], alt
        alt = (message(template, **{name: point[name] for name in names}) for point in points)
    return Chart(kind, [dict(point) for point in points], title, across, rule, listed(alt, "; "), form) \
        if points else None


def best_budget(all_samples: Sequence[Samples]) -> int:
    """Returns the number of steps at which most models were measured, for charts of one number of steps; 0 if none."""
    counts = {steps: sum(steps in samples for samples in all_samples) for steps in steps_of(all_samples)}
    return max(counts, key=lambda steps: (counts[steps], steps), default=0)
