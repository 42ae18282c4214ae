"""What was measured: cards of the shipped models, short trainings with several seeds, and measurements that have a
file of their own. Whatever is missing is simply not there."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy
from numpy import ndarray

from models import catalogue
from models.messages import told
from models.storage import checkpoint
from models.storage.damage import broken
from models.studies import per_text, store
from models.studies.bootstrap import error
from models.studies.claims.verdict import Samples, deciding
from models.studies.seeds import SEEDS, read_seeds, that_count
from models.training.recipes import is_current

CLAIMS = "claims.json"  # what `python -m models.studies.claims all` measures

Metric = dict[str, Any]


class Evidence:
    """Reads each file once.

    Args:
        checkpoints, seeds, measurements: folders, the repository's own by default.
    """

    def __init__(self, checkpoints: Path | None = None, seeds: Path | None = None,
                 measurements: Path | None = None) -> None:
        self._checkpoints = checkpoints or checkpoint.CHECKPOINTS
        self._seeds = seeds or SEEDS
        self._measurements = measurements or store.MEASUREMENTS
        self._metrics: dict[str, dict[int, dict[int, Metric]]] = {}
        self.measured: dict[str, Any] = _read_dict(self._measurements / CLAIMS) or {}

    def metrics(self, name: str) -> dict[int, dict[int, Metric]]:
        """Steps -> seed -> metric, of the shipped model and of the short trainings; without the shipped one where it
        is to be trained again (recipes.is_current)."""
        if name not in self._metrics:
            try:
                self._metrics[name] = self._collected(name)
            except (LookupError, TypeError, ValueError, AttributeError, OverflowError):  # damaged, which `damaged` says
                self._metrics[name] = {}
        return self._metrics[name]

    def _collected(self, name: str) -> dict[int, dict[int, Metric]]:
        result: dict[int, dict[int, Metric]] = {}
        card = self.card(name)
        if self.is_compared(name):
            also = {"readings": self.measured_of(name, "readings"),
                    "sentence_bleu": self.study(name, "sentences").get("sentence_bleu")}
            own = card["metric"] | {what: found for what, found in also.items() if found}
            others = {int(seed): metric for seed, metric in card.get("other_seeds", {}).items()}
            result[card["training"]["steps"]] = {card["training"]["seed"]: own} | others
        seeds = _read_dict(self._seeds / f"{name}.json") or {"metrics": {}, "steps": 0}
        for seed, metric in that_count(name, seeds).items():
            # What ships has numbers of its own, in 8 bits; what single texts came to stands with the short training.
            its = result.setdefault(seeds["steps"], {})
            its[seed] = metric | its.get(seed, {})
        return result

    def samples(self, name: str, read: Callable[[Metric], float]) -> dict[int, dict[int, float]]:
        """Steps -> seed -> read(metric), where there is such a number."""
        result: dict[int, dict[int, float]] = {}
        for steps, metrics in self.metrics(name).items():
            for seed, metric in metrics.items():
                try:
                    value = float(read(metric))
                except (LookupError, TypeError, ValueError):  # not there, or damaged
                    continue
                if math.isfinite(value):  # a training that diverged has no number
                    result.setdefault(steps, {})[seed] = value
        return {steps: values for steps, values in result.items() if values}

    def card(self, name: str) -> dict[str, Any]:
        """A shipped model's card; empty where there is none."""
        return _read_dict(self._checkpoints / name / "card.json") or {}

    def is_compared(self, name: str) -> bool:
        """True if it ships, and does not wait to be trained again."""
        return bool(self.card(name)) and not self.waits(name)

    def waits(self, name: str) -> bool:
        """True if it ships, and is to be trained again first."""
        try:
            return bool(self.card(name)) and not is_current(name, self.card(name)["training"])
        except (KeyError, TypeError, AttributeError):  # `damaged` tells of it
            return False

    def weights(self, name: str) -> str:
        """SHA-256 of the shipped model's weights, as its card has it; empty where there is none."""
        return store.sha(self.card(name)) or ""

    def study(self, name: str, kind: str) -> dict[str, Any]:
        """What a study of this kind measured of a model; empty as `memory` is."""
        try:
            return store.read(name, kind, self._measurements, self._checkpoints) or {}
        except checkpoint.CheckpointError:  # `damaged` tells of it
            return {}

    def studied(self, kind: str) -> list[str]:
        """Models of which there is a file of this kind, whatever is in it."""
        return sorted(path.name.removesuffix(f".{kind}.json") for path in self._measurements.glob(f"*.{kind}.json"))

    def measured_of(self, name: str, what: str) -> Any:
        """What claims.json says of a shipped model; None if it was measured on a model that has since been replaced."""
        entry = self.measured.get(what, {}).get(name)
        card = self.card(name)
        return entry["values"] if entry and card and store.is_of(entry, card) else None

    def memory(self, name: str, way: str = "chosen") -> dict[float, float]:
        """Factor -> perplexity of a model that keeps 1 / factor of its memory, on the same windows for all models;
        `way` as in models/studies/corpus/forgetting.py. Empty if not measured, or measured on other weights."""
        found = store.found(name, "memory", self._measurements, self._checkpoints) or {}
        try:
            points = sorted([*found.get("points", []), *found.get("comparisons", [])], key=lambda its: its["factor"])
            return {point["factor"]: point["perplexity"] for point in points
                    if point["way"] == way or point["factor"] == 1}
        except (KeyError, TypeError, AttributeError):  # `damaged` tells of it
            return {}

    def memory_losses(self, name: str, way: str = "chosen") -> dict[float, ndarray]:
        """Factor -> (W,) losses of the windows in nats; otherwise as `memory`."""
        found = self.study(name, "memory")
        points = [*found.get("points", []), *found.get("comparisons", [])]
        return {point["factor"]: numpy.array(point["losses"]) for point in points
                if "losses" in point and (point["way"] == way or point["factor"] == 1)}

    def text_error(self, samples: Samples, *sides: tuple[str, per_text.Reader]) -> float:
        """Standard error, by the choice of texts, of the mean that `samples` decide by.

        NaN, with which nothing is clear, where none of the seeds that decide says what single texts came to.

        Args:
            samples: what is judged, as verdict.differences.
            sides: name, and what reads its texts; one of a model that is held against a limit, two of a difference.
        """
        steps = deciding(samples)
        found = [its for seed in samples.get(steps, ()) if (its := per_text.difference(
            read(self.metrics(name)[steps][seed]) for name, read in sides))]
        same = [its for its in found if its.of_the_same(found[0])]
        return error(numpy.mean([its.values for its in same], 0), same[0].counts) if same else math.nan

    def entropies(self, name: str, policy: str) -> dict[int, list[float]]:
        """Length -> mean entropy of each head in nats, all layers in one list; empty as `memory` is."""
        found = store.found(name, "length", self._measurements, self._checkpoints) or {}
        try:
            return {int(n): [value for layer in values["entropy"] for value in layer]
                    for n, values in found.get("readings", {}).get(policy, {}).items() if "entropy" in values}
        except (ValueError, TypeError, AttributeError):
            return {}


