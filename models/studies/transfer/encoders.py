"""Encoders of ours that are trained for studies alone: three sizes, at several moments of their training, and
Synthesizers beside softmax. None of them ships: what is kept of them is numbers.

    python -m models.studies.transfer.encoders                   # all of them; goes on where it was stopped
    python -m models.studies.transfer.encoders small middle      # some

All are trained alike, as the family of masked words is: its data, texts of 64 tokens, its optimisers and the rate that
it has where no sweep has chosen one, one seed, for 900 steps of 4,096 tokens. What a model was at a moment lies in
runs/encoders/NAME/STEPS, its weights in 8 bits like those that ship. `masked-middle-300` names such a moment, for
models.studies.papa and models.studies.transfer.transfer_study.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from models.labs.stack import StackLab
from models.nets.transformer import Model, Transformer
from models.storage.checkpoint import digest, read_json, read_model, write_json, write_model
from models.storage.datasets import add_data_option
from models.tasks.masked import LENGTH, TOKENS, MaskedCorpus, MaskedReader
from models.training.recipes import RECIPES, Recipe
from models.training.trainer import train, validation_loss

STEPS, SEED, RATE = 900, 0, 8e-3  # the same rate for all, whatever the sweep finds for the models that ship
COMPILED = True  # a step is a fifth faster then
SIZES = {"small": (96, 2), "middle": (192, 4), "large": (224, 5)}  # width, layers; all with 8 heads a layer
SYNTHESIZERS = ("random", "dense", "dense-softmax", "random-softmax")  # of the middle's size
NAMES = ("middle", "small", *SYNTHESIZERS, "large")
MOMENTS = {"middle": (100, 300, STEPS), "small": (300, STEPS), "large": (300, STEPS)}  # steps after which all is kept
WEIGHTS, NUMBERS = "model.safetensors", "moment.json"


def recipe_of(name: str) -> Recipe:
    """How one of NAMES is trained."""
    recipe = RECIPES["masked-softmax"]
    width, layers = SIZES.get(name, SIZES["middle"])
    attention = name if name in SYNTHESIZERS else "softmax"
    return replace(recipe, steps=STEPS, learning_rate=RATE, compiled=COMPILED,
                   config=replace(recipe.config, width=width, layers=layers, attention=attention))


def moments_of(name: str) -> tuple[str, ...]:
    """`masked-small-300`, `masked-small-900`: what is kept of a training."""
    return tuple(f"masked-{name}-{steps}" for steps in MOMENTS.get(name, (STEPS,)))


ALL = tuple(moment for name in NAMES for moment in moments_of(name))


def folder_of(moment: str, runs: Path) -> Path:
    """Where a moment's files lie."""
    name, steps = _parts(moment)
    return runs / "encoders" / name / steps


def _parts(moment: str) -> tuple[str, str]:
    name, _, steps = moment.removeprefix("masked-").rpartition("-")
    return name, steps


def lab_of(moment: str, runs: Path) -> StackLab:
    """A moment behind the protocol of models/lab.py; without constant matrices, which a study makes of its own texts.

    Raises:
        FileNotFoundError: it is not trained yet.
    """
    folder, reader = folder_of(moment, runs), MaskedReader()
    if not (folder / NUMBERS).exists():
        raise FileNotFoundError(f"{moment} is not trained yet: python -m models.studies.transfer.encoders "
                                f"{_parts(moment)[0]}")
    _ = reader.labels
    return StackLab(moment, reader, read_model(folder), {}, {"weights": {WEIGHTS: digest(folder / WEIGHTS)}})


def train_one(name: str, data: Path, runs: Path) -> None:
    """Trains a model and keeps its moments; what is done is not done again."""
    corpus, recipe = MaskedCorpus(MaskedReader(), data, runs, (LENGTH,), TOKENS), recipe_of(name)
    missing = {moment: folder for moment in moments_of(name)
               if not ((folder := folder_of(moment, runs)) / NUMBERS).exists()}
    if not missing:
        return

    def keep(steps: int, model: Model) -> None:
        folder = missing.get(f"masked-{name}-{steps}")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_model(folder, model)

    train(recipe, corpus, runs / "encoders" / name, SEED, torch.device("cpu"), after=keep)
    for moment, folder in missing.items():
        model = read_model(folder)
        assert isinstance(model, Transformer)  # what the recipe builds
        write_json(folder / NUMBERS, {"steps": int(_parts(moment)[1]), "tokens": TOKENS, "of": STEPS,
                                      "learning_rate": recipe.learning_rate, "width": model.config.width,
                                      "attention": model.config.attention,
                                      "validation_loss": round(validation_loss(model, corpus), 4)})


def numbers_of(moment: str, runs: Path) -> dict[str, object]:
    """What is known of a moment: steps, tokens a step, steps of the whole training, rate, shape, validation loss."""
    return read_json(folder_of(moment, runs) / NUMBERS)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m models.studies.transfer.encoders", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME", help=f"of {', '.join(NAMES)}")
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where what is done is kept")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # sums in another order would make another model
    for name in options.names or NAMES:
        train_one(name, options.data, options.runs)
        print(f"{name}: " + ", ".join(f"{moment} {numbers_of(moment, options.runs)['validation_loss']}"
                                      for moment in moments_of(name)), flush=True)


if __name__ == "__main__":
    main()
