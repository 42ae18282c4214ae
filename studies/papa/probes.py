"""Probes: small classifiers that read all layers of a frozen model. Each condition of the model gets fresh probes.

    words    the hidden states of a word at all L + 1 layers, concatenated -> linear -> tanh -> linear -> labels
    texts    per layer a weighted sum over the tokens of the text, with one learned weight per grid position and layer;
             the L + 1 sums, concatenated -> linear -> tanh -> linear -> labels

They follow the token and sequence probes of PAPA (Hassid et al. 2022, arXiv 2211.03495), with these differences. The
hidden layer has 64 units for every model (source: the width of the model). Features are standardised with the mean and
standard deviation of the training features, separately for each condition. Position weights start at 1 / sqrt(mean
number of tokens), so that the sums start with variance 1. The optimiser is AdamW on shuffled batches, in which texts
of different lengths are padded, at 1e-3 for words and 3e-3 for texts. Training stops when the loss on a validation
part of the training texts has not fallen for PATIENCE epochs, and keeps the epoch with the lowest validation loss.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from models.capabilities import HasStates
from models.generate.decoding import generator
from models.lab import Lab
from studies.papa.features import GRID, Batch, Texts, feature_moments

HIDDEN = 64
WORD_RATE, TEXT_RATE, DECAY = 1e-3, 3e-3, 0.01  # learning rates of the two types of probes, and their weight decay
WORDS, TEXTS = 64, 32  # number of questions (words, or whole texts) per training step
VALIDATION = 6  # one training text out of this many is for validation
PATIENCE, MOST_EPOCHS = 4, 60
PART = 64  # number of questions of a pass without gradients
STREAM, VALIDATION_STREAM = 2022, 2023


@dataclass(frozen=True, eq=False)
class Questions:
    """The questions of a probe: Q words or Q texts to label, each with the tokens that the probe reads."""

    rows: Tensor  # (Q, n) indices of tokens in the concatenation of all texts; padding is 0
    # (Q, n) grid positions of the tokens; -1 for padding. All 0 for words, which have no position weight.
    positions: Tensor
    labels: Tensor  # (Q,) label indices; -1 for a label that does not occur in training
    texts: Tensor  # (Q,) index of the text of each question

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def tokens(self) -> Tensor:
        """(T,) indices of the tokens of all questions, without padding."""
        return self.rows[self.positions >= 0]

    def take(self, chosen: Tensor) -> Questions:
        """Returns the questions with the given indices, padded to the longest of these questions."""
        positions = self.positions[chosen]
        n = int((positions >= 0).sum(1).max())
        return Questions(self.rows[chosen, :n], positions[:, :n], self.labels[chosen], self.texts[chosen])


def label_indices(texts: Texts, labels: Sequence[str]) -> list[list[int]]:
    """Returns the label indices of each text; -1 for a label that does not occur in `labels`."""
    number = {label: i for i, label in enumerate(labels)}
    return [[number.get(label, -1) for label in example.labels] for example in texts.examples]


def questions_of(lab: Lab, texts: Texts, labels: Sequence[str], by_word: bool) -> Questions:
    """Returns the questions of a task."""
    by_text = label_indices(texts, labels)
    flat = torch.tensor([label for row in by_text for label in row])
    of_text = torch.arange(len(by_text)).repeat_interleave(torch.tensor([*map(len, by_text)]))
    if by_word:
        rows = torch.cat([start + torch.tensor(words)
                          for start, words in zip(texts.starts[:-1], texts.words, strict=True)])
        return Questions(rows[:, None], torch.zeros(len(rows), 1, dtype=torch.long), flat, of_text)
    lengths = [*map(len, texts.ids)]
    rows = torch.zeros(len(lengths), max(lengths), dtype=torch.long)
    positions = torch.full_like(rows, -1)
    for i, n in enumerate(lengths):
        rows[i, :n] = texts.starts[i] + torch.arange(n)
        positions[i, :n] = torch.tensor(HasStates.of(lab).grid_positions(n, GRID))
    return Questions(rows, positions, flat, of_text)


class Probe(nn.Module):
    """A probe of words or of texts; see the module's docstring."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, mean: Tensor, deviation: Tensor, labels: int, tokens: float | None) -> None:
        """Initialises the weights with torch's global random state."""
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("deviation", deviation)
        self.first, self.second = nn.Linear(mean.numel(), HIDDEN), nn.Linear(HIDDEN, labels)
        self.position_weights = None if tokens is None else nn.Parameter(torch.full((GRID, len(mean)), tokens**-0.5))

    def standardise(self, values: Tensor) -> Tensor:
        """Returns (..., L + 1, C) features scaled to mean 0 and variance 1."""
        return (values.float() - self.mean) / self.deviation

    def forward(self, values: Tensor, positions: Tensor) -> Tensor:
        """Returns (Q, labels) logits."""
        if self.position_weights is None:
            pooled = values
        else:  # a matrix product per layer: (Q, T) weights, 0 for tokens of other texts, by (T, C) features
            present = positions >= 0
            owner = present.nonzero()[:, 0]
            weights = values.new_zeros(values.shape[1], len(positions), len(values))
            weights[:, owner, torch.arange(len(values))] = self.position_weights[positions[present]].T
            pooled = (weights @ values.transpose(0, 1)).transpose(0, 1)
        return self.second(self.first(pooled.flatten(1)).tanh())


