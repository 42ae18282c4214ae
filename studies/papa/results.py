"""The conditions of a study, its numbers in studies/measurements/NAME.papa.json, and summaries for pages and claims.

A condition is which heads are modified, and how:

    learned    constant, in ascending order of lambda (study.py)
    random     constant, in a random order; another order for each seed
    removed    pruned (gate 0), in ascending order of lambda

As in the source, 1, 1/2, 1/8, 1/16 and 0 of the heads stay dynamic. `removed` with no dynamic head is the control of
every study: the score that a probe reaches without any attention.

A task counts towards a mean only if attention matters in it. The rule: the lowest score of the unmodified model, over
the first three seeds of the probe, is above the highest score with all heads pruned, and above the score of a constant
answer. If attention made no difference, three probes would all score above three others in one order out of twenty.
The rule replaces a limit of 0.1 on the score. Both were set after first scores were known.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import numpy
import torch

from models.analysis.head_measures import chance_of_rank, spearman
from models.generate.decoding import generator
from models.plan import Address, HeadPlan
from studies import store
from studies.papa.corpora import CORPORA, JUDGED

LEARNED, RANDOM, REMOVED = "learned", "random", "removed"
MODES = (LEARNED, RANDOM, REMOVED)
FRACTIONS = (1.0, 0.5, 0.125, 0.0625, 0.0)  # fractions of the heads that stay dynamic
SEEDS = (0, 1, 2)  # seeds of the probes and of the random orders
STREAM = 97
KIND = "papa"
MODELS = 3  # smallest number of trainings for which the rank correlation is judged or shown


@dataclass(frozen=True)
class Condition:
    """One modification of the model."""

    mode: str  # one of MODES
    count: int  # number of heads that are constant or pruned
    seeds: tuple[int, ...] = SEEDS  # seeds of the probes that are trained on the modified model
    draw: int = 0  # number of the random order

    def __str__(self) -> str:
        """Returns the key of the condition's scores in a measurement file."""
        return f"{self.mode} {self.count} {self.draw}"


def head_counts(heads: int) -> tuple[int, ...]:
    """Returns the number of modified heads at each of FRACTIONS; for 144 heads, these are 0, 72, 126, 135 and 144."""
    return tuple(heads - round(heads * fraction) for fraction in FRACTIONS)


def endpoints(heads: int) -> list[Condition]:
    """Returns the unmodified model, all heads constant, and the control with all heads pruned."""
    return [Condition(LEARNED, 0), Condition(LEARNED, heads), Condition(REMOVED, heads)]


def conditions(heads: int, modes: Sequence[str] = MODES, probes: int = len(SEEDS)) -> list[Condition]:
    """Returns the endpoints and the other conditions of the given modes, the most important conditions first.

    `probes` is the number of seeds where the orders are compared: no head constant, and 1/8 dynamic in both orders.
    """
    none, half, eighth, sixteenth, _every = head_counts(heads)
    seeds = tuple(range(probes))
    others = [Condition(LEARNED, eighth, seeds), *(Condition(LEARNED, count) for count in (half, sixteenth))]
    others += [Condition(RANDOM, eighth, (seed,), seed) for seed in seeds]
    others += [Condition(REMOVED, count) for count in (eighth, half, sixteenth)]
    others += [Condition(RANDOM, count, (seed,), seed) for count in (half, sixteenth) for seed in SEEDS]
    chosen = [Condition(LEARNED, none, seeds), *endpoints(heads)[1:],
              *(condition for condition in others if condition.mode in modes)]
    return list(dict.fromkeys(chosen))


def random_order(addresses: Sequence[Address], draw: int) -> list[Address]:
    """Returns the heads in a random order, which is the same for all tasks of a model."""
    order = torch.randperm(len(addresses), generator=generator(STREAM, draw)).tolist()
    return [addresses[i] for i in order]


def plan_of(condition: Condition, learned: Sequence[Address]) -> HeadPlan:
    """Returns the plan of a condition."""
    order = random_order(sorted(learned), condition.draw) if condition.mode == RANDOM else learned
    heads = order[:condition.count]
    return HeadPlan().with_heads(heads, gate=0.0) if condition.mode == REMOVED else \
        HeadPlan().with_heads(heads, constant=True)


