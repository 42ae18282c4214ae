"""The base classes of a task: Reader (text to tokens, tokens to text), Corpus (its data), Metric (its scores)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy
from torch import Tensor

from models.messages import message
from models.prompt import Prompt
from models.storage.datasets import DATA
from models.trace import Output

ROWS = 8  # number of answers that a prediction shows, the most probable ones


@dataclass(frozen=True)
class Batch:
    """Training data of one step.

    Attributes:
        tokens: (B, N) int64 ids.
        targets: (B, N) int64 ids to predict, -1 where the loss does not count.
    """

    tokens: Tensor
    targets: Tensor


@dataclass(frozen=True)
class Pairs(Batch):
    """A batch of texts and targets; `tokens`, the decoder's input, is the target shifted by one.

    Attributes:
        texts: (B, M) int64 ids that the encoder reads, padded.
    """

    texts: Tensor


class Reader:
    """Turns texts into tokens and predictions into texts. The methods here fit a causal language model.

    Attributes:
        name: name of the task's family of models.
        title, line: the task in a few words and in one plain sentence, for visitors.
        vocabulary: V.
        limit: largest number of tokens of an input text, BOS included; also the size of the constant matrices.
        trained_length: largest number of tokens of a training text, BOS included.
        labels: V texts, one per token id.
        examples: (title, text); the first is shown to a new visitor.
        unsaid: the text of a link without one, which stays when examples change; empty for the first example.
        data: the training data: dicts with name, licence, attribution.
        predicts_next: True if the target of a position is the token after it, False if it is the token there.
        writes: True if the model can continue a text.
        hides: True if words of the text can be hidden from the model.
        sees: True if it reads a picture in place of a text.
        only_english: True if its training data is English only.
        controls: words that are read as control tokens when they are typed, like [SEP].
        target_limit: largest number of tokens of a generated text, for an encoder-decoder; 0 for `limit`.
        cuts_oldest: True if a text over the limit loses its oldest turns, not its end.
    """

    name: str
    title: str
    line = ""
    vocabulary: int
    limit: int
    trained_length: int
    labels: tuple[str, ...]
    examples: tuple[tuple[str, str], ...]
    unsaid = ""
    data: tuple[dict[str, str], ...] = ()
    predicts_next = True
    writes = False
    hides = False
    sees = False
    only_english = False
    controls: tuple[str, ...] = ()
    target_limit = 0
    cuts_oldest = False

    def read(self, text: str, limit: int | None = None) -> Prompt:
        """Returns the prompt of a text.

        Args:
            text: input text.
            limit: largest number of tokens to read, for a model that reads fewer than its family.

        Raises:
            InputError: the text has nothing that can be read.
        """
        raise NotImplementedError

    def join(self, tokens: Sequence[str]) -> str:
        """Returns the text of tokens without BOS."""
        return "".join(tokens)

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        """Returns, for each token, whether it is part of the text; False for special tokens such as BOS."""
        return tuple(place > 0 for place in range(len(ids)))

    def headline(self, output: Output, token: str) -> str:
        """Returns the title of a prediction after (or at) `token`."""
        return message("Next token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """Returns the token at a position as the visitor typed it: the hidden word if it is hidden from the model."""
        return prompt.tokens[place]

    def compared_tokens(self, before: Output, after: Output) -> list[int]:
        """Returns the token ids whose probabilities are shown: the most probable under either plan, those of `before`
        first.
        """
        most = numpy.maximum(before.distribution, after.distribution)
        chosen = numpy.argpartition(-most, ROWS)[:ROWS] if len(most) > ROWS else range(len(most))
        return sorted((int(i) for i in chosen), key=lambda i: -before.distribution[i])


class HidesWords:
    """The part of a reader for models whose input has hidden words."""

    labels: tuple[str, ...]

    def headline(self, output: Output, token: str) -> str:
        """Returns the title of a prediction, with the hidden word if it is known."""
        answer = self.labels[output.target].strip() if output.target >= 0 else ""
        return message("Hidden: {answer}", answer=answer) if answer else message("Hidden token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """Returns the token at a position as in Reader."""
        target = prompt.targets[place]
        return self.labels[target] if target >= 0 else prompt.tokens[place]


class Corpus:
    """The texts that models of a task are trained and evaluated on; models/tasks/assignment.py has the smallest.

    Attributes:
        reader: turns texts into tokens.
        trained_length: most tokens of a training text, BOS included; the reader's unless the corpus is made for another
            length.
    """

    reader: Any  # each corpus narrows the type to its own reader

    def __init__(self, reader: Any, data: Path = DATA, cache: Path | None = None) -> None:
        """Reads nothing yet.

        Args:
            reader: reader of the same task.
            data: folder of the data sets.
            cache: folder of their tokens; runs/ if left out.
        """
        self.reader, self._data, self._cache = reader, data, cache
        self.trained_length: int = reader.trained_length

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        """Returns the training data of step `step` of `steps`; it depends only on the three numbers."""
        raise NotImplementedError

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns a fixed sample that is used neither for training nor for the metric, but for learning curves and
        rates.

        Args:
            times: size of the sample as a multiple of the usual one.
        """
        raise NotImplementedError

    def typical(self, count: int) -> Any:
        """Returns (count, limit) ids of training texts, over which constant matrices are averaged; of pairs two such
        tensors.

        The texts are as long as the longest input text, and nothing in them is hidden.
        """
        raise NotImplementedError


class Metric:
    """The scores of a model on held-out texts.

    Attributes:
        corpus: has the texts.
    """

    corpus: Any  # each metric narrows the type to its own corpus

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus

    def evaluate(self, model: Any) -> dict[str, Any]:
        """Returns the card's scores of a Transformer or a Seq2Seq; the main score comes first."""
        raise NotImplementedError

    @staticmethod
    def describe(metric: dict[str, Any]) -> str:
        """Returns the scores of `evaluate` in words."""
        raise NotImplementedError


@dataclass(frozen=True)
class Task:
    """The training task of a family of models.

    Attributes:
        reader: how texts and answers are read.
        corpus: training, validation and test texts.
        metric: scores on the test texts.
    """

    reader: Reader
    corpus: Any
    metric: Any

    @property
    def name(self) -> str:
        """The name of the family."""
        return self.reader.name


class TaskParts(NamedTuple):
    """The three classes of a task."""

    reader: type[Reader]
    corpus: type[Corpus]
    metric: type[Metric]

    def build(self, data: Path = DATA, cache: Path | None = None, **options: Any) -> Task:
        """Returns the task on a folder of data sets; `options` are arguments of its corpus."""
        reader = self.reader()
        corpus = self.corpus(reader, data, cache, **options)
        return Task(reader, corpus, self.metric(corpus))