def train(values: Tensor, questions: Questions, labels: int, by_word: bool, seed: int) -> Probe:
    """Trains a fresh probe to convergence; the same arguments give the same probe."""
    read = questions.tokens
    if not values[read].isfinite().all():
        raise ValueError("the model's hidden states contain NaN or infinity, so that no probe can be trained on them")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(STREAM + seed)
        probe = Probe(*feature_moments(values[read]), labels, None if by_word else len(read) / len(questions))
    standard = torch.cat([probe.standardise(part).half() for part in values.split(4096)])
    training, validation = split(questions)
    rate = WORD_RATE if by_word else TEXT_RATE
    optimiser = torch.optim.AdamW(probe.parameters(), lr=rate, weight_decay=DECAY)
    best, best_epoch, best_loss = to_tensors(probe), -1, float("inf")
    for epoch in range(MOST_EPOCHS):
        order = torch.randperm(len(training), generator=generator(STREAM, seed, epoch))
        for batch in map(training.take, order.split(WORDS if by_word else TEXTS)):
            loss = functional.cross_entropy(probe(standard[batch.tokens].float(), batch.positions), batch.labels)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        reached = _loss(probe, standard, validation)
        if reached < best_loss:
            best, best_epoch, best_loss = to_tensors(probe), epoch, reached
        elif epoch - best_epoch >= PATIENCE:
            break
    if MOST_EPOCHS and best_epoch < 0:
        raise ValueError("the probe's validation loss is not finite")
    return from_tensors(best)


def split(questions: Questions) -> tuple[Questions, Questions]:
    """Returns the training questions and the validation questions; one text in VALIDATION is used for validation."""
    count = 1 + int(questions.texts.max())
    order = torch.randperm(count, generator=generator(VALIDATION_STREAM))
    validates = torch.zeros(count, dtype=torch.bool)
    validates[order[:count // VALIDATION]] = True
    chosen = validates[questions.texts]
    if not chosen.any():  # there are too few texts to hold one out
        return questions, questions
    return questions.take((~chosen).nonzero()[:, 0]), questions.take(chosen.nonzero()[:, 0])


@torch.inference_mode()
def _loss(probe: Probe, standard: Tensor, questions: Questions) -> float:
    """Returns the mean cross entropy in nats."""
    total = 0.0
    for chosen in torch.arange(len(questions)).split(PART):
        batch = questions.take(chosen)
        logits = probe(standard[batch.tokens].float(), batch.positions)
        total += float(functional.cross_entropy(logits, batch.labels, reduction="sum"))
    return total / len(questions)


@torch.inference_mode()
def predict(probe: Probe, values: Tensor, questions: Questions, labels: Sequence[str]) -> list[list[str]]:
    """Returns the most probable labels of each text, one per question in the order of the questions."""
    predicted: list[list[str]] = [[] for _ in range(1 + int(questions.texts.max()))]
    for chosen in torch.arange(len(questions)).split(PART):
        batch = questions.take(chosen)
        most_probable = probe(probe.standardise(values[batch.tokens]), batch.positions).argmax(-1)
        for text, index in zip(batch.texts.tolist(), most_probable.tolist(), strict=True):
            predicted[text].append(labels[index])
    return predicted


def batch_loss(probe: Probe, states: Sequence[Sequence[Tensor]], lab: Lab, texts: Texts, batch: Batch,
               label_numbers: Sequence[Sequence[int]]) -> Tensor:
    """Returns the mean cross entropy in nats of a batch of mixed lengths, with gradients."""
    logits, wanted = [], []
    for (chosen, _ids), layers in zip(batch, states, strict=True):
        numbers, values = chosen.tolist(), torch.stack([*layers], 2)
        n = values.shape[1]
        positions = torch.tensor(HasStates.of(lab).grid_positions(n, GRID)).expand(len(numbers), n)
        values = values.flatten(0, 1)
        if probe.position_weights is None:
            values = values[[i * n + word for i, text in enumerate(numbers) for word in texts.words[text]]]
        logits.append(probe(probe.standardise(values), positions))
        wanted += [label for text in numbers for label in label_numbers[text]]
    return functional.cross_entropy(torch.cat(logits), torch.tensor(wanted))


def to_tensors(probe: Probe) -> dict[str, Tensor]:
    """Returns copies of the probe's tensors, as they are stored in a file."""
    return {name: tensor.clone() for name, tensor in probe.state_dict().items()}


def from_tensors(tensors: Mapping[str, Tensor]) -> Probe:
    """Returns the probe with these tensors, the result of `to_tensors`, without gradients."""
    tokens = 1.0 if "position_weights" in tensors else None
    probe = Probe(tensors["mean"], tensors["deviation"], len(tensors["second.bias"]), tokens)
    probe.load_state_dict(dict(tensors))
    return probe.eval().requires_grad_(False)


def trainable_copy(probe: Probe) -> Probe:
    """Returns a copy of the probe with gradients."""
    return copy.deepcopy(probe).train().requires_grad_(True)