@dataclass(frozen=True, eq=False)
class Task:
    """One task of a model's study."""

    key: str  # a key of CORPORA
    scores: Mapping[tuple[str, int], tuple[float, ...]]  # (mode, number of modified heads) -> scores, one per seed
    stored: Mapping[str, Any]  # the task's entry in the file

    @property
    def title(self) -> str:
        """The task's title."""
        return CORPORA[self.key].title

    @property
    def constant_answer(self) -> float:
        """The score of the most frequent training label as the answer to every question."""
        return float(self.stored["constant_answer"])

    def at(self, mode: str, count: int, heads: int) -> tuple[float, ...]:
        """Returns the scores of a condition, one per seed; empty if it is not measured."""
        ordered = count == 0 or (mode == RANDOM and count == heads)
        return self.scores.get((LEARNED if ordered else mode, count), ())

    def pruned(self, heads: int) -> tuple[float, ...]:
        """Returns the scores of the control with all heads pruned; `heads` is their number."""
        return self.at(REMOVED, heads, heads)

    def is_informative(self, heads: int) -> bool:
        """Returns True if the unmodified model scores above both controls; see the module's docstring."""
        before, control = self.at(LEARNED, 0, heads), self.pruned(heads)
        return bool(before and control) and min(before[:len(SEEDS)]) > max(*control, self.constant_answer, 0.0)

    def drop(self, mode: str, count: int, heads: int) -> float | None:
        """Returns the relative drop 1 - score / score of the unmodified model, from means over seeds."""
        now, before = self.at(mode, count, heads), self.at(LEARNED, 0, heads)
        if not now or not self.is_informative(heads):
            return None
        return 1 - fmean(now) / fmean(before)

    def drops(self, mode: str, count: int, heads: int) -> tuple[float, ...]:
        """Returns the relative drop per seed, compared with the unmodified model's score for the same seed."""
        if not self.is_informative(heads):
            return ()
        return tuple(1 - score / own for score, own in
                     zip(self.at(mode, count, heads), self.at(LEARNED, 0, heads), strict=False))


@dataclass(frozen=True, eq=False)
class Study:
    """The measurements of one model."""

    name: str  # name of the file
    title: str  # title for readers
    weights: str  # Lab.fingerprint of the measured weights
    shape: tuple[int, int]  # (layers, heads per layer)
    parameters: int  # number of the model's parameters
    command: str  # the command that repeats the measurement
    cpu_seconds: float  # processor time of the measurement in seconds
    tasks: Mapping[str, Task]  # key -> Task, in the order of CORPORA
    # description of a training checkpoint of studies/encoders.py; empty for other models
    moment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heads(self) -> int:
        """The number of heads in all layers."""
        return self.shape[0] * self.shape[1]

    @property
    def counts(self) -> tuple[int, ...]:
        """The numbers of modified heads of a complete measurement, from none to all."""
        return head_counts(self.heads)

    @property
    def measured_counts(self) -> tuple[int, ...]:
        """Those of `counts` for which at least one task has scores in the learned order."""
        return tuple(count for count in self.counts
                     if any(task.at(LEARNED, count, self.heads) for task in self.tasks.values()))

    def drops(self, mode: str, count: int) -> dict[str, float]:
        """Returns task -> relative drop, for the tasks that count and are measured in this condition."""
        by_task = {key: task.drop(mode, count, self.heads) for key, task in self.tasks.items()}
        return {key: drop for key, drop in by_task.items() if drop is not None}

    def mean_drop(self, mode: str, count: int) -> float | None:
        """Returns the mean relative drop over the tasks that count; None unless all of these are measured."""
        drops = self.drops(mode, count)
        return fmean(drops.values()) if drops and len(drops) == len(self.drops(LEARNED, 0)) else None

    def mean_drop_by_seed(self, mode: str, count: int) -> tuple[float, ...]:
        """Returns the mean relative drop per seed; empty unless all tasks that count are measured."""
        rows = [task.drops(mode, count, self.heads) for task in self.tasks.values()]
        rows = [row for row in rows if row]
        return tuple(map(fmean, zip(*rows, strict=False))) if len(rows) == len(self.drops(LEARNED, 0)) else ()

    def has(self, mode: str) -> bool:
        """Returns True if the mode has a condition between the endpoints, so that a chart can draw its line."""
        return any(own == mode and 0 < count < self.heads for task in self.tasks.values() for own, count in task.scores)

    @property
    def quality(self) -> float | None:
        """The mean score of the unmodified model over the tasks."""
        scores = [fmean(before) for task in self.tasks.values() if (before := task.at(LEARNED, 0, self.heads))]
        return fmean(scores) if scores else None

    @property
    def training(self) -> str:
        """A name that the checkpoints of one training share; the title of any other model."""
        return self.title.rpartition("-")[0] if self.moment else self.title

    @property
    def is_whole(self) -> bool:
        """True if every task has scores for the learned order at every number of heads."""
        return all(task.at(LEARNED, count, self.heads) for task in self.tasks.values() for count in self.counts)

    def of_tasks(self, keys: Collection[str] = JUDGED) -> Study:
        """Returns the study restricted to some tasks, by default to those that statements are about."""
        return replace(self, tasks={key: task for key, task in self.tasks.items() if key in keys})


