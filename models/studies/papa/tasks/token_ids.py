"""A task's texts as one model's tokens."""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy
import torch
from torch import Tensor

from models.analysis.dependency_trees import tokens_of
from models.analysis.roles import aligned
from models.errors import InputError
from models.lab import Lab
from models.studies.papa.tasks.corpora import Example

GRID = 64  # tokens of the longest text, and of the constant matrices
TOKENS = 2048  # of a batch


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts of one model.

    Attributes:
        ids: token ids of each, as the model reads it.
        words: of each text and each of its words, the token that stands for it.
        examples: where they are from, in the same order.
        left_out: texts that are longer than the grid, or whose words are not found in the model's tokens.
    """

    ids: tuple[tuple[int, ...], ...]
    words: tuple[tuple[int, ...], ...]
    examples: tuple[Example, ...]
    left_out: int

    @functools.cached_property
    def starts(self) -> Tensor:
        """(texts + 1,) where each begins, of all tokens in one row."""
        return torch.tensor([0, *map(len, self.ids)]).cumsum(0)

    def batches(self, tokens: int = TOKENS, random: torch.Generator | None = None) -> Iterator[tuple[Tensor, Tensor]]:
        """(B,) texts of one length, and their (B, n) ids: nothing is padded, so nothing has to be masked.

        Args:
            tokens: of a batch, at most.
            random: draws which texts come together, and the order of batches; None for the shortest first.
        """
        by_length: dict[int, list[int]] = defaultdict(list)
        order = range(len(self.ids)) if random is None else torch.randperm(len(self.ids), generator=random).tolist()
        for text in order:
            by_length[len(self.ids[text])].append(text)
        parts = [torch.tensor(its[i:i + max(1, tokens // n)]) for n, its in sorted(by_length.items())
                 for i in range(0, len(its), max(1, tokens // n))]
        if random is not None:
            parts = [parts[i] for i in torch.randperm(len(parts), generator=random).tolist()]
        for chosen in parts:
            yield chosen, torch.tensor([self.ids[i] for i in chosen.tolist()])

    def rows_of(self, texts: Tensor, n: int) -> Tensor:
        """(B, n) where tokens of texts of one length stand, of all tokens in one row."""
        return self.starts[texts].unsqueeze(1) + torch.arange(n)


def texts_of(lab: Lab, examples: Sequence[Example]) -> Texts:
    """What of these the model can read.

    Raises:
        ValueError: none of them.
    """
    ids, words, kept = [], [], []
    for example in examples:
        read = words_of(lab, example)
        if read is not None:
            ids.append(read[0])
            words.append(read[1])
            kept.append(example)
    if not kept:
        raise ValueError(f"{lab.name} can read none of these texts")
    return Texts(tuple(ids), tuple(words), tuple(kept), len(examples) - len(kept))


def words_of(lab: Lab, example: Example) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """A text's ids, and the token that stands for each word: its first, or its last where a token sees none after
    itself. None if the model does not read it whole, or a word has no token of its own."""
    try:
        prompt = lab.read(example.text, GRID)
    except InputError:
        return None
    place = aligned(prompt.tokens, numpy.array(lab.task.is_text(prompt.ids)), example.text)
    if prompt.left_out or place is None:
        return None
    tokens = tokens_of(example.words, place[0])
    if not all(tokens):
        return None
    which = -1 if lab.kinds[0].causal else 0
    return prompt.ids, tuple(int(place[1][its[which]]) for its in tokens)
