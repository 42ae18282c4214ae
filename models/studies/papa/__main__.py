"""The command; see the package's docstring.

    python -m models.studies.papa masked-softmax
    python -m models.studies.papa hf:sentence-transformers/all-MiniLM-L6-v2 --tasks pos slots
    python -m models.studies.papa FOLDER --name NAME
    python -m models.studies.papa masked-small-900 --ways learned
    python -m models.studies.papa masked-small-300 --ends

MODEL is one of ours, an address of the Hub, a folder of files as transformers saves them, or a moment of a training of
models/studies/transfer/encoders.py, which trains it first. What is done is kept in runs/papa and goes on from there.
Writes models/studies/measurements/NAME.papa.json and, for typed texts, models/studies/probes/NAME/TASK.safetensors; of
a moment, which no page can read a text with, the numbers alone.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from models import loading
from models.lab import Lab
from models.labs.foreign import ForeignError, load_folder
from models.storage.checkpoint import CheckpointError
from models.storage.datasets import add_data_option
from models.studies import store
from models.studies.papa import shipped
from models.studies.papa.features import LIMIT, Cache
from models.studies.papa.probe_modes import WAYS, Condition, conditions, ends
from models.studies.papa.results import KIND
from models.studies.papa.study import Work
from models.studies.papa.tasks.corpora import CORPORA
from models.studies.transfer import encoders


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.studies.papa", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL")
    parser.add_argument("--tasks", nargs="+", choices=[*CORPORA], default=[*CORPORA], metavar="TASK",
                        help=f"of {', '.join(CORPORA)}; all by default")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=[*WAYS], metavar="WAY",
                        help=f"of {', '.join(WAYS)}; all by default")
    parser.add_argument("--ends", action="store_true", help="no head constant and all of them, and nothing between")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of texts; less is a quick look")
    parser.add_argument("--name", help="of the files that are written; by default the end of MODEL")
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where what is done is kept")
    parser.add_argument("--cache", type=float, default=LIMIT / 2**30, help="GB of features that are kept there")
    parser.add_argument("--finish", action="store_true", help="write what is done, and measure nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sums in another order would make another probe
    try:
        lab = opened(arguments.model, arguments.runs)
        name = arguments.name or Path(arguments.model).name
        folder = arguments.runs / "papa" / name
        cache = Cache(arguments.runs / "papa" / "features", round(arguments.cache * 2**30))
        works = [Work(lab, key, folder, cache, arguments.data, arguments.share) for key in arguments.tasks]
        if not arguments.finish:
            heads = len(lab.kinds[0].addresses)
            measure(works, ends(heads) if arguments.ends else conditions(heads, arguments.ways))
    except (CheckpointError, ForeignError, ValueError, FileNotFoundError) as error:
        parser.error(str(error))
    command = f"python -m models.studies.papa {_shown(arguments.model, arguments.name)}"
    command += f" --share {arguments.share:g}" if arguments.share != 1 else ""
    is_moment = arguments.model in encoders.ALL
    moment = {"moment": encoders.numbers_of(arguments.model, arguments.runs)} if is_moment else {}
    write(lab, name, name if Path(arguments.model).is_dir() else arguments.model, command, works, moment)
    if not is_moment:
        shipped.write(name, folder, works)


def _shown(model: str, name: str | None) -> str:
    """The model as others would have to name it: where a folder lies is nobody else's affair."""
    return f"FOLDER --name {name or Path(model).name}" if Path(model).is_dir() else model


def opened(model: str, runs: Path) -> Lab:
    """One of ours, of the Hub, of a folder, or of a moment of a training that is kept in `runs`."""
    if model in encoders.ALL:
        return encoders.lab_of(model, runs)
    return load_folder(model) if Path(model).is_dir() else loading.load(model)


def measure(works: Sequence[Work], states: Sequence[Condition]) -> None:
    """All that is not done yet, state by state over all tasks, so that what is there soon is a whole picture."""
    missing = [(work, state) for state in states for work in works if not work.is_done(state)]
    began = time.monotonic()
    for i, (work, state) in enumerate(missing):
        scores = work.measure(state)
        took = time.monotonic() - began
        left = took / (i + 1) * (len(missing) - i - 1)
        print(f"{i + 1} of {len(missing)}, {took / 60:.1f} min, about {left / 60:.0f} min left: {work.key}, "
              f"{state.way}, {state.touched} heads: {' '.join(f'{its:.3f}' for its in scores)}", flush=True)


def measured(tasks: Mapping[str, Mapping[str, Any]], heads: int) -> str:
    """The options that measure what these tasks have, where that is not everything."""
    states = {(way, int(count)) for its in tasks.values() for way, count, _ in map(str.split, its["scores"])}
    found = [way for way in WAYS if way in {way for way, _ in states}]
    chosen = [key for key in CORPORA if key in tasks]
    options = f" --tasks {' '.join(chosen)}" if len(chosen) < len(CORPORA) else ""
    if states == {(its.way, its.touched) for its in ends(heads)}:
        return f"{options} --ends"
    return options + (f" --ways {' '.join(found)}" if len(found) < len(WAYS) else "")


def write(lab: Lab, name: str, address: str, command: str, works: Sequence[Work], more: dict[str, Any]) -> None:
    """NAME.papa.json, of all tasks that were ever measured with these weights; `more` is said beside them."""
    kind = lab.kinds[0]
    old = store.found(name, KIND) or {}
    tasks = (old["tasks"] if old.get("weights") == lab.fingerprint else {}) | \
        {work.key: work.done for work in works if work.done["scores"]}
    values: dict[str, Any] = {
        "title": name, "address": address, "layers": kind.layers, "heads": kind.heads,
        "parameters": lab.parameters, "command": command + measured(tasks, len(kind.addresses)),
        "cpu_seconds": round(sum(its["cpu_seconds"] for its in tasks.values())),
        "tasks": {key: tasks[key] for key in CORPORA if key in tasks}} | more
    if "metric" in lab.card and name == lab.name:
        store.write(name, KIND, lab.card["metric"], values)
    else:
        store.write_of(name, KIND, lab.fingerprint, values)


if __name__ == "__main__":
    main()
