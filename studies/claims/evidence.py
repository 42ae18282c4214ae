"""Reads the files from which claims are judged: cards of the released models, short trainings, measurements.

A missing file counts as not measured and has empty content. A damaged file stops the judging with an error that names
the file.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy
from numpy import ndarray
from pydantic import TypeAdapter

from models.errors import broken, in_repository
from models.messages import message
from models.storage import checkpoint
from models.training.recipes import is_current
from studies import per_text, store
from studies.claims.verdict import FEWEST, Check, Samples, below, below_in_texts, deciding
from studies.per_text import error
from studies.seeds import FULL, SEEDS, that_count
from studies.store import json_object

CLAIMS = "claims.json"  # the file that `python -m studies.claims all` writes

Metric = dict[str, Any]
_OF_SEEDS = dict[str, Metric]
_TRAINING = json_object(steps=int, seed=int, learning_rate=(float, None))
_CARD = TypeAdapter[Any](json_object(training=_TRAINING, metric=Metric, other_seeds=(_OF_SEEDS, None),
                                     weights=(dict[str, str], None)))
_SEEDS, _PARTS = TypeAdapter[Any](json_object(steps=int, metrics=_OF_SEEDS)), TypeAdapter[Any](_OF_SEEDS)


class Evidence:
    """The content of all files that verdicts depend on, each read once; a damaged one raises CheckpointError."""

    def __init__(self, checkpoints: Path | None = None, seeds: Path | None = None,
                 measurements: Path | None = None) -> None:
        self._checkpoints = checkpoints or checkpoint.CHECKPOINTS
        self._seeds = seeds or SEEDS
        self._measurements = measurements or store.MEASUREMENTS
        self._metrics: dict[str, dict[int, dict[int, Metric]]] = {}
        self._cards: dict[str, dict[str, Any]] = {}
        self.measured = _validated(self._measurements / CLAIMS, _PARTS, "python -m studies.claims all")

    def metrics(self, name: str) -> dict[int, dict[int, Metric]]:
        """Returns the metrics of the released model and of the trainings without released weights."""
        if name not in self._metrics:
            self._metrics[name] = self._collected(name)
        return self._metrics[name]

    def _collected(self, name: str) -> dict[int, dict[int, Metric]]:
        result: dict[int, dict[int, Metric]] = {}
        card = self.card(name)
        if self.is_compared(name):
            also = {"readings": self.measured_of(name, "readings"),
                    "sentence_bleu": self.study(name, "sentences").get("sentence_bleu"),
                    "rouge_texts": self.study(name, "rouge").get("texts"),
                    "choices": self.study(name, "choices").get("sets"), "blimp": self.study(name, "blimp")}
            own = card["metric"] | {key: value for key, value in also.items() if value}
            others = {int(seed): metric for seed, metric in card.get("other_seeds", {}).items()}
            result[card["training"]["steps"]] = {card["training"]["seed"]: own} | others
        for folder in (self._seeds, self._seeds / FULL):
            seeds = _validated(folder / f"{name}.json", _SEEDS)
            for seed, metric in that_count(name, seeds).items() if seeds else ():
                # Metrics of the released int8 checkpoint take precedence over those of a training of the same model
                # without released weights, which also has the losses per text.
                at_steps = result.setdefault(seeds["steps"], {})
                at_steps[seed] = metric | at_steps.get(seed, {})
        return result

    def samples(self, name: str, read: Callable[[Metric], float]) -> dict[int, dict[int, float]]:
        """Returns one number per training, for the trainings whose metric contains the number."""
        result: dict[int, dict[int, float]] = {}
        for steps, metrics in self.metrics(name).items():
            for seed, metric in metrics.items():
                try:
                    value = read(metric)
                except (KeyError, IndexError):  # this training's metric lacks the number
                    continue
                if value is None:
                    continue
                if not isinstance(value, Real):
                    raise broken(Path("studies"), message("has {value!r} in place of a number of {name}",
                                                                 value=value, name=name))
                if math.isfinite(value):
                    result.setdefault(steps, {})[seed] = float(value)
        return result

    def card(self, name: str) -> dict[str, Any]:
        """Returns the card of a released model; empty if there is none."""
        if name not in self._cards:
            self._cards[name] = _validated(self._checkpoints / name / "card.json", _CARD)
        return self._cards[name]

    def is_compared(self, name: str) -> bool:
        """Returns whether the model is released and does not have to be trained again."""
        return bool(self.card(name)) and not self.waits(name)

    def waits(self, name: str) -> bool:
        """Returns whether the model is released, but has to be trained again before it is compared."""
        card = self.card(name)
        return bool(card) and not is_current(name, card["training"])

    def weights(self, name: str) -> str:
        """Returns the SHA-256 of the released weights, from the card; empty if there is no card."""
        return store.sha(self.card(name)) or ""

    def study(self, name: str, kind: str) -> dict[str, Any]:
        """Returns a measurement of the released weights; empty if there is none."""
        return store.read(name, kind, self._measurements, self._checkpoints) or {}

    def studied(self, kind: str) -> list[str]:
        """Returns the names of the models that have a measurement of this kind."""
        return sorted(path.name.removesuffix(f".{kind}.json") for path in self._measurements.glob(f"*.{kind}.json"))

    def measured_of(self, name: str, part: str) -> Any:
        """Returns the values of a model in one part of claims.json; None if missing or measured with other weights."""
        entry = self.measured.get(part, {}).get(name)
        card = self.card(name)
        return entry["values"] if entry and card and store.is_of(entry, card) else None

    def memory(self, name: str, way: str = "chosen") -> dict[float, float]:
        """Returns the perplexities with 1 / factor of the memory kept, on the same windows for all models."""
        return {point["factor"]: point["perplexity"] for point in self._memory_points(name, way)}

    def memory_losses(self, name: str, way: str = "chosen") -> dict[float, ndarray]:
        """Returns the loss of each window in nats, for the same factors as `memory`."""
        return {point["factor"]: numpy.array(point["losses"]) for point in self._memory_points(name, way)
                if "losses" in point}

    def _memory_points(self, name: str, way: str) -> list[dict[str, Any]]:
        study = self.study(name, "memory")
        points = [*study.get("points", []), *study.get("comparisons", [])]
        return sorted((point for point in points if point["way"] == way or point["factor"] == 1),
                      key=lambda point: point["factor"])

    def text_error(self, samples: Samples, *sides: tuple[str, per_text.Reader]) -> float:
        """Returns the standard error, due to the sampling of texts, of the mean at the deciding number of steps."""
        steps = deciding(samples)
        return self.error_of_texts([[side] for side in sides], steps, samples.get(steps, ()))

    def error_of_texts(self, sides: Sequence[Sequence[tuple[str, per_text.Reader]]], steps: int,
                       seeds: Iterable[int]) -> float:
        """Returns the standard error due to texts of the first side minus the others; NaN without values per text."""
        known: list[per_text.Texts] = []
        for seed in seeds:
            try:
                texts = [[read(self.metrics(name)[steps][seed]) for name, read in side] for side in sides]
            except KeyError:
                continue
            except ValueError as damage:
                raise broken(Path("studies"), message("has damaged numbers per text of {names}", names=" ".join(
                    name for side in sides for name, _ in side))) from damage
            counts = texts[0][0].counts
            if all(numpy.array_equal(each.counts, counts) for side in texts for each in side):
                first, *others = (numpy.mean([each.values for each in side], 0) for side in texts)
                known.append(per_text.Texts(first - sum(others), counts))
        same = [each.values for each in known if each.of_the_same(known[0])]
        return error(numpy.mean(same, 0), known[0].counts) if known else math.nan

    def below_over_seeds(self, what: str, between: Samples, behind: Sequence[float] | ndarray | None,
                         *sides: tuple[str, per_text.Reader]) -> Check:
        """Tests whether the mean difference of two models is below 0, over texts as long as too few are trained."""
        if is_repeated(between):
            return below(what, between, texts=self.text_error(between, *sides))
        return below_in_texts(what, behind)

    def entropies(self, name: str, policy: str) -> dict[int, list[float]]:
        """Returns the mean entropy of each head in nats, by length; empty if not measured."""
        readings = self.study(name, "length").get("readings", {})
        return {int(n): [value for layer in values["entropy"] for value in layer]
                for n, values in readings.get(policy, {}).items() if "entropy" in values}


def is_repeated(between: Samples) -> bool:
    """Returns True if there are FEWEST trainings or more with the deciding number of steps."""
    return len(between.get(deciding(between), {})) >= FEWEST


def _validated(path: Path, shape: TypeAdapter[Any], command: str = "") -> dict[str, Any]:
    """Returns the content of a JSON file with this shape, empty if the file is missing."""
    try:
        content = checkpoint.read_json(path)
        shape.validate_python(content)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as damage:
        raise broken(in_repository(path), message("is damaged"), command) from damage
    return content
