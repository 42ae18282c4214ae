"""Runs studies of a model in a notebook or a script, with a progress bar.

    found = attention_lab.study.papa("masked-softmax", tasks=["intent-snips"], share=0.1)
    found.mean_drop("learned", found.heads)          # relative loss of score with all heads constant
    attention_lab.figures.dots(attention_lab.study.points(found), "accuracy")

The wheel contains the data sets of the tasks in TASKS. A clone of the repository contains all data sets
(docs/models.md).
"""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm.auto import tqdm

import models
from models.labs.foreign import load_folder
from models.storage.datasets import DATA
from studies.papa.corpora import CORPORA
from studies.papa.features import Cache
from studies.papa.results import LEARNED, REMOVED, Study, conditions, endpoints, of
from studies.papa.study import TaskStudy

TASKS = ("intent-snips", "intent-banking", "slots")  # their data sets are in the wheel
__all__ = ["TASKS", "Study", "papa", "points"]


def papa(model: models.Lab | str | Path, tasks: Sequence[str] = ("intent-snips",), *, modes: Sequence[str] = (),
         share: float = 1.0, data: str | Path = DATA, runs: str | Path | None = None, progress: bool = True) -> Study:
    """Measures how much a model's scores on tasks drop when its heads are constant (Hassid et al. 2022).

    Args:
        model: a loaded model, a name or Hub address, or a folder that `save_pretrained` wrote.
        tasks: keys of CORPORA in studies/papa/corpora.py.
        modes: probe modes (how and in which order heads are modified), a subset of `learned`, `random` and `removed`;
            empty for the endpoints only: no head modified, all heads constant, all heads pruned.
        share: fraction of the usual number of texts (600 for training, 400 for the test); use a small fraction for a
            quick test.
        data: folder of the data sets.
        runs: folder of intermediate results, from which a study resumes; None for a temporary folder.
        progress: True to show a progress bar.

    Returns:
        The study. `.tasks[key].at(mode, count, heads)` returns one score per seed; `.mean_drop(mode, count)` returns
        the mean relative drop.

    Raises:
        ValueError: a task or a mode is unknown, or the study cannot measure this model.
        FileNotFoundError: the data set of a task is not in `data`.
    """
    if unknown := [key for key in tasks if key not in CORPORA]:
        raise ValueError(f"no task is called {', '.join(unknown)}; there are {', '.join(CORPORA)}")
    lab = model if isinstance(model, models.Lab) else \
        load_folder(model) if Path(model).is_dir() else models.load(str(model))
    heads = len(lab.kinds[0].addresses)
    wanted = conditions(heads, modes) if modes else endpoints(heads)
    with TemporaryDirectory() as temporary:
        folder = Path(runs or temporary) / "papa"
        cache = Cache(folder / "features")
        studies = [TaskStudy(lab, key, folder / Path(lab.name).name, cache, Path(data), share) for key in tasks]
        missing = [(study, condition) for condition in wanted for study in studies if not study.is_done(condition)]
        for study, condition in tqdm(missing, desc="PAPA", unit="condition", disable=not progress):
            study.measure(condition)
    kind = lab.kinds[0]
    return of({"name": lab.name, "title": lab.name, "weights": lab.fingerprint, "layers": kind.layers,
               "heads": kind.heads, "parameters": lab.parameters,
               "command": f"python -m studies.papa {lab.name}",
               "cpu_seconds": sum(study.done["cpu_seconds"] for study in studies),
               "tasks": {study.key: study.done for study in studies}})


def points(study: Study) -> list[dict[str, Any]]:
    """Returns the scores of the endpoints for `figures.dots`: one point per task, condition and seed."""
    conditions = {"unmodified": (LEARNED, 0), "all heads constant": (LEARNED, study.heads),
                  "all heads pruned": (REMOVED, study.heads)}
    return [{"name": task.title, "which": which, "value": score} for task in study.tasks.values()
            for which, (mode, count) in conditions.items() for score in task.at(mode, count, study.heads)]
