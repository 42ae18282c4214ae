"""The texts of a task as token ids of one model."""

import functools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from models.analysis.dependency_trees import tokens_of
from models.analysis.roles import aligned
from models.errors import InputError
from models.lab import Lab
from studies.papa.tasks.corpora import Example

GRID = 64  # largest number of tokens of a text, and the size of the constant matrices
TOKENS = 2048  # number of tokens per batch of a forward pass
Batch = Sequence[tuple[Tensor, Tensor]]  # for each length: (B,) indices of texts, and their (B, n) ids


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts that one model can read."""

    ids: tuple[tuple[int, ...], ...]  # token ids of each text
    words: tuple[tuple[int, ...], ...]  # for each text and each word, the index of the token that represents the word
    examples: tuple[Example, ...]  # the labelled texts, in the same order
    omitted: int  # number of texts that are longer than the grid, or whose words do not match the model's tokens

    @functools.cached_property
    def starts(self) -> Tensor:
        """(texts + 1,) offset of each text in the concatenation of all token sequences."""
        return torch.tensor([0, *map(len, self.ids)]).cumsum(0)

    def by_length(self, chosen: Iterable[int]) -> list[tuple[Tensor, Tensor]]:
        """Groups texts by their number of tokens, the shortest first, so that no pass needs padding."""
        groups: dict[int, list[int]] = defaultdict(list)
        for text in chosen:
            groups[len(self.ids[text])].append(text)
        return [(torch.tensor(group), torch.tensor([self.ids[text] for text in group]))
                for _n, group in sorted(groups.items())]

    def passes(self, tokens: int = TOKENS) -> Iterator[tuple[Tensor, Tensor]]:
        """Yields all texts in batches of one length: (B,) indices and (B, n) ids with B * n <= tokens."""
        for chosen, ids in self.by_length(range(len(self.ids))):
            yield from zip(chosen.split(max(1, tokens // ids.shape[1])),
                           ids.split(max(1, tokens // ids.shape[1])), strict=True)

    def shuffled(self, size: int, random: torch.Generator) -> Iterator[Batch]:
        """Yields all texts in random batches for training, regardless of their lengths."""
        for chosen in torch.randperm(len(self.ids), generator=random).split(size):
            yield self.by_length(chosen.tolist())

    def rows_of(self, texts: Tensor, n: int) -> Tensor:
        """Returns (B, n) token indices, in the concatenation of all texts, of texts with n tokens each."""
        return self.starts[texts].unsqueeze(1) + torch.arange(n)


def texts_of(lab: Lab, examples: Sequence[Example]) -> Texts:
    """Returns the examples that the model can read."""
    ids, words, readable = [], [], []
    for example in examples:
        encoded = encode(lab, example)
        if encoded is not None:
            ids.append(encoded[0])
            words.append(encoded[1])
            readable.append(example)
    if not readable:
        raise ValueError(f"{lab.name} can read none of these texts")
    return Texts(tuple(ids), tuple(words), tuple(readable), len(examples) - len(readable))


def encode(lab: Lab, example: Example) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Returns the token ids of a text, and for each word the index of the token that represents the word."""
    try:
        prompt = lab.read(example.text, GRID)
    except InputError:
        return None
    alignment = aligned(prompt.tokens, numpy.array(lab.task.is_text(prompt.ids)), example.text)
    if prompt.omitted or alignment is None:
        return None
    tokens = tokens_of(example.words, alignment[0])
    if not all(tokens):
        return None
    which = -1 if lab.kinds[0].causal else 0
    return prompt.ids, tuple(int(alignment[1][word[which]]) for word in tokens)
