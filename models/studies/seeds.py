"""Short trainings with several seeds: how much of a difference between two models is chance.

    python -m models.training stories-softmax --seed 1 --short

adds the numbers of that seed to models/studies/seed_metrics/NAME.json and ships no weights:

    {"name": ..., "steps": 1200, "metrics": {"0": {...}, "1": {...}, "2": {...}}}

Beside its numbers each seed has the precision and the rates of its training, if it was trained since these are kept;
one at another rate than the recipe's says nothing of the recipe, and is left out. Of stories it also has `text_losses`,
by which two models are compared text by text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from models.alone import alone
from models.attention import TYPES
from models.attention.base import Intervention
from models.damage import broken
from models.heads import Scale
from models.recipes import SHORT, is_current
from models.tasks.base import Task
from models.tasks.masked import TEST_LENGTHS, Masked
from models.tasks.stories import Stories
from models.transformer import Model, Transformer
from models.words import told

SEEDS = Path(__file__).with_name("seed_metrics")
TEXT = 1024  # tokens of a story or book that count as one text, where chance by the choice of texts is asked for
READINGS = ("fixed", "length")  # of relu² / n: what n is where a text has another length than those of training


def add(name: str, steps: int, seed: int, metric: dict[str, Any], folder: Path | None = None) -> None:
    """Adds one seed's numbers to those of the others; numbers of another budget are forgotten."""
    path = (folder or SEEDS) / f"{name}.json"
    with alone(path.parent):
        old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        metrics = old["metrics"] if old.get("steps") == steps else {}
        metrics = dict(sorted((metrics | {str(seed): metric}).items(), key=lambda item: int(item[0])))
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps({"name": name, "steps": steps, "metrics": metrics}, indent=2) + "\n",
                           encoding="utf-8")
        partial.replace(path)


def measured(model: Model, task: Task) -> dict[str, Any]:
    """The task's metric; of stories also the losses that it is the mean of, text by text; of relu² / n the accuracy
    under both readings of n, which needs the weights."""
    if isinstance(task, Stories) and isinstance(model, Transformer):
        losses = task.losses(model)
        return task.metric_of(losses) | {"text_losses": text_losses(losses, task.trained_length)}
    metric = task.metric(model)
    if isinstance(task, Masked) and isinstance(model, Transformer) and \
            "length" in TYPES[model.config.attention].policies:
        metric["readings"] = readings(model, task)
    return metric


def text_losses(losses: Mapping[str, Tensor], window: int) -> list[float]:
    """Means in nats of texts of TEXT tokens: windows that follow each other, whose luck is not their own. What is left
    at the end of a corpus is no whole text, and left out.

    Args:
        losses: of Stories.losses.
        window: tokens that each of them is a mean over.
    """
    together = TEXT // window
    return [round(float(mean), 4) for its in losses.values()
            for mean in its[:len(its) // together * together].unflatten(0, (-1, together)).mean(1)]


@torch.inference_mode()
def readings(model: Transformer, task: Masked) -> dict[str, dict[str, dict[str, float]]]:
    """Reading of n -> length -> accuracy and loss (nats) at hidden tokens of held-out text."""
    result: dict[str, dict[str, dict[str, float]]] = {}
    for policy in READINGS:
        result[policy] = {}
        for length in TEST_LENGTHS:
            plan = [Intervention(factor=block.attention.factor(Scale(policy), length)) for block in model.blocks]
            losses, right, _ = task.measure(model, length, interventions=plan)
            result[policy][str(length)] = {"accuracy": round(float(right.float().mean()), 4),
                                           "loss": round(float(losses.mean()), 4)}
    return result


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
