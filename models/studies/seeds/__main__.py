"""Trains models with fewer steps and stores the metrics of the seed; releases no weights.

    python -m models.studies.seeds stories-softmax stories-selective --seed 1

The metrics are written to models/studies/seed_metrics/NAME.json. A stopped training resumes from its state in
runs/NAME/short-RATE-TABLE_RATE-SEED. A GPU is used if there is one.
"""

from __future__ import annotations

import argparse

import torch

from models.studies import seeds
from models.training.recipes import short_recipe, task_of
from models.training.trainer import precision_for, short_folder, train, train_each, training_parser


def main() -> None:
    """Runs the command of the module's docstring."""
    train_each(training_parser(__doc__), _train_one)


def _train_one(arguments: argparse.Namespace, name: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    task, recipe = task_of(name, arguments.data, arguments.runs), short_recipe(name)
    folder = short_folder(arguments.runs, name, recipe, arguments.seed)
    precision = precision_for(folder, device, arguments.precision)
    model = train(recipe, task.corpus, folder, arguments.seed, device, precision).cpu()
    settings = {"precision": precision, "learning_rate": recipe.learning_rate, "table_rate": recipe.table_rate}
    seeds.add(name, recipe.steps, arguments.seed, seeds.measured(model, task) | settings)


if __name__ == "__main__":
    main()
