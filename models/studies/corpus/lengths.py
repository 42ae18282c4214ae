"""What length does to a model, measured on held-out text: loss, accuracy, and each head's entropy and normaliser.

    python -m models.studies.corpus.lengths masked-softmax masked-log-n

Writes models/studies/measurements/NAME.length.json, which the Length page draws. A model is read at each length as it
was trained, and under each scale policy that means something else to it; log n takes the trained length as its base.

All lengths read the same tokens, as long texts and cut into shorter ones: of masked words and of assignment those that
the card's numbers are of, of stories a sample of them in the same proportion of books and stories. Beside each mean
stand the means of single texts, which are as long as the longest length whatever the length read, and the standard
error that drawing these texts again gives.
"""

from __future__ import annotations

import math
import time
from statistics import fmean
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional

from models.catalogue import names
from models.generate.sampling import generator
from models.lab import Lab
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.plan import HeadPlan
from models.prompt import Prompt
from models.studies.bootstrap import error
from models.studies.command import study
from models.tasks.assignment import GROUPS, TEST_SEED, TEST_TEXTS, AssignmentCorpus, draw
from models.tasks.base import Batch, Task
from models.tasks.masked import TEST_SEED as MASKED_SEED
from models.tasks.masked import MaskedCorpus, hide
from models.tasks.stories import StoriesCorpus
from models.trace import row_entropy

EVENTS = (6, 12, 24, 48, 96)
LENGTHS = {"masked": (16, 32, 64, 128, 256, 512), "stories": (32, 64, 128, 256, 512, 1024),
           "assignment": tuple(2 * events + 1 for events in EVENTS)}
TOKENS = 65_536  # of stories, the same at each length
CAPTURED = 8_192  # tokens of these whose weights are looked at
TYPED = 512  # tokens of one typed text at most: the weights of all heads take 4 MB a layer and head at 1,024


def plans_of(lab: StackLab) -> dict[str, HeadPlan]:
    """The readings of a model: as trained, and by the policies that say something else."""
    policies = [p for p in lab.attention.policies if p != lab.attention.trained_policy]
    return {policy: HeadPlan() if policy == "trained" else
            HeadPlan().with_scale(policy, lab.trained_length if policy == "logn" else None) for policy in policies}


