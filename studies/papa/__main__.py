"""Measures one model; see the package's docstring.

    python -m studies.papa masked-softmax
    python -m studies.papa hf:sentence-transformers/all-MiniLM-L6-v2 --tasks pos slots
    python -m studies.papa FOLDER --name NAME
    python -m studies.papa masked-small-900 --modes learned
    python -m studies.papa masked-small-300 --endpoints

MODEL is one of our models, a Hub address, a folder as transformers saves it, or a training checkpoint of
studies/encoders.py, which has to be trained first. Tasks are independent jobs: --processes 2 runs two
at a time. Intermediate results are stored in runs/papa, and a study that is stopped resumes from there.
The command writes studies/measurements/NAME.papa.json and, for typed texts,
studies/probes/NAME/TASK.safetensors. Pairs of sentences and training checkpoints get no probe files: no page has them.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch

from models import loading
from models.lab import Lab
from models.labs.foreign import ForeignError, load_folder
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import add_folder_options
from models.training.executor import add_processes_option, progress, run_jobs
from studies import encoders, store
from studies.papa import shipped
from studies.papa.corpora import CORPORA, JUDGED
from studies.papa.features import Cache
from studies.papa.results import KIND, MODES, SEEDS, Condition, conditions, endpoints
from studies.papa.study import TaskStudy


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m studies.papa", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--tasks", nargs="+", choices=[*CORPORA], default=[*CORPORA], metavar="TASK",
                        help=f"any of {', '.join(CORPORA)}; all by default")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=[*MODES], metavar="MODE",
                        help=f"any of {', '.join(MODES)}; all by default")
    parser.add_argument("--probes", type=int, default=len(SEEDS), help="per condition that compares the two orders")
    parser.add_argument("--endpoints", action="store_true",
                        help="measure only no head constant, all heads constant and all heads pruned")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of texts; less for a quick look")
    parser.add_argument("--name", help="name of the output files; by default the last part of MODEL")
    add_folder_options(parser)
    add_processes_option(parser)
    parser.add_argument("--finish", action="store_true", help="write the stored results without measuring")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # one thread, because another order of summation would give other probes
    try:
        lab = load(arguments.model, arguments.runs)
        name = arguments.name or Path(arguments.model).name
        arguments.runs, arguments.data = arguments.runs.absolute(), arguments.data.absolute()
        folder = arguments.runs / "papa" / name
        if not arguments.finish:
            heads = len(lab.kinds[0].addresses)
            wanted = endpoints(heads) if arguments.endpoints else conditions(heads, arguments.modes, arguments.probes)
            jobs = run_jobs(partial(measure, arguments, folder, wanted), arguments.tasks, arguments.processes)
            for _ in progress(jobs, arguments.tasks):
                pass
        studies = [study_of(lab, arguments, folder, key) for key in arguments.tasks]
    except (CheckpointError, ForeignError, ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    command = f"python -m studies.papa {_address(arguments.model, arguments.name)}"
    command += f" --share {arguments.share:g}" if arguments.share != 1 else ""
    is_moment = arguments.model in encoders.ALL
    moment = {"moment": encoders.numbers_of(arguments.model, arguments.runs)} if is_moment else {}
    write(lab, name, name if Path(arguments.model).is_dir() else arguments.model, command, studies, moment)
    if not is_moment:
        shipped.write(name, folder, [study for study in studies if study.key in JUDGED])


def _address(model: str, name: str | None) -> str:
    """Returns the model's name for a command on another machine, without the path of a local folder."""
    return f"FOLDER --name {name or Path(model).name}" if Path(model).is_dir() else model


def load(model: str, runs: Path) -> Lab:
    """Returns a model by name, Hub address or folder, or a training checkpoint stored in `runs`."""
    if model in encoders.ALL:
        return encoders.lab_of(model, runs)
    return load_folder(model) if Path(model).is_dir() else loading.load(model)


def study_of(lab: Lab, arguments: argparse.Namespace, folder: Path, key: str) -> TaskStudy:
    """Returns the study of a task with its stored results."""
    return TaskStudy(lab, key, folder, Cache(arguments.runs / "papa" / "features"), arguments.data, arguments.share)


def measure(arguments: argparse.Namespace, folder: Path, wanted: Sequence[Condition], key: str) -> None:
    """Measures the conditions of a task that are missing; the body of a process."""
    measure_missing(study_of(load(arguments.model, arguments.runs), arguments, folder, key), wanted)


def measure_missing(study: TaskStudy, wanted: Sequence[Condition]) -> None:
    """Measures the conditions that have no result, and prints each."""
    for condition in wanted:
        if not study.is_done(condition):
            scores = study.measure(condition)
            print(f"{study.key}, {condition.mode}, {condition.count} heads: "
                  f"{' '.join(f'{value:.3f}' for value in scores)}", flush=True)


def options_of(tasks: Mapping[str, Mapping[str, Any]], heads: int) -> str:
    """Returns the command-line options that reproduce these results; empty if all tasks and modes are measured."""
    names = {name for task in tasks.values() for name in task["scores"]}
    ends = {str(condition) for condition in endpoints(heads)}
    chosen = [key for key in CORPORA if key in tasks]
    options = f" --tasks {' '.join(chosen)}" if len(chosen) < len(CORPORA) else ""
    if names <= ends:
        return f"{options} --endpoints"
    measured = {name.split()[0] for name in names - ends}
    modes = [mode for mode in MODES if mode in measured]
    options += f" --modes {' '.join(modes)}" if len(modes) < len(MODES) else ""
    probes = max(len(scores) for task in tasks.values() for scores in task["scores"].values())
    return options + (f" --probes {probes}" if probes > len(SEEDS) else "")


def write(lab: Lab, name: str, address: str, command: str, studies: Sequence[TaskStudy], more: dict[str, Any]) -> None:
    """Writes NAME.papa.json with all tasks that have been measured with these weights."""
    kind = lab.kinds[0]
    stored = store.read_undamaged(name, KIND) or {}
    tasks = (stored["tasks"] if stored.get("weights") == lab.fingerprint else {}) | \
        {study.key: study.done for study in studies if study.done["scores"]}
    values: dict[str, Any] = {
        "title": name, "address": address, "layers": kind.layers, "heads": kind.heads,
        "parameters": lab.parameters, "command": command + options_of(tasks, len(kind.addresses)),
        "cpu_seconds": round(sum(task["cpu_seconds"] for task in tasks.values())),
        "tasks": {key: tasks[key] for key in CORPORA if key in tasks}} | more
    if "metric" in lab.card and name == lab.name:
        store.write(name, KIND, lab.card["metric"], values)
    else:
        store.write_of(name, KIND, lab.fingerprint, values)


if __name__ == "__main__":
    main()
