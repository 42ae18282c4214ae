"""What length does to a model, measured on held-out text: loss, accuracy, and each head's entropy and normaliser.

    python -m models.studies.lengths masked-softmax masked-log-n

Writes models/studies/measurements/NAME.length.json, which the Length page draws. A model is read at each length as it
was trained, and under each scale policy that means something else to it; log n takes the trained length as its base.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional

from models.attention.base import Record
from models.catalogue import names
from models.checkpoint import CheckpointError
from models.data import add_data_option
from models.heads import HeadPlan
from models.lab import Lab
from models.recipes import task_of
from models.stack import StackLab, own
from models.studies import store
from models.tasks.assignment import TEST_SEED, TEST_TEXTS, Assignment, draw
from models.tasks.base import Batch, Prompt, Task, generator
from models.tasks.masked import TEST_SEED as MASKED_SEED
from models.tasks.masked import Masked, hide
from models.tasks.stories import Stories
from models.trace import row_entropy

EVENTS = (6, 12, 24, 48, 96)
LENGTHS = {"masked": (16, 32, 64, 128, 256, 512), "stories": (32, 64, 128, 256, 512, 1024),
           "assignment": tuple(2 * events + 1 for events in EVENTS)}
TOKENS = 16_384  # of texts at each length
CAPTURED = 8_192  # tokens of these whose weights are looked at
TYPED = 512  # tokens of one typed text at most: the weights of all heads take 4 MB a layer and head at 1,024


def plans_of(lab: StackLab) -> dict[str, HeadPlan]:
    """The readings of a model: as trained, and by the policies that say something else."""
    policies = [p for p in lab.attention.policies if p != lab.attention.trained_policy]
    return {policy: HeadPlan() if policy == "trained" else
            HeadPlan().with_scale(policy, lab.trained_length if policy == "logn" else None) for policy in policies}


def batches(task: Task, length: int) -> Iterator[Batch]:
    """Held-out texts of one length, with what is asked of the model, in parts of about CAPTURED tokens."""
    if isinstance(task, Assignment):
        tokens, answers = draw(min(TEST_TEXTS, TOKENS // length), (length - 1) // 2, generator(TEST_SEED, 0, length))
        texts = Batch(tokens, answers)
    elif isinstance(task, Masked):
        rows = task.held_out(length)
        texts = hide(rows[_spread(len(rows), TOKENS // length)], generator(MASKED_SEED, length), 0.0, 0.0)
    elif isinstance(task, Stories):
        rows = task.held_out(length)
        targets = rows[_spread(len(rows), TOKENS // length)]
        texts = Batch(functional.pad(targets, (1, -1), value=0), targets)
    else:
        raise TypeError(f"{task.name}: it has no held-out texts of a length")
    size = max(1, CAPTURED // length)
    yield from (Batch(*pair) for pair in zip(texts.tokens.split(size), texts.targets.split(size), strict=True))


def _spread(count: int, wanted: int) -> Tensor:
    """Indices of `wanted` rows, evenly over all `count`, so that books and stories are both there."""
    return torch.linspace(0, count - 1, min(count, wanted)).long()


def typed_limit(lab: Lab, plan: HeadPlan) -> int:
    """Most tokens of a typed text that `facts` looks at: where the plan has constant heads, as many as their matrices
    have."""
    if any(state.constant for state in plan.heads.values()):
        return lab.limit
    if lab.task.name not in LENGTHS:
        return lab.limit
    return min(TYPED, LENGTHS[lab.task.name][-1], lab.longest or TYPED)


@torch.inference_mode()
def facts(lab: StackLab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """Of one text what `measure` says of many: loss (nats) and accuracy where answers are known, else None; entropy
    (nats) and log_normaliser, means over all rows of all heads."""
    rows = _Rows(lab)
    targets = torch.tensor(prompt.targets)
    places = targets >= 0
    hidden = lab.model(torch.tensor([prompt.ids]), lab.interventions(plan, len(prompt.ids)), rows)[0]
    logits, answers = lab.model.logits(hidden[places]), targets[places]
    known = len(answers) > 0
    return {"loss": float(functional.cross_entropy(logits, answers)) if known else None,
            "accuracy": float((logits.argmax(-1) == answers).float().mean()) if known else None,
            "entropy": fmean(rows.entropy), "log_normaliser": fmean(rows.log_normaliser)}


class _Rows(list[Record]):
    """Takes each layer's record as it comes and keeps two numbers of it: at 512 tokens, the maps of four layers would
    be 100 MB for every visitor who looks."""

    def __init__(self, lab: StackLab) -> None:
        super().__init__()
        self._attentions = iter([block.attention for block in lab.model.blocks])
        self.entropy: list[float] = []
        self.log_normaliser: list[float] = []

    def append(self, record: Record) -> None:
        self.entropy.append(float(row_entropy(record.weights.numpy()).mean()))
        self.log_normaliser.append(float(next(self._attentions).log_normaliser(record.scores).mean()))


@torch.inference_mode()
def measure(lab: StackLab, task: Task, length: int, plan: HeadPlan) -> dict[str, Any]:
    """Loss (nats) and accuracy over so many predictions, and by layer and head the mean entropy (nats) and ln Z of a
    row, over the first CAPTURED tokens."""
    losses, right, captured = [], [], {}
    for index, batch in enumerate(batches(task, length)):
        records: list[Record] | None = [] if index == 0 else None
        places = batch.targets >= 0
        logits = lab.model.logits(lab.model(batch.tokens, lab.interventions(plan, length), records)[places])
        losses.append(functional.cross_entropy(logits, batch.targets[places], reduction="none"))
        right.append(logits.argmax(-1) == batch.targets[places])
        if records:
            attentions = [block.attention for block in lab.model.blocks]
            captured = {
                "entropy": [_by_head(row_entropy(record.live.numpy())) for record in records],
                "log_normaliser": [_by_head(attention.log_normaliser(record.scores).numpy())
                                   for attention, record in zip(attentions, records, strict=True)],
            }
    return {"predictions": sum(map(len, losses)), "loss": round(float(torch.cat(losses).mean()), 4),
            "accuracy": round(float(torch.cat(right).float().mean()), 4), **captured}


def _by_head(values: ndarray) -> list[float]:
    return [round(float(value), 3) for value in values.mean((0, 2))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=names(), metavar="NAME", help=", ".join(names()))
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where tokens of the data are kept")
    arguments = parser.parse_args()
    for name in arguments.names:
        try:
            lab, task = own(name), task_of(name, arguments.data, arguments.runs)
            readings = _readings(lab, task)
        except (CheckpointError, ValueError, FileNotFoundError) as error:
            parser.error(str(error))
        store.write(name, "length", lab.card["metric"], {
            "trained_length": lab.trained_length, "command": f"python -m models.studies.lengths {name}",
            "readings": readings})


def _readings(lab: StackLab, task: Task) -> dict[str, dict[str, Any]]:
    """Policy -> length -> what measure returns."""
    lengths = [n for n in LENGTHS[task.name] if n <= (lab.model.longest or math.inf)]
    work = [(policy, plan, n) for policy, plan in plans_of(lab).items() for n in lengths]
    readings: dict[str, dict[str, Any]] = {}
    began = time.perf_counter()
    for done, (policy, plan, n) in enumerate(work, 1):
        readings.setdefault(policy, {})[str(n)] = measure(lab, task, n, plan)
        left = (time.perf_counter() - began) / done * (len(work) - done)
        print(f"{lab.name} {policy} {n} tokens: loss {readings[policy][str(n)]['loss']}, {left:.0f} s left",
              flush=True)
    return readings


if __name__ == "__main__":
    main()
