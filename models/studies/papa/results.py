"""A study's numbers as one file, models/studies/measurements/NAME.papa.json, and what pages and claims ask of it."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean, stdev
from typing import Any

import numpy

from models.analysis.head_measures import chance_of_rank, spearman
from models.studies import store
from models.studies.papa.probe_modes import LEARNED, RANDOM, touched
from models.studies.papa.tasks.corpora import CORPORA

KIND = "papa"
# Score of the untouched model below which a share of it means nothing: 0.084 in BLiMP, ± 0.04 by the probe's seed, was
# 0.011 with constants, a "drop" of 87%.
LEAST = 0.1


@dataclass(frozen=True, eq=False)
class Task:
    """One task of a model's study.

    Attributes:
        scores: (way, heads touched) -> scores, one a seed.
        found: the rest, as in the file.
    """

    key: str
    scores: Mapping[tuple[str, int], tuple[float, ...]]
    found: Mapping[str, Any]

    @property
    def title(self) -> str:
        return CORPORA[self.key].title

    def at(self, way: str, count: int, heads: int) -> tuple[float, ...]:
        """Scores of a state; none that is not measured. Where no head is touched, or all are constant, there is no
        order."""
        return self.scores.get((LEARNED if count == 0 or (way == RANDOM and count == heads) else way, count), ())

    def drop(self, way: str, count: int, heads: int) -> float | None:
        """1 - score / score of the untouched model, of means over seeds; None if it is not known."""
        now, before = self.at(way, count, heads), self.at(LEARNED, 0, heads)
        if not now or not before or fmean(before) < LEAST:
            return None
        return 1 - fmean(now) / fmean(before)

    def drops(self, way: str, count: int, heads: int) -> tuple[float, ...]:
        """The same seed by seed, each against the untouched model's of that seed: its probe is the same."""
        before = self.at(LEARNED, 0, heads)
        if not before or fmean(before) < LEAST or min(before) <= 0:
            return ()
        return tuple(1 - its / own for its, own in zip(self.at(way, count, heads), before, strict=False))


@dataclass(frozen=True, eq=False)
class Study:
    """What was measured of a model.

    Attributes:
        name, title: of its file, and for people.
        weights: Lab.fingerprint.
        shape: (layers, heads).
        tasks: by key, in the order of CORPORA.
        moment: of a training of models/studies/transfer/encoders.py what is known of it; empty of other models.
    """

    name: str
    title: str
    weights: str
    shape: tuple[int, int]
    parameters: int
    command: str
    cpu_seconds: float
    tasks: Mapping[str, Task]
    moment: Mapping[str, Any] = field(default_factory=dict)

    @property
    def heads(self) -> int:
        """How many there are."""
        return self.shape[0] * self.shape[1]

    @property
    def counts(self) -> tuple[int, ...]:
        """Heads that are touched, from none to all of them."""
        return touched(self.heads)

    def drops(self, way: str, count: int) -> dict[str, float]:
        """Task -> relative drop, of those that are known."""
        found = {key: task.drop(way, count, self.heads) for key, task in self.tasks.items()}
        return {key: drop for key, drop in found.items() if drop is not None}

    def mean_drop(self, way: str, count: int) -> float | None:
        """Mean over tasks of the relative drop; None unless all that are measured are known."""
        drops = self.drops(way, count)
        return fmean(drops.values()) if drops and len(drops) == len(self.drops(LEARNED, 0)) else None

    def mean_drop_by_seed(self, way: str, count: int) -> tuple[float, ...]:
        """The same, seed by seed."""
        rows = [task.drops(way, count, self.heads) for task in self.tasks.values()]
        rows = [row for row in rows if row]
        return tuple(map(fmean, zip(*rows, strict=False))) if len(rows) == len(self.drops(LEARNED, 0)) else ()

    def has(self, way: str) -> bool:
        """True if something of its own was measured: what it shares with the learned order makes no line."""
        return any(its == way for task in self.tasks.values() for its, _ in task.scores)

    @property
    def quality(self) -> float | None:
        """Mean score of the untouched model over the tasks."""
        found = [fmean(its) for task in self.tasks.values() if (its := task.at(LEARNED, 0, self.heads))]
        return fmean(found) if found else None

    @property
    def training(self) -> str:
        """What moments of one training share; of other models their title."""
        return self.title.rpartition("-")[0] if self.moment else self.title

    @property
    def is_whole(self) -> bool:
        """True if its tasks have scores for the learned order at every number of heads."""
        return all(task.at(LEARNED, count, self.heads) for task in self.tasks.values() for count in self.counts)

    def of_tasks(self, keys: Collection[str]) -> Study:
        """The same of some tasks."""
        return replace(self, tasks={key: task for key, task in self.tasks.items() if key in keys})


