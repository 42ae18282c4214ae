"""The command line of the studies: parses names of models and writes NAME.KIND.json for each.

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
    """A study's option, `--name`. A measurement stores its command with every option that differs from the default.

    Attributes:
        name: without the dashes.
        usual: default value; None if the default depends on the model.
        about: help text.
        of: parses the argument; raises ArgumentTypeError or ValueError.
        repeats: False for options that change no number, such as a time limit. They are not stored.
    """

    name: str
    usual: Any
    about: str
    of: Callable[[str], Any] = int
    repeats: bool = True


def study(kind: str, about: str | None, choices: Sequence[str], load: Callable[[str], Its],
          measure: Callable[[Its, Task, argparse.Namespace], dict[str, Any]], options: Sequence[Option] = ()) -> None:
    """Runs the study on each model that the command line names, and writes what `measure` returns.

    Args:
        kind: of measurement, a key of store.COMMANDS.
        about: the study's docstring, printed by --help.
        choices: names of models that the study accepts.
        load: models.loading.load or models.loading.own.
        measure: (lab, task, arguments) -> the measurement's values. The task caches tokens in arguments.runs.
        options: of this study, in addition to --data and --runs.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=choices, metavar="NAME", help=", ".join(choices))
    for option in options:
        parser.add_argument(f"--{option.name}", type=option.of, default=option.usual, help=option.about)
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"),
                        help="folder of cached tokens and of unfinished results")
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