def damaged() -> list[str]:
    """A sentence for each of the repository's files that cannot be read: what they say is missing from the claims."""
    found = []
    checks: list[Callable[[], object]] = [partial(_claims_file, store.MEASUREMENTS / CLAIMS)]
    for name in catalogue.names():
        checks.append(partial(catalogue.complete_card, checkpoint.CHECKPOINTS / name))
        checks.append(partial(read_seeds, name))
    for path in sorted(store.MEASUREMENTS.glob("*.*.json")):
        name, kind, _ = path.name.rsplit(".", 2)
        checks.append(partial(store.read, name, kind))
    for check in checks:
        try:
            check()
        except checkpoint.CheckpointError as error:
            found.append(str(error))
    return found


def _claims_file(path: Path) -> None:
    """Raises CheckpointError where claims.json is no dict of dicts."""
    measured = _read_dict(path)
    if path.exists() and not (measured and all(isinstance(part, dict) for part in measured.values())):
        raise broken(Path(*path.parts[-4:]), told("is damaged"), "python -m models.studies.claims all")


def _read(path: Path) -> Any:
    """None for a file that is missing or cannot be read: what cannot be read was not measured."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _read_dict(path: Path) -> dict[str, Any] | None:
    found = _read(path)
    return found if isinstance(found, dict) else None