@dataclass(frozen=True, eq=False)
class Ranked:
    """The rank correlation of score and drop over models."""

    # (study restricted to the common tasks, mean score of the unmodified model, mean drop with all heads constant) per
    # study; the checkpoints of one training in the order of their steps
    points: tuple[tuple[Study, float, float], ...]
    trainings: int  # number of trainings that the studies belong to
    # Spearman's correlation over the last checkpoint of each training, because earlier checkpoints are not independent
    # of the last one; NaN if there are fewer than two trainings
    rank: float
    chance: float  # fraction of random permutations with a correlation at least as large


def ranked(studies: Iterable[Study]) -> Ranked:
    """Returns the rank correlation of score and drop."""
    chosen = [study for study in studies if 2 * len(study.tasks) > len(JUDGED)]
    common = set.intersection(*(set(study.drops(LEARNED, 0)) for study in chosen)) if chosen else set()
    points = tuple(sorted(((study, quality, drop) for study in (whole.of_tasks(common) for whole in chosen)
                           if (quality := study.quality) is not None
                           and (drop := study.mean_drop(LEARNED, study.heads)) is not None),
                          key=lambda point: (point[0].parameters, point[0].training,
                                             int(point[0].moment.get("steps", 0)))))
    last = list({study.training: (quality, drop) for study, quality, drop in points}.values())
    if len(last) < 2:
        return Ranked(points, len(last), math.nan, math.nan)
    scores, drops = numpy.array(last).T
    return Ranked(points, len(last), spearman(scores, drops), chance_of_rank(scores, drops))


def deviation(values: tuple[float, ...]) -> float:
    """Returns the standard deviation over seeds; 0 for a single value."""
    return stdev(values) if len(values) > 1 else 0.0


def read(name: str) -> Study | None:
    """Returns the study of a model."""
    stored = store.read(name, KIND)
    return None if stored is None else of(stored)


def of(stored: Mapping[str, Any]) -> Study:
    """Returns the content of a file as a Study."""
    tasks = {}
    for key in CORPORA:
        if key in stored["tasks"]:
            entry = stored["tasks"][key]
            scores: dict[tuple[str, int], list[float]] = {}
            for name, seeds in entry["scores"].items():
                mode, count, _draw = name.split()
                scores.setdefault((mode, int(count)), []).extend(float(seed["score"]) for seed in seeds.values())
            float(entry["constant_answer"])
            tasks[key] = Task(key, {condition: tuple(values) for condition, values in scores.items()}, entry)
    return Study(str(stored["name"]), str(stored["title"]), str(stored["weights"]),
                 (int(stored["layers"]), int(stored["heads"])), int(stored["parameters"]), str(stored["command"]),
                 float(stored["cpu_seconds"]), tasks, dict(stored.get("moment", {})))


def names() -> list[str]:
    """Returns the names of all models with a file, readable or not."""
    return sorted(path.name.removesuffix(f".{KIND}.json") for path in store.MEASUREMENTS.glob(f"*.{KIND}.json"))
