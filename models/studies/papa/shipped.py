"""What a typed text needs of a study: a task's constant matrices, and the probe of each number of constant heads.

    models/studies/probes/NAME/TASK.safetensors

The probes of the first seed, in the learned order; matrices of numbers as 8-bit integers with a scale a row, like the
models' own weights, constants as float16.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.storage.checkpoint import dequantise, quantise
from models.studies.papa import probes
from models.studies.papa.probe_modes import touched
from models.studies.papa.study import Work

PROBES = Path(__file__).parents[1] / "probes"


def write(name: str, folder: Path, works: Iterable[Work]) -> None:
    """The files of all tasks that have been measured untouched and with constant heads."""
    for work in works:
        counts = touched(len(work.lab.kinds[0].addresses))
        paths = {count: path for count in counts
                 if (path := folder / f"{work.key}.{count}.safetensors").exists()}
        if len(paths) < 2:
            continue
        constant = load_file(folder / f"{work.key}.constant.safetensors")["constant"]
        tensors: dict[str, Tensor] = {"constant": constant.half()}
        for count, path in paths.items():
            probe = load_file(path)  # means and deviations differ too much within a row for one scale
            weights = quantise({key: its for key, its in probe.items() if key in ("first.weight", "second.weight")})
            tensors |= {f"{count}.{key}": its if its.dtype == torch.int8 else its.half()
                        for key, its in (probe | weights).items()}
        (PROBES / name).mkdir(parents=True, exist_ok=True)
        save_file(tensors, path_of(name, work.key))


def path_of(name: str, task: str) -> Path:
    """Where a task's file of a study lies."""
    return PROBES / name / f"{task}.safetensors"


def read(name: str, task: str) -> tuple[Tensor, dict[int, probes.Probe]] | None:
    """(L, H, GRID, GRID) constant matrices, and heads that are constant -> a probe; None if there is no such file."""
    try:
        tensors = load_file(path_of(name, task))
    except FileNotFoundError:
        return None
    constant = tensors.pop("constant").float()
    by_count: dict[int, dict[str, Tensor]] = {}
    for key, its in tensors.items():
        count, _, rest = key.partition(".")
        by_count.setdefault(int(count), {})[rest] = its
    return constant, {count: probes.unpacked(dequantise(its)) for count, its in by_count.items()}
