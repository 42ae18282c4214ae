"""Training speed of each attention type as a ratio to softmax's: `python -m studies.claims training_speed`.

Steps of both models alternate on the same batches, so that other load on the machine affects both models equally.
"""

import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from models.storage.checkpoint import build
from models.tasks.base import Batch
from models.training.recipes import FAMILIES, RECIPES, SHORT, task_of
from models.training.trainer import faster_precision, objective_of, optimisers_of, rate, update

PLAIN = "translation-softmax-one-pass"
COMPARED = tuple(name for name, recipe in RECIPES.items()
                 if FAMILIES[name] == "translation" and recipe.steps == SHORT["translation"] and name != PLAIN)
BLOCKS = 30  # number of interleaved pairs of steps
UNTIMED = 2  # number of untimed first steps, which compile kernels and allocate memory


class Training:
    """A training whose single steps can be timed, from the initialisation of the named model's recipe.

    `precision` is a result of models.training.trainer.faster_precision.
    """

    def __init__(self, name: str, precision: str) -> None:
        self._recipe, self._precision = RECIPES[name], precision
        torch.manual_seed(0)
        self._model = build(self._recipe.config, self._recipe.initial_std, self._recipe.embedding_std)
        self._optimisers = optimisers_of(self._model, self._recipe, precision)
        self._objective = objective_of(self._recipe)

    def seconds(self, batch: Batch) -> float:
        """Returns the seconds of one training step."""
        began = time.perf_counter()
        update(self._model, batch, self._recipe, self._optimisers, self._objective, rate(0, self._recipe),
               self._precision)
        return time.perf_counter() - began


def summary(ratios: Sequence[float]) -> dict[str, Any]:
    """Returns the median and quartiles of the ratios, and all ratios. The verdicts use the ratios of the blocks."""
    first, median, third = statistics.quantiles(ratios, n=4)
    return {"median": round(median, 3), "quartiles": [round(first, 3), round(third, 3)],
            "blocks": [round(ratio, 4) for ratio in ratios]}


def training_speed(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the ratio of steps per second to softmax's steps per second, over BLOCKS blocks of one step per model."""
    recipe, corpus = RECIPES[PLAIN], task_of(PLAIN, data, runs).corpus
    batches = [corpus.batch(step, recipe.steps, 0) for step in range(4 * (BLOCKS + UNTIMED))]
    shapes = [batch.tokens.shape for batch in batches]
    shape = max(shapes, key=shapes.count)
    batches = [batch for batch in batches if batch.tokens.shape == shape][:BLOCKS + UNTIMED]
    precision = faster_precision(torch.device("cpu"))
    rows = []
    for name in COMPARED:
        # the compiler's cache is cleared: it keeps few versions of a function and runs further ones uncompiled
        torch.compiler.reset()
        plain, compared = Training(PLAIN, precision), Training(name, precision)
        ratios = [plain.seconds(batch) / compared.seconds(batch) for batch in batches][UNTIMED:]
        rows.append({"name": name} | summary(ratios))
    return {"against": PLAIN, "blocks": len(batches) - UNTIMED, "shape": list(shape), "precision": precision,
            "rows": rows}