def texts_of(task: Task, length: int, longest: int) -> tuple[Batch, Tensor]:
    """Held-out texts of one length, with what is asked of the model, and (B,) which long text each is a part of.

    Args:
        longest: tokens of a long text, a multiple of `length`; assignments are drawn, and none is a part of another.
    """
    if isinstance(task.corpus, AssignmentCorpus):
        events = (length - 1) // 2
        tokens, answers = draw(TEST_TEXTS, events, generator(TEST_SEED, 0, events))
        return Batch(tokens, answers), torch.arange(len(tokens)) * GROUPS // len(tokens)
    if isinstance(task.corpus, StoriesCorpus) and not isinstance(task.corpus, MaskedCorpus):
        rows = task.corpus.windows(longest)
        chosen = rows[_spread(len(rows), TOKENS // longest)].unflatten(1, (-1, length))  # (texts, parts, length)
        targets = chosen.flatten(0, 1)
        whose = torch.arange(len(chosen)).repeat_interleave(chosen.shape[1])
        return Batch(functional.pad(targets, (1, -1), value=0), targets), whose
    raise TypeError(f"{task.name}: it has no held-out texts of a length")


def captured_of(task: Task, length: int, longest: int) -> Tensor:
    """(B, length) ids of about CAPTURED tokens in all whose weights are looked at, evenly over all texts."""
    is_masked = isinstance(task.corpus, MaskedCorpus)
    rows = task.corpus.held_out(length) if is_masked else texts_of(task, length, longest)[0].tokens
    rows = rows[_spread(len(rows), max(1, CAPTURED // length))]
    if is_masked:  # a share of the words is hidden, as it was in training
        return hide(rows, generator(MASKED_SEED, length), 0.0, 0.0).tokens
    return rows


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
        # A head after the other: at 512 tokens, what is made on the way is 8 MB a head, and visitors come side by side.
        self.entropy.append(fmean(float(row_entropy(head).mean()) for head in record.weights[0].numpy()))
        self.log_normaliser.append(float(next(self._attentions).log_normaliser(record.scores).mean()))


@torch.inference_mode()
def measure(lab: StackLab, task: Task, length: int, plan: HeadPlan, longest: int) -> dict[str, Any]:
    """Loss (nats) and accuracy over so many predictions; the same of each text, and what drawing these again changes;
    by layer and head the mean entropy (nats) and ln Z of a row, over CAPTURED tokens."""
    losses, right, whose = _predicted(lab, task, length, plan, longest)
    result: dict[str, Any] = {"predictions": len(losses), "loss": round(float(losses.mean()), 4),
                              "accuracy": round(float(right.mean()), 4)}
    counts = torch.bincount(whose)
    kept = counts > 0
    texts = {name: torch.bincount(whose, values.double())[kept] / counts[kept]
             for name, values in (("losses", losses), ("rights", right))}
    for name, values in (("loss_error", texts["losses"]), ("accuracy_error", texts["rights"])):
        result[name] = round(error(values.numpy(), counts[kept].numpy()), 5)
    result["texts"] = {"predictions": counts[kept].tolist()} | {
        name: [round(value, 4) for value in values.tolist()] for name, values in texts.items()}
    records: list[Record] = []
    for tokens in captured_of(task, length, longest).split(max(1, CAPTURED // length)):
        lab.model(tokens, lab.interventions(plan, length), records)
    attentions = [block.attention for block in lab.model.blocks]
    return result | {
        "entropy": [_by_head(row_entropy(record.live.numpy())) for record in records],
        "log_normaliser": [_by_head(attention.log_normaliser(record.scores).numpy())
                           for attention, record in zip(attentions, records, strict=True)]}


def _predicted(lab: StackLab, task: Task, length: int, plan: HeadPlan,
               longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Of each prediction its loss, 1 or 0 for right or wrong, and which text it is of."""
    if isinstance(task.corpus, MaskedCorpus):
        losses, right, whose = task.metric.measure(lab.model, length, interventions=lab.interventions(plan, length))
        return losses, right.float(), whose
    texts, whose = texts_of(task, length, longest)
    size, parts = max(1, CAPTURED // length), []
    for tokens, targets, its in zip(texts.tokens.split(size), texts.targets.split(size), whose.split(size),
                                    strict=True):
        places = targets >= 0
        logits = lab.model.logits(lab.model(tokens, lab.interventions(plan, length))[places])
        parts.append((functional.cross_entropy(logits, targets[places], reduction="none"),
                      (logits.argmax(-1) == targets[places]).float(), its.unsqueeze(1).expand_as(targets)[places]))
    losses, right, owners = (torch.cat(column) for column in zip(*parts, strict=True))
    return losses, right, owners


def _by_head(values: ndarray) -> list[float]:
    return [round(float(value), 3) for value in values.mean((0, 2))]


def main() -> None:
    study("length", __doc__, names(), own, lambda lab, task, arguments: {
        "trained_length": lab.trained_length, "readings": _readings(lab, task)})


def _readings(lab: StackLab, task: Task) -> dict[str, dict[str, Any]]:
    """Policy -> length -> what measure returns."""
    lengths = [n for n in LENGTHS[task.name] if n <= (lab.model.longest or math.inf)]
    work = [(policy, plan, n) for policy, plan in plans_of(lab).items() for n in lengths]
    readings: dict[str, dict[str, Any]] = {}
    began = time.perf_counter()
    for done, (policy, plan, n) in enumerate(work, 1):
        readings.setdefault(policy, {})[str(n)] = measure(lab, task, n, plan, lengths[-1])
        left = (time.perf_counter() - began) / done * (len(work) - done)
        print(f"{lab.name} {policy} {n} tokens: loss {readings[policy][str(n)]['loss']}, {left:.0f} s left",
              flush=True)
    return readings


if __name__ == "__main__":
    main()