@dataclass(frozen=True, eq=False)
class Ranked:
    """Do better models lose more?

    Attributes:
        points: (study of the tasks that all have, mean score untouched, mean drop with all heads constant) of each that
            has both; moments of one training in the order of their steps.
        trainings: how many there are of which these are moments.
        rank: Spearman's correlation of the two, of each training's last moment: those of one training are alike.
        chance: how often a random order has one as large.
    """

    points: tuple[tuple[Study, float, float], ...]
    trainings: int
    rank: float
    chance: float


def ranked(studies: Iterable[Study]) -> Ranked:
    """Of the studies of more than half of the tasks, untouched and with all heads constant, by the tasks that all of
    them have; NaN where they say nothing."""
    chosen = [its for its in studies if 2 * len(its.tasks) > len(CORPORA)]
    # What a model has hardly any score in has no drop, and must not count as quality either.
    common = set.intersection(*(set(its.drops(LEARNED, 0)) for its in chosen)) if chosen else set()
    points = tuple(sorted(((its, quality, drop) for its in (study.of_tasks(common) for study in chosen)
                           if (quality := its.quality) is not None
                           and (drop := its.mean_drop(LEARNED, its.heads)) is not None),
                          key=lambda point: (point[0].parameters, point[0].training,
                                             int(point[0].moment.get("steps", 0)))))
    last = list({study.training: (quality, drop) for study, quality, drop in points}.values())
    if len(last) < 2:
        return Ranked(points, len(last), math.nan, math.nan)
    scores, drops = numpy.array(last).T
    return Ranked(points, len(last), spearman(scores, drops), chance_of_rank(scores, drops))


def deviation(values: tuple[float, ...]) -> float:
    """Standard deviation over seeds; 0 of one."""
    return stdev(values) if len(values) > 1 else 0.0


def read(name: str) -> Study | None:
    """The study of a model; None if there is none, or if it was made of other weights. Raises CheckpointError."""
    found = store.read(name, KIND)
    return None if found is None else of(found)


def of(found: Mapping[str, Any]) -> Study:
    """A file's content as a Study; raises KeyError, TypeError or ValueError if something is missing."""
    tasks = {}
    for key in CORPORA:
        if key in found["tasks"]:
            its = found["tasks"][key]
            by_state: dict[tuple[str, int], list[float]] = {}
            for name, seeds in its["scores"].items():
                way, count, _ = name.split()
                by_state.setdefault((way, int(count)), []).extend(float(seed["score"]) for seed in seeds.values())
            tasks[key] = Task(key, {state: tuple(values) for state, values in by_state.items()}, its)
    return Study(str(found["name"]), str(found["title"]), str(found["weights"]),
                 (int(found["layers"]), int(found["heads"])), int(found["parameters"]), str(found["command"]),
                 float(found["cpu_seconds"]), tasks, dict(found.get("moment", {})))


def names() -> list[str]:
    """Models of which there is a file, whether it can be read or not."""
    return sorted(path.name.removesuffix(f".{KIND}.json") for path in store.MEASUREMENTS.glob(f"*.{KIND}.json"))
