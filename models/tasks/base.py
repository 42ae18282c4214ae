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

ROWS = 8  # likeliest answers that are shown of a prediction


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
    """A batch of texts and what is to be written of them: `tokens` is what the decoder reads, one place behind.

    Attributes:
        texts: (B, M) int64 ids that the encoder reads, padded.
    """

    texts: Tensor


class Reader:
    """How a model reads texts, and how its answers read. What stands here is a causal language model's.

    Attributes:
        name: what a family of models is called.
        title, line: for people, what is asked of the model; and the same in one plain sentence.
        vocabulary: V.
        limit: most tokens that a typed text may have, BOS included; also the constant matrices' size.
        trained_length: most tokens that a text of training has, BOS included.
        labels: V texts, one a token id.
        examples: texts that show something, (title, text); the first is what a newcomer is shown.
        unsaid: the text of a link that names none, which stays when examples change; empty for the first example.
        data: what the models are trained on: dicts with name, licence, attribution.
        predicts_next: True if the target of a position is the token after it, False if it is the token there.
        writes: True if the model can write on from the text.
        hides: True if words of the text can be hidden from the model.
        sees: True if it reads a picture in place of a text.
        only_english: True if all that it was trained to read is English.
        controls: words that are read as control tokens when they are typed, like [SEP].
        target_limit: most tokens of a generated text, of an encoder-decoder; 0 for `limit`.
        cuts_oldest: True if of a text over the limit the oldest turns are left out, not the end.
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
        """Raises InputError if there is nothing in `text` that could be read.

        Args:
            limit: most tokens that are read, where a model reads fewer than its family.
        """
        raise NotImplementedError

    def join(self, tokens: Sequence[str]) -> str:
        """Tokens without BOS as a person would write them."""
        return "".join(tokens)

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        """Of each token whether it is one of the text, False for those that stand around it, as BOS does."""
        return tuple(place > 0 for place in range(len(ids)))

    def headline(self, output: Output, token: str) -> str:
        """What is predicted after (or at) `token`: the title of a prediction."""
        return message("Next token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """A token of the text as a person knows it: the hidden word where it is hidden only from the model."""
        return prompt.tokens[place]

    def shown(self, before: Output, after: Output) -> list[int]:
        """Ids whose probabilities are shown: the likeliest under either plan, the likeliest before first."""
        most = numpy.maximum(before.distribution, after.distribution)
        chosen = numpy.argpartition(-most, ROWS)[:ROWS] if len(most) > ROWS else range(len(most))
        return sorted((int(i) for i in chosen), key=lambda i: -before.distribution[i])


class HidesWords:
    """What a reader says of words that it hides from its model."""

    labels: tuple[str, ...]

    def headline(self, output: Output, token: str) -> str:
        """As in Reader: what is hidden there, where that is known."""
        answer = self.labels[output.target].strip() if output.target >= 0 else ""
        return message("Hidden: {answer}", answer=answer) if answer else message("Hidden token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """As in Reader."""
        target = prompt.targets[place]
        return self.labels[target] if target >= 0 else prompt.tokens[place]


class Corpus:
    """The texts that models of a task are trained and evaluated on; models/tasks/assignment.py has the smallest.

    Attributes:
        reader: turns texts into tokens.
        trained_length: most tokens of a training text, BOS included; the reader's unless the corpus is made for another
            length.
    """

    reader: Any  # narrowed by each corpus to its own reader

    def __init__(self, reader: Any, data: Path = DATA, cache: Path | None = None) -> None:
        """
        Args:
            reader: of the same task.
            data: folder of the data sets.
            cache: folder of their tokens; runs/ if left out.
        """
        self.reader, self._data, self._cache = reader, data, cache
        self.trained_length: int = reader.trained_length

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        """Returns the training data of step `step` of `steps`: the same for the same three numbers."""
        raise NotImplementedError

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns a fixed sample that is neither trained on nor part of the metric: for learning curves and for choices
        of rates.

        Args:
            times: size of the sample as a multiple of the usual one.
        """
        raise NotImplementedError

    def typical(self, count: int) -> Any:
        """Returns (count, limit) ids of training texts, over which constant matrices are averaged; of pairs two such
        tensors. The texts are as long as typed texts may be, and nothing in them is hidden."""
        raise NotImplementedError


class Metric:
    """The scores of a model on held-out texts.

    Attributes:
        corpus: has the texts.
    """

    corpus: Any  # narrowed by each metric to its own corpus

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus

    def evaluate(self, model: Any) -> dict[str, Any]:
        """Returns the card's scores of a Transformer or a Seq2Seq; the headline first."""
        raise NotImplementedError

    @staticmethod
    def describe(metric: dict[str, Any]) -> str:
        """Returns the scores of `evaluate` in words."""
        raise NotImplementedError


@dataclass(frozen=True)
class Task:
    """What the models of a family are trained for.

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
        """Name of the family."""
        return self.reader.name


class TaskParts(NamedTuple):
    """The three classes of a task."""

    reader: type[Reader]
    corpus: type[Corpus]
    metric: type[Metric]

    def build(self, data: Path = DATA, cache: Path | None = None, **options: Any) -> Task:
        """Returns the task on a folder of data sets; `options` are its corpus's own."""
        reader = self.reader()
        corpus = self.corpus(reader, data, cache, **options)
        return Task(reader, corpus, self.metric(corpus))
