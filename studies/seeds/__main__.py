"""Trains models and stores the metrics of the seed; releases no weights.

    python -m studies.seeds stories-softmax stories-selective --seed 1
    python -m studies.seeds stories-softmax --seed 1 --full

Without --full, trainings are shorter than those of the released models. The metrics are written to
studies/seed_metrics/NAME.json, or with --full to seed_metrics/full/NAME.json. A stopped training resumes from
its state in runs/NAME/short-RATE-TABLE_RATE-SEED, or in runs/NAME/seed-SEED. A GPU is used if there is one.
"""

from __future__ import annotations

import argparse
from typing import cast

import torch

from models.nets.transformer import Transformer
from models.training.recipes import RECIPES, short_recipe, task_of
from models.training.trainer import precision_for, short_folder, train, train_each, training_parser
from studies import seeds


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = training_parser(__doc__)
    parser.add_argument("--full", action="store_true", help="train as many steps as the released model")
    train_each(parser, _train_one)


def _train_one(arguments: argparse.Namespace, name: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    task = task_of(name, arguments.data, arguments.runs)
    seeds.check_scores(task)
    recipe = RECIPES[name] if arguments.full else short_recipe(name)
    folder = arguments.runs / name / f"seed-{arguments.seed}" if arguments.full else \
        short_folder(arguments.runs, name, recipe, arguments.seed)
    precision = precision_for(folder, device, arguments.precision)
    model = train(recipe, task.corpus, folder, arguments.seed, device, precision).cpu()
    metric = seeds.measured(model, task)
    if arguments.full and name in seeds.ZERO_SHOT:
        metric |= seeds.zero_shot(cast(Transformer, model), task, arguments.data)
    settings = {"precision": precision, "device": device.type, "learning_rate": recipe.learning_rate,
                "table_rate": recipe.table_rate}
    seeds.add(name, recipe.steps, arguments.seed, metric | settings,
              seeds.SEEDS / seeds.FULL if arguments.full else None)


if __name__ == "__main__":
    main()
