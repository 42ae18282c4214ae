"""Released probes: per task the constant matrices, and one probe per number of constant heads.

    studies/probes/NAME/TASK.safetensors

Pages apply these probes to an input text. They are the probes of the first seed, in the learned order. Weight matrices
are 8-bit integers with a scale per row, like the weights of the released models; constant matrices are float16.
"""

from collections.abc import Iterable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.storage.checkpoint import dequantise, quantise
from studies.papa import probes
from studies.papa.probe_modes import head_counts
from studies.papa.study import TaskStudy

PROBES = Path(__file__).parents[1] / "probes"


def write(name: str, folder: Path, studies: Iterable[TaskStudy]) -> None:
    """Writes the file of each task that has probes for the unmodified model and for constant heads."""
    for study in studies:
        counts = head_counts(len(study.lab.kinds[0].addresses))
        paths = {count: path for count in counts
                 if (path := folder / f"{study.key}.{count}.safetensors").exists()}
        if len(paths) < 2:
            continue
        constant = load_file(folder / f"{study.key}.constant.safetensors")["constant"]
        tensors: dict[str, Tensor] = {"constant": constant.half()}
        for count, path in paths.items():
            # the feature moments stay in float32, because they differ too much within a row for one scale
            probe = load_file(path)
            weights = quantise({key: tensor for key, tensor in probe.items()
                                if key in ("first.weight", "second.weight")})
            tensors |= {f"{count}.{key}": tensor if tensor.dtype == torch.int8 else tensor.half()
                        for key, tensor in (probe | weights).items()}
        (PROBES / name).mkdir(parents=True, exist_ok=True)
        save_file(tensors, path_of(name, study.key))


def path_of(name: str, task: str) -> Path:
    """Returns the path of a task's file."""
    return PROBES / name / f"{task}.safetensors"


def read(name: str, task: str) -> tuple[Tensor, dict[int, probes.Probe]] | None:
    """Returns (L, H, GRID, GRID) constant matrices, and the probe of each number of constant heads."""
    try:
        tensors = load_file(path_of(name, task))
    except FileNotFoundError:
        return None
    constant = tensors.pop("constant").float()
    by_count: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        count, _, rest = key.partition(".")
        by_count.setdefault(int(count), {})[rest] = tensor
    return constant, {count: probes.from_tensors(dequantise(packed)) for count, packed in by_count.items()}
