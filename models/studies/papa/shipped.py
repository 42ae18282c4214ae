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

from models.checkpoint import dequantise, quantise
from models.studies.papa import probes
from models.studies.papa.study import Work
from models.studies.papa.ways import touched

PROBES = Path(__file__).parents[1] / "probes"


def write(name: str, folder: Path, works: Iterable[Work]) -> None:
    """The files of all tasks whose learned order is measured at every number of heads."""
    for work in works:
        counts = touched(len(work.lab.kinds[0].addresses))
        paths = {count: folder / f"{work.key}.{count}.safetensors" for count in counts}
        if not all(path.exists() for path in paths.values()):
            continue
        constant = load_file(folder / f"{work.key}.constant.safetensors")["constant"]
        tensors: dict[str, Tensor] = {"constant": constant.half()}
        for count, path in paths.items():
            probe = load_file(path)  # means and deviations differ too much within a row for one scale
            weights = quantise({key: its for key, its in probe.items() if key in ("first.weight", "second.weight")})
            tensors |= {f"{count}.{key}": its if its.dtype == torch.int8 else its.half()
                        for key, its in (probe | weights).items()}
        (PROBES / name).mkdir(parents=True, exist_ok=True)
        save_file(tensors, PROBES / name / f"{work.key}.safetensors")


def read(name: str, task: str) -> tuple[Tensor, dict[int, probes.Probe]] | None:
    """(L, H, GRID, GRID) constant matrices, and heads that are constant -> a probe; None if there is no such file."""
    try:
        tensors = load_file(PROBES / name / f"{task}.safetensors")
    except FileNotFoundError:
        return None
    constant = tensors.pop("constant").float()
    by_count: dict[int, dict[str, Tensor]] = {}
    for key, its in tensors.items():
        count, _, rest = key.partition(".")
        by_count.setdefault(int(count), {})[rest] = its
    return constant, {count: probes.unpacked(dequantise(its)) for count, its in by_count.items()}
