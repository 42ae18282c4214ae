"""Reads and writes the state of a run, so that a stopped run resumes: weights, optimisers, learning curve."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import nn

SAVE_EVERY = 60.0  # seconds between two saves


def read_curve(folder: Path, first: int) -> list[tuple[int, float]]:
    """Returns the points (step, loss) of the learning curve up to step `first`."""
    path = folder / "curve.json"
    points = json.loads(path.read_text()) if path.exists() else {"step": [], "loss": []}
    return [(step, loss) for step, loss in zip(points["step"], points["loss"], strict=True) if step <= first]


def precision_of(folder: Path) -> str | None:
    """Returns the precision of a run; None before the first point of its learning curve."""
    path = folder / "curve.json"
    precision: str | None = json.loads(path.read_text()).get("precision") if path.exists() else None
    return precision


def write_curve(folder: Path, curve: list[tuple[int, float]], precision: str) -> None:
    """Writes the losses on the validation split in nats, and the precision of the training."""
    partial = folder / "curve.partial"
    partial.write_text(json.dumps({"precision": precision, "step": [step for step, _ in curve],
                                   "loss": [loss for _, loss in curve]}))
    partial.replace(folder / "curve.json")


def save_state(folder: Path, recipe: object, model: nn.Module, optimisers: list[torch.optim.Optimizer],
               step: int, seconds: float) -> None:
    """Writes weights, optimiser state, step and seconds into one file, which is replaced only when it is complete."""
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for number, optimiser in enumerate(optimisers):
        for index, slots in optimiser.state_dict()["state"].items():
            state |= {f"optimiser.{number}.{index}.{slot}": torch.as_tensor(value) for slot, value in slots.items()}
    partial = folder / "state.partial"
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, partial,
              {"step": str(step), "seconds": f"{seconds:.1f}", "recipe": repr(recipe)})
    partial.replace(folder / "state.safetensors")


def restore_state(folder: Path, recipe: object, model: nn.Module,
                  optimisers: list[torch.optim.Optimizer]) -> tuple[int, float]:
    """Loads a run's state into model and optimisers."""
    path = folder / "state.safetensors"
    if not path.exists():
        return 0, 0.0
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    if header.get("recipe") != repr(recipe):
        raise FileExistsError(f"{path} was trained by another recipe; remove {folder} to begin anew")
    state = load_file(path)
    model.load_state_dict({n.removeprefix("model."): t for n, t in state.items() if n.startswith("model.")})
    slots: list[dict[int, dict]] = [{} for _ in optimisers]
    for name, tensor in state.items():
        if name.startswith("optimiser."):
            _, number, index, slot = name.split(".")
            slots[int(number)].setdefault(int(index), {})[slot] = tensor
    for optimiser, optimiser_state in zip(optimisers, slots, strict=True):
        optimiser.load_state_dict(optimiser.state_dict() | {"state": optimiser_state})
    return int(header["step"]), float(header["seconds"])
