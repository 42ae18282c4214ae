"""Short trainings with several seeds: how much of a difference between two models is chance.

    python -m models.training stories-softmax --seed 1 --short

adds the numbers of that seed to models/studies/seed_metrics/NAME.json and ships no weights:

    {"name": ..., "steps": 1200, "metrics": {"0": {...}, "1": {...}, "2": {...}}}

Beside its numbers each seed has the precision and the rates of its training, if it was trained since these are kept;
one at another rate than the recipe's says nothing of the recipe, and is left out. Of what is no translation it also has
what single texts came to, by which two models are compared text by text (per_text.py;
models/studies/corpus/sentences.py for translations).
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.messages import told
from models.nets.attention.base import Intervention
from models.nets.transformer import Model, Transformer
from models.plan import Scale
from models.storage.checkpoint import write_json
from models.storage.damage import broken
from models.storage.file_lock import alone
from models.studies import per_text
from models.tasks.assignment import GROUPS, Answered, AssignmentMetric
from models.tasks.base import Task
from models.tasks.masked import MaskedMetric
from models.tasks.stories import StoriesMetric
from models.training.recipes import SHORT, is_current

SEEDS = Path(__file__).with_name("seed_metrics")
TEXT = 1024  # tokens of a story or book that count as one text, where chance by the choice of texts is asked for
READINGS = {"gau-relu2": ("length",), "gau-softmax": ("logn",)}  # scale policies that a claim reads other texts under


def add(name: str, steps: int, seed: int, metric: dict[str, Any], folder: Path | None = None) -> None:
    """Adds one seed's numbers to those of the others; numbers of another budget are forgotten."""
    path = (folder or SEEDS) / f"{name}.json"
    with alone(path.parent):
        old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        metrics = old["metrics"] if old.get("steps") == steps else {}
        metrics = dict(sorted((metrics | {str(seed): metric}).items(), key=lambda item: int(item[0])))
        partial = path.with_suffix(".partial")
        write_json(partial, {"name": name, "steps": steps, "metrics": metrics})
        partial.replace(path)


def measured(model: Model, task: Task) -> dict[str, Any]:
    """The task's metric, and what single texts came to; where a claim reads a model in another way than it was trained,
    that too, which needs the weights."""
    if not isinstance(model, Transformer):
        return task.metric.evaluate(model)
    metric = task.metric
    if isinstance(metric, AssignmentMetric):
        answered = metric.answered(model)
        return metric.scores_of(answered) | {"texts": {str(events): texts_of_answers(its)
                                                     for events, its in answered.items()}}
    if isinstance(metric, MaskedMetric):
        guessed = metric.guessed(model)
        found = metric.scores_of(guessed) | {"texts": {str(length): per_text.counted(its.right, its.stretches)
                                                     for length, its in guessed.items()}}
        return found | ({"readings": readings(model, metric)} if model.config.attention in READINGS else {})
    if isinstance(metric, StoriesMetric):
        losses = metric.losses(model)
        return metric.scores_of(losses) | {"text_losses": text_losses(losses, metric.corpus.trained_length)}
    raise TypeError(f"{task.name}: nothing is known of its texts")


def texts_of_answers(answered: Answered) -> dict[str, dict[str, list[int]]]:
    """What verdicts are about -> answers of each group of texts."""
    count = len(answered.tokens)
    groups = (torch.arange(count) * GROUPS // count).unsqueeze(1).expand_as(answered.right)
    return {what: per_text.counted(answered.right[places], groups[places]) for what, places in answered.among().items()}


def text_losses(losses: Mapping[str, Tensor], window: int) -> list[float]:
    """Means in nats of texts of TEXT tokens: windows that follow each other, whose luck is not their own. What is left
    at the end of a corpus is no whole text, and left out.

    Args:
        losses: of StoriesMetric.losses.
        window: tokens that each of them is a mean over.
    """
    together = TEXT // window
    return [round(float(mean), 4) for its in losses.values()
            for mean in its[:len(its) // together * together].unflatten(0, (-1, together)).mean(1)]


def readings(model: Transformer, metric: MaskedMetric) -> dict[str, dict[str, dict[str, Any]]]:
    """Policy of READINGS -> length -> accuracy and loss (nats) at hidden tokens of held-out text, and single texts.
    log n takes the trained length as its base, so that it changes nothing there."""
    def read(policy: str, length: int) -> dict[str, list[Intervention]]:
        scale = Scale(policy, model.config.trained_length if policy == "logn" else None)
        return {"interventions": [Intervention(factor=block.attention.factor(scale, length))
                                  for block in model.blocks]}

    return {policy: {str(length): {"accuracy": its.accuracy, "loss": round(float(its.losses.mean()), 4),
                                   "texts": per_text.counted(its.right, its.stretches)}
                     for length, its in metric.guessed(model, functools.partial(read, policy)).items()}
            for policy in READINGS[model.config.attention]}


def read_seeds(name: str, folder: Path | None = None) -> dict[str, dict[str, Any]]:
    """Seed -> metric of a model's short trainings; empty if there are none, or none as long as seeds are now;
    raises CheckpointError."""
    path = (folder or SEEDS) / f"{name}.json"
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return {str(seed): metric for seed, metric in that_count(name, found).items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken(Path(*path.parts[-4:]), told("is damaged")) from error


def that_count(name: str, found: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Seed -> metric of a file's content: of trainings that are long enough, at the rate that the recipe has now."""
    metrics = {int(seed): dict(metric) for seed, metric in found["metrics"].items() if is_current(name, metric)}
    return metrics if is_enough(name, int(found["steps"])) else {}


def is_enough(name: str, steps: int) -> bool:
    """Whether a training of so many steps may say how much is chance: a shorter one says nothing of a longer."""
    return steps >= SHORT[name.split("-")[0]]
