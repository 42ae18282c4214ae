"""Trains models, and resumes where it was stopped.

    python -m models.training stories-softmax stories-selective --data DIR
    python -m models.training assignment-selective --seed 1 --data DIR

Progress is a plain file, runs/NAME/seed-0/log.txt; the state beside it is written once a minute. The
finished model goes to models/checkpoints/NAME for seed 0, to runs/NAME/seed-K for the others, whose numbers
the card of seed 0 shows as spread. On a GPU if there is one.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch.nn import functional

from models.checkpoint import CHECKPOINTS, finish
from models.recipes import RECIPES, Recipe, task_of
from models.tasks.base import Task
from models.transformer import Transformer

SAVE_EVERY = 60.0  # seconds
REPORT_EVERY = 50  # steps
CLIP = 1.0  # norm of the gradient
BETA1 = 0.9


def rate(step: int, recipe: Recipe) -> float:
    """Learning rate at a step: linear warm-up, then a cosine down to a tenth."""
    if step < recipe.warmup:
        return recipe.learning_rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return recipe.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def loss_of(model: Transformer, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross entropy in nats over the targets that count."""
    counts = targets >= 0
    # Logits only where they count: in variable assignment that is one token in four.
    logits = model.logits(model(tokens).flatten(0, 1) if counts.all() else model(tokens)[counts])
    return functional.cross_entropy(logits.float(), targets[counts])


def train(recipe: Recipe, task: Task, folder: Path, seed: int, device: torch.device) -> Transformer:
    """Trains to the recipe's last step, from the folder's state if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    model = Transformer(recipe.config, recipe.initial_std, recipe.embedding_std).to(device)
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    optimiser = torch.optim.AdamW([{"params": matrices, "weight_decay": recipe.weight_decay},
                                   {"params": vectors, "weight_decay": 0.0}], betas=(BETA1, recipe.beta2))
    first, seconds = _restore(folder, model, optimiser)
    objective = torch.compile(loss_of, dynamic=False) if recipe.compiled else loss_of
    began = saved = time.perf_counter()
    with open(folder / "log.txt", "a") as log:
        for step in range(first, recipe.steps):
            batch = task.batch(step, recipe.steps, seed)
            for group in optimiser.param_groups:
                group["lr"] = rate(step, recipe)
            with torch.autocast(device.type, torch.bfloat16):
                loss = objective(model, batch.tokens.to(device), batch.targets.to(device))
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
            optimiser.step()
            optimiser.zero_grad()
            now = time.perf_counter()
            if (step + 1) % REPORT_EVERY == 0:
                print(f"step {step + 1} loss {loss.item():.4f} rate {rate(step, recipe):.2e} "
                      f"seconds {seconds + now - began:.0f}", file=log, flush=True)
            if now - saved > SAVE_EVERY or step + 1 == recipe.steps:
                _save(folder, model, optimiser, step + 1, seconds + now - began)
                saved = now
    return model.eval()


def _save(folder: Path, model: Transformer, optimiser: torch.optim.Optimizer, step: int, seconds: float) -> None:
    """Everything that resuming needs, in one file that is never half written."""
    state = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    for index, slots in optimiser.state_dict()["state"].items():
        state |= {f"optimiser.{index}.{slot}": torch.as_tensor(value) for slot, value in slots.items()}
    partial = folder / "state.partial"
    save_file({name: tensor.contiguous() for name, tensor in state.items()}, partial,
              {"step": str(step), "seconds": f"{seconds:.1f}"})
    partial.replace(folder / "state.safetensors")


def _restore(folder: Path, model: Transformer, optimiser: torch.optim.Optimizer) -> tuple[int, float]:
    """First step to do and seconds spent so far; (0, 0) for a new run."""
    path = folder / "state.safetensors"
    if not path.exists():
        return 0, 0.0
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))["__metadata__"]
    state = load_file(path)
    model.load_state_dict({n.removeprefix("model."): t for n, t in state.items() if n.startswith("model.")})
    slots: dict[int, dict] = {}
    for name, tensor in state.items():
        if name.startswith("optimiser."):
            _, index, slot = name.split(".")
            slots.setdefault(int(index), {})[slot] = tensor
    optimiser.load_state_dict(optimiser.state_dict() | {"state": slots})
    return int(header["step"]), float(header["seconds"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=RECIPES, metavar="NAME", help=", ".join(RECIPES))
    parser.add_argument("--data", type=Path, help="folder of the data sets")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="folder of logs and states")
    arguments = parser.parse_args()
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    for name in arguments.names:
        task = task_of(name, arguments.data, arguments.runs)
        folder = arguments.runs / name / f"seed-{arguments.seed}"
        model = train(RECIPES[name], task, folder, arguments.seed, device).cpu()
        finish(name, model, task, folder, arguments.seed, CHECKPOINTS / name if arguments.seed == 0 else folder)


if __name__ == "__main__":
    main()
