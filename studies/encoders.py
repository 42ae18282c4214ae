"""Encoders trained only for studies: softmax in several sizes, and Synthesizers. Only their measurements are released.

    python -m studies.encoders                   # all; resumes where it was stopped
    python -m studies.encoders small middle      # some

All have the same training, that of the family of masked language models: its data, texts of 64 tokens, its optimisers,
the learning rate of a model without a sweep, one seed, 900 steps of 4,096 tokens. Checkpoints of a training are stored
in runs/encoders/NAME/STEPS, with 8-bit weights like the released models. `masked-middle-300` names such a checkpoint
in the commands of studies.papa and studies.transfer.transfer_study.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from models.labs.stack import StackLab
from models.nets.transformer import Model, Transformer
from models.storage.checkpoint import digest, read_json, read_model, write_json, write_model
from models.storage.datasets import add_folder_options
from models.tasks.masked import LENGTH, TOKENS, MaskedCorpus, MaskedReader
from models.training.recipes import RECIPES, Recipe
from models.training.trainer import train, validation_loss

STEPS, SEED, RATE = 900, 0, 8e-3  # all encoders have the same learning rate, independent of the sweeps
COMPILED = True  # whether to use torch.compile, with which a step is a fifth faster
# (width, layers) of each size; all have 8 heads per layer
SIZES = {"small": (96, 2), "middle": (192, 4), "large": (224, 5)}
# further sizes, added because the statement about better models was open; named WIDTHxLAYERS
SIZES |= {f"{width}x{layers}": (width, layers) for width, layers in (
    (64, 1), (64, 2), (96, 1), (96, 3), (128, 2), (128, 3), (160, 2), (160, 3))}
# attention types that are trained in the middle size; statements are about the Synthesizers
SYNTHESIZERS = ("random", "dense", "dense-softmax", "random-softmax")
TYPES = (*SYNTHESIZERS, "selective")  # selective: the queries before a query vote, in the order of the text
NAMES = ("middle", "small", *TYPES, "large", *(name for name in SIZES if "x" in name))
MOMENTS = {"middle": (100, 300, STEPS), "small": (300, STEPS), "large": (300, STEPS)}  # steps of the stored checkpoints
WEIGHTS, NUMBERS = "model.safetensors", "moment.json"


def recipe_of(name: str) -> Recipe:
    """Returns the recipe of an encoder; `name` is one of NAMES."""
    recipe = RECIPES["masked-softmax"]
    width, layers = SIZES.get(name, SIZES["middle"])
    attention = name if name in TYPES else "softmax"
    return replace(recipe, steps=STEPS, learning_rate=RATE, compiled=COMPILED,
                   config=replace(recipe.config, width=width, layers=layers, attention=attention))


def moments_of(name: str) -> tuple[str, ...]:
    """Returns the names of a training's checkpoints, for example `masked-small-300` and `masked-small-900`."""
    return tuple(moment for moment, (own, _) in trainings().items() if own == name)


def trainings() -> dict[str, tuple[str, int]]:
    """Returns checkpoint -> name of its training, and its number of steps."""
    return {f"masked-{name}-{steps}": (name, steps) for name in NAMES for steps in MOMENTS.get(name, (STEPS,))}


ALL = tuple(trainings())


def folder_of(moment: str, runs: Path) -> Path:
    """Returns the folder of a checkpoint."""
    name, steps = trainings()[moment]
    return runs / "encoders" / name / str(steps)


def lab_of(moment: str, runs: Path) -> StackLab:
    """Returns a checkpoint as a Lab, without constant matrices: a study computes them from its own texts."""
    folder, reader = folder_of(moment, runs), MaskedReader()
    if not (folder / NUMBERS).exists():
        raise FileNotFoundError(f"{moment} has not been trained. Train it with: "
                                f"python -m studies.encoders {trainings()[moment][0]}")
    _ = reader.labels
    return StackLab(moment, reader, read_model(folder), {}, {"weights": {WEIGHTS: digest(folder / WEIGHTS)}})


def train_one(name: str, data: Path, runs: Path) -> None:
    """Trains an encoder and stores its checkpoints; does nothing if all of them exist."""
    corpus, recipe = MaskedCorpus(MaskedReader(), data, runs, (LENGTH,), TOKENS), recipe_of(name)
    missing = {moment: folder for moment in moments_of(name)
               if not ((folder := folder_of(moment, runs)) / NUMBERS).exists()}
    if not missing:
        return

    def save(steps: int, model: Model) -> None:
        folder = missing.get(f"masked-{name}-{steps}")
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            write_model(folder, model)

    train(recipe, corpus, runs / "encoders" / name, SEED, torch.device("cpu"), after=save)
    for moment, folder in missing.items():
        model = read_model(folder)
        assert isinstance(model, Transformer)  # the recipe builds a Transformer
        write_json(folder / NUMBERS, {"steps": trainings()[moment][1], "tokens": TOKENS, "of": STEPS,
                                      "learning_rate": recipe.learning_rate, "width": model.config.width,
                                      "attention": model.config.attention,
                                      "validation_loss": round(validation_loss(model, corpus), 4)})


def numbers_of(moment: str, runs: Path) -> dict[str, object]:
    """Returns the numbers of a checkpoint, which its training stored."""
    return read_json(folder_of(moment, runs) / NUMBERS)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command; `arguments` are those of the command line by default."""
    parser = argparse.ArgumentParser(prog="python -m studies.encoders", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES], metavar="NAME",
                        help=f"any of {', '.join(NAMES)}; all by default")
    add_folder_options(parser)
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)  # one thread, because another order of summation would give other weights
    for name in options.names or NAMES:
        train_one(name, options.data, options.runs)
        print(f"{name}: " + ", ".join(f"{moment} {numbers_of(moment, options.runs)['validation_loss']}"
                                      for moment in moments_of(name)), flush=True)


if __name__ == "__main__":
    main()
