"""card.json: what a model is, what it was trained on and how, and its numbers, measured on what ships."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from models.attention import TYPES
from models.checkpoint import read_json
from models.recipes import RECIPES
from models.tasks.base import Task
from models.transformer import Transformer


def make_card(name: str, model: Transformer, task: Task, folder: Path, seed: int,
              metric: dict[str, Any]) -> dict[str, Any]:
    """The card of a model whose training state and log lie in `folder`.

    `metric` are the numbers of this seed; those of other seeds are read from the folders beside it.
    """
    recipe, attention = RECIPES[name], TYPES[model.config.attention]
    batch = task.batch(recipe.steps - 1, recipe.steps, seed).tokens
    card = {
        "name": name,
        "attention": {"title": attention.title, "formula": attention.formula, "source": attention.source},
        "model": {"parameters": model.parameter_count(), "layers": model.config.layers,
                  "heads": model.config.heads, "width": model.config.width,
                  "vocabulary": model.config.vocabulary, "longest_text": task.limit},
        "data": list(task.data),
        "training": {"steps": recipe.steps, "texts_per_step": batch.shape[0], "seed": seed,
                     "learning_rate": recipe.learning_rate, "minutes": round(_seconds(folder) / 60, 1),
                     "command": f"python -m models.training {name} --data DIR"},
        "metric": metric,
        "evaluate": f"python -m models.evaluate {name} --data DIR",
        "licence": "MIT (weights)",
    }
    others = {path.parent.name.removeprefix("seed-"): read_json(path)["metric"]
              for path in sorted(folder.parent.glob("seed-*/card.json"))}
    return card | ({"other_seeds": others} if others else {})


def _seconds(folder: Path) -> float:
    """Training time by the log's last line, in seconds."""
    times = re.findall(r"seconds (\d+)", (folder / "log.txt").read_text())
    return float(times[-1]) if times else 0.0
