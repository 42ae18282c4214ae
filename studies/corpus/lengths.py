"""Loss, accuracy, and each head's entropy and log normaliser at several text lengths, on held-out text.

    python -m studies.corpus.lengths masked-softmax masked-log-n

Writes studies/measurements/NAME.length.json, which *And in longer texts?* draws. A model is evaluated at each length as
it was trained, and under each scale policy that changes it. The base of log n is the trained length.

The tokens are the same at all lengths, cut into long or short texts. Masked words and assignments use the texts of the
card's metric; stories use a sample of them in the same proportion of books and stories. The file also has means per
text, and the standard error from resampling the texts. For these, a text has the longest length, at every length.
"""

import argparse
import math
from statistics import fmean
from typing import Any

import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional

from models.catalogue import names
from models.generate.decoding import generator
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.plan import HeadPlan
from models.prompt import Prompt
from models.tasks.base import Task, evenly
from models.tasks.masked import TEST_SEED as MASKED_SEED
from models.tasks.masked import MaskedCorpus, hide
from models.trace import row_entropy
from studies.command import study
from studies.per_text import error

CAPTURED = 8_192  # number of tokens whose attention patterns are evaluated


def plans_of(lab: StackLab) -> dict[str, HeadPlan]:
    """Returns the plans that are measured: the empty one, and each scale policy that changes the model."""
    policies = [p for p in lab.attention.policies if p != lab.attention.trained_policy]
    return {policy: HeadPlan() if policy == "trained" else
            HeadPlan().with_scale(policy, lab.trained_length if policy == "logn" else None) for policy in policies}


def captured_of(task: Task, length: int, longest: int) -> Tensor:
    """Returns (B, length) ids of about CAPTURED tokens, evenly spread over all texts, for entropies and normalisers."""
    is_masked = isinstance(task.corpus, MaskedCorpus)
    rows = task.corpus.held_out(length) if is_masked else task.corpus.held_out_texts(length, longest)[0].tokens
    rows = rows[evenly(len(rows), max(1, CAPTURED // length))]
    if is_masked:  # the same share of words is hidden as in training
        return hide(rows, generator(MASKED_SEED, length), 0.0, 0.0).tokens
    return rows


@torch.inference_mode()
def facts(lab: StackLab, prompt: Prompt, plan: HeadPlan) -> dict[str, float | None]:
    """Returns the numbers of `measure` for one prompt."""
    rows = _Rows(lab)
    targets = torch.tensor(prompt.targets)
    predicted = targets >= 0
    interventions = lab.interventions(plan, len(prompt.ids), lab.source_values(prompt, plan))
    hidden = lab.model(torch.tensor([prompt.ids]), interventions, rows)[0]
    logits, answers = lab.model.logits(hidden[predicted]), targets[predicted]
    known = len(answers) > 0
    return {"loss": float(functional.cross_entropy(logits, answers)) if known else None,
            "accuracy": float((logits.argmax(-1) == answers).float().mean()) if known else None,
            "entropy": fmean(rows.entropy), "log_normaliser": fmean(rows.log_normaliser)}


class _Rows(list[Record]):
    """Stores two numbers of each layer's record and drops the record.

    At 512 tokens the attention maps of four layers would take 100 MB per visitor.
    """

    def __init__(self, lab: StackLab) -> None:
        super().__init__()
        self._attentions = iter([block.attention for block in lab.model.blocks])
        self.entropy: list[float] = []
        self.log_normaliser: list[float] = []

    def append(self, record: Record) -> None:
        # Heads are evaluated one by one: at 512 tokens, temporary arrays take 8 MB per head, and several visitors may
        # compute at once.
        self.entropy.append(fmean(float(row_entropy(head).mean()) for head in record.weights[0].numpy()))
        self.log_normaliser.append(float(next(self._attentions).log_normaliser(record.scores).mean()))


@torch.inference_mode()
def measure(lab: StackLab, task: Task, length: int, plan: HeadPlan, longest: int) -> dict[str, Any]:
    """Returns the results at one length: over all predictions, per text, and per head."""
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


def _predicted(lab: StackLab, task: Task, length: int, plan: HeadPlan, longest: int) -> tuple[Tensor, Tensor, Tensor]:
    """Returns loss, right (1) or wrong (0), and index of the text, for each prediction."""
    if isinstance(task.corpus, MaskedCorpus):
        losses, right, whose = task.metric.measure(lab.model, length, interventions=lab.interventions(plan, length))
        return losses, right.float(), whose
    texts, whose = task.corpus.held_out_texts(length, longest)
    size, parts = max(1, CAPTURED // length), []
    for tokens, targets, rows in zip(texts.tokens.split(size), texts.targets.split(size), whose.split(size),
                                     strict=True):
        predicted = targets >= 0
        logits = lab.model.logits(lab.model(tokens, lab.interventions(plan, length))[predicted])
        parts.append((functional.cross_entropy(logits, targets[predicted], reduction="none"),
                      (logits.argmax(-1) == targets[predicted]).float(),
                      rows.unsqueeze(1).expand_as(targets)[predicted]))
    losses, right, owners = (torch.cat(column) for column in zip(*parts, strict=True))
    return losses, right, owners


def _by_head(values: ndarray) -> list[float]:
    return [round(float(value), 3) for value in values.mean((0, 2))]


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    return {"trained_length": lab.trained_length, "readings": _readings(lab, task)}


def _readings(lab: StackLab, task: Task) -> dict[str, dict[str, Any]]:
    """Returns policy -> length -> result of `measure`."""
    from tqdm import tqdm  # pages, which compute single readings, do without it

    lengths = [n for n in task.reader.lengths if n <= (lab.model.longest or math.inf)]
    work = [(policy, plan, n) for policy, plan in plans_of(lab).items() for n in lengths]
    readings: dict[str, dict[str, Any]] = {}
    for policy, plan, n in tqdm(work, lab.name):
        readings.setdefault(policy, {})[str(n)] = measure(lab, task, n, plan, lengths[-1])
    return readings


if __name__ == "__main__":
    study("length", __doc__, names(), own, _study)
