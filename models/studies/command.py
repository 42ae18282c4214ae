"""The command line that the studies share: models by name, their numbers written as NAME.KIND.json.

    python -m models.studies.corpus.blimp stories-softmax stories-gated [--pairs P]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from models.lab import Lab
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import add_data_option
from models.studies import store
from models.tasks.base import Task
from models.training.recipes import task_of

Its = TypeVar("Its", bound=Lab)


@dataclass(frozen=True)
class Option:
    """--name of a study, which a measurement's own command repeats where it is not the usual one.

    Attributes:
        usual: what it is if it isn't given; None where that depends on the model.
        of: makes a value of a text; raises ArgumentTypeError or ValueError.
        repeats: False for what changes no number, or only how long they may take.
    """

    name: str
    usual: Any
    about: str
    of: Callable[[str], Any] = int
    repeats: bool = True


def study(kind: str, about: str | None, choices: Sequence[str], load: Callable[[str], Its],
          measure: Callable[[Its, Task, argparse.Namespace], dict[str, Any]], options: Sequence[Option] = ()) -> None:
    """Measures the models that the command line names, one after the other, and writes what `measure` returns.

    Args:
        kind: of store.COMMANDS.
        about: the study's docstring.
        choices: names of models that it is of.
        load: models.loading.load or models.loading.own.
        measure: (lab, task, arguments) -> the measurement's values; task's tokens are kept in arguments.runs.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=choices, metavar="NAME", help=", ".join(choices))
    for option in options:
        parser.add_argument(f"--{option.name}", type=option.of, default=option.usual, help=option.about)
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"),
                        help="where tokens of the data and what is half done are kept")
    arguments = parser.parse_args()
    given = "".join(f" --{option.name} {value}" for option in options
                    if option.repeats and (value := getattr(arguments, option.name)) != option.usual)
    for name in arguments.names:
        try:
            lab = load(name)
            found = measure(lab, task_of(name, arguments.data, arguments.runs), arguments)
        except (CheckpointError, ValueError, FileNotFoundError) as error:
            parser.error(str(error))
        store.write(name, kind, lab.card["metric"],
                    {"command": f"python -m {store.COMMANDS[kind]} {name}{given}"} | found)
