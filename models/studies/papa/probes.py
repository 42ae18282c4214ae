"""The probes: what is asked of a frozen model, anew for each of its states. They see all layers.

    words    each word's states of all L + 1 layers in one row -> linear -> tanh -> linear -> labels
    texts    of each layer a weighted sum over the text's tokens, one learned weight a place of the grid and a layer;
             all sums in one row -> linear -> tanh -> linear -> labels

As PAPA's token and sequence probes, but for what follows. The hidden layer has 64 units for every model (there: as many
as the model is wide); features are standardised by the training texts, for every state of the model anew; weights of
places begin at 1 / sqrt(mean number of tokens), so that sums begin with variance 1; AdamW, 1e-3.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.generate.sampling import generator
from models.lab import Lab
from models.studies.papa.features import moments
from models.studies.papa.tasks.token_ids import GRID, Texts

HIDDEN = 64
RATE, DECAY = 1e-3, 0.01
WORDS, TEXTS = 256, 32  # of a step
EPOCHS = {True: 6, False: 10}  # of probes of words, and of texts
STREAM = 2022


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions that see as many tokens each: words see one, texts of one length all of theirs.

    Attributes:
        rows: (Q, n) which tokens, of all texts in one row.
        places: (n,) of tokens on the grid; of words all 0, as nothing asks.
        answers: (Q,) indices of labels; -1 for a label that training does not know.
        texts: (Q,) the text of each.
    """

    rows: Tensor
    places: Tensor
    answers: Tensor
    texts: Tensor


def indices(texts: Texts, labels: Sequence[str]) -> list[list[int]]:
    """Of each text the labels as numbers."""
    number = {label: i for i, label in enumerate(labels)}
    return [[number.get(label, -1) for label in example.labels] for example in texts.examples]


def asked(lab: Lab, texts: Texts, labels: Sequence[str], by_word: bool) -> list[Asked]:
    """The questions of a task's texts."""
    answers = indices(texts, labels)
    if by_word:
        rows = torch.cat([start + torch.tensor(its) for start, its in zip(texts.starts[:-1], texts.words, strict=True)])
        of = torch.arange(len(answers)).repeat_interleave(torch.tensor([*map(len, answers)]))
        return [Asked(rows.unsqueeze(1), torch.zeros(1, dtype=torch.long),
                      torch.tensor([its for row in answers for its in row]), of)]
    found = []
    for n in sorted({*map(len, texts.ids)}):
        of = torch.tensor([i for i, ids in enumerate(texts.ids) if len(ids) == n])
        found.append(Asked(texts.rows_of(of, n), torch.tensor(lab.places(n, GRID)),
                           torch.tensor([answers[i][0] for i in of.tolist()]), of))
    return found


class Probe(nn.Module):
    """See the module's docstring."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: Tensor, deviation: Tensor, labels: int, tokens: float | None) -> None:
        """
        Args:
            mean, deviation: (L + 1, C) of the features.
            tokens: mean number of a text's tokens; None for a probe of words.
        """
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.first, self.second = nn.Linear(mean.numel(), HIDDEN), nn.Linear(HIDDEN, labels)
        self.places = None if tokens is None else nn.Parameter(torch.full((GRID, len(mean)), tokens**-0.5))

    def standardised(self, values: Tensor) -> Tensor:
        """(..., L + 1, C) features with mean 0 and variance 1."""
        return (values.float() - self.mean) / self.deviation

    def forward(self, values: Tensor, places: Tensor) -> Tensor:
        """(Q, n, L + 1, C) standardised features of tokens at (n,) places -> (Q, labels) logits."""
        if self.places is None:
            pooled = values[:, 0]
        else:
            pooled = (values * self.places[places].unsqueeze(-1)).sum(1)
        return self.second(self.first(pooled.flatten(1)).tanh())


def train(values: Tensor, questions: Sequence[Asked], labels: int, by_word: bool, seed: int) -> Probe:
    """A fresh probe, trained; the same for the same seed.

    Args:
        values: (tokens, L + 1, C) features.
    """
    seen = torch.cat([its.rows.flatten() for its in questions])
    tokens = None if by_word else len(seen) / sum(len(its.rows) for its in questions)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(STREAM + seed)
        probe = Probe(*moments(values[seen]), labels, tokens)
    standard = torch.cat([probe.standardised(part).half() for part in values.split(4096)])
    optimiser = torch.optim.AdamW(probe.parameters(), lr=RATE, weight_decay=DECAY)
    for its, chosen in _batches(questions, EPOCHS[by_word], WORDS if by_word else TEXTS, seed):
        logits = probe(standard[its.rows[chosen]].float(), its.places)
        loss = functional.cross_entropy(logits, its.answers[chosen])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return probe.eval().requires_grad_(False)


def _batches(questions: Sequence[Asked], epochs: int, size: int, seed: int) -> Iterator[tuple[Asked, Tensor]]:
    for epoch in range(epochs):
        random = generator(STREAM, seed, epoch)
        parts = [(its, part) for its in questions
                 for part in torch.randperm(len(its.rows), generator=random).split(size)]
        for i in torch.randperm(len(parts), generator=random).tolist():
            yield parts[i]


@torch.inference_mode()
def answers(probe: Probe, values: Tensor, questions: Sequence[Asked], labels: Sequence[str]) -> list[list[str]]:
    """The likeliest labels, text by text."""
    found: list[list[str]] = [[] for _ in range(1 + max(int(its.texts.max()) for its in questions))]
    for its in questions:
        for part in torch.arange(len(its.rows)).split(512):
            likeliest = probe(probe.standardised(values[its.rows[part]]), its.places).argmax(-1)
            for text, index in zip(its.texts[part].tolist(), likeliest.tolist(), strict=True):
                found[text].append(labels[index])
    return found


def batch_loss(probe: Probe, lab: Lab, states: Sequence[Tensor], texts: Texts, chosen: Tensor,
               answers: Sequence[Sequence[int]]) -> Tensor:
    """Mean cross entropy of the answers about a batch of texts, in nats; its gradient reaches probe and states.

    Args:
        states: L + 1 of (B, n, C), of the texts `chosen`.
        answers: of all texts, by `indices`.
    """
    numbers, values = chosen.tolist(), torch.stack([*states], 2)
    n = values.shape[1]
    if probe.places is None:
        rows = [i * n + word for i, text in enumerate(numbers) for word in texts.words[text]]
        values = values.flatten(0, 1)[rows].unsqueeze(1)
    logits = probe(probe.standardised(values), torch.tensor(lab.places(n, GRID)))
    return functional.cross_entropy(logits, torch.tensor([its for text in numbers for its in answers[text]]))


def packed(probe: Probe) -> dict[str, Tensor]:
    """A probe's numbers for a file."""
    return {name: its.clone() for name, its in probe.state_dict().items()}


def unpacked(tensors: Mapping[str, Tensor]) -> Probe:
    """The inverse of packed."""
    probe = Probe(tensors["mean"], tensors["deviation"], len(tensors["second.bias"]), 1.0 if "places" in tensors
                  else None)
    probe.load_state_dict(dict(tensors))
    return probe.eval().requires_grad_(False)


def trainable(probe: Probe) -> Probe:
    """A copy that can be trained on."""
    return copy.deepcopy(probe).train().requires_grad_(True)
