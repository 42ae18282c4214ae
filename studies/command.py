"""The command line of the studies: parses names of models and writes NAME.KIND.json for each.

    python -m studies.zero_shot.blimp stories-softmax stories-gated [--processes N]

Each model is a job of models/training/executor.py. The file of a model is written as soon as the model is measured, so
that a stopped command keeps the finished measurements.
"""

import argparse
import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from models.lab import Lab
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import add_folder_options
from models.tasks.base import Task
from models.training.executor import add_processes_option, progress, run_jobs
from models.training.recipes import task_of
from studies import store

Its = TypeVar("Its", bound=Lab)


@dataclass(frozen=True)
class Option:
    """A study's option, `--name`. A measurement stores its command with every option that differs from the default."""

    name: str  # name of the option without the dashes
    usual: Any  # default value; None if the default depends on the model
    about: str  # help text
    of: Callable[[str], Any] = int  # a function that parses the argument; raises ArgumentTypeError or ValueError
    repeats: bool = True  # False for options that change no number, such as a time limit. These options are not stored.


def study(kind: str, about: str | None, choices: Sequence[str], load: Callable[[str], Its],
          measure: Callable[[Its, Task, argparse.Namespace], dict[str, Any]], options: Sequence[Option] = ()) -> None:
    """Runs the study on each model that the command line names, and writes the results of `measure`."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=choices, metavar="NAME", help=", ".join(choices))
    for option in options:
        parser.add_argument(f"--{option.name}", type=option.of, default=option.usual, help=option.about)
    add_folder_options(parser)
    add_processes_option(parser)
    arguments = parser.parse_args()
    given = "".join(f" --{option.name} {value}" for option in options
                    if option.repeats and (value := getattr(arguments, option.name)) != option.usual)
    jobs = [_Job(kind, name, load, measure, arguments) for name in arguments.names]
    try:
        for i, (metric, result) in progress(run_jobs(_run, jobs, arguments.processes), arguments.names):
            name = arguments.names[i]
            store.write(name, kind, metric, {"command": f"python -m {store.COMMANDS[kind]} {name}{given}"} | result)
    except (CheckpointError, ValueError, FileNotFoundError) as error:
        parser.error(str(error))


@dataclass(frozen=True)
class _Job:
    """A model to measure; functions are pickled by name, because a command's module is called __main__."""

    kind: str
    name: str
    load: Callable[[str], Any]
    measure: Callable[..., dict[str, Any]]
    arguments: argparse.Namespace

    def __reduce__(self) -> tuple[Any, ...]:
        return _job, (self.kind, self.name, self.load.__module__, self.load.__qualname__, self.measure.__name__,
                      self.arguments)


def _job(kind: str, name: str, module: str, load: str, measure: str, arguments: argparse.Namespace) -> _Job:
    return _Job(kind, name, getattr(importlib.import_module(module), load),
                getattr(importlib.import_module(store.COMMANDS[kind]), measure), arguments)


def _run(job: _Job) -> tuple[Any, dict[str, Any]]:
    """Returns the card's metric and the measurement of a model."""
    lab, arguments = job.load(job.name), job.arguments
    return lab.card["metric"], job.measure(lab, task_of(job.name, arguments.data, arguments.runs), arguments)
