"""What a task owes the rest: how a typed text becomes tokens, what is asked of the model, how its answer reads, and
what is measured. Nothing else knows one task from another: what a page must know of a task, the task says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy
from torch import Tensor

from models.messages import told
from models.prompt import Prompt
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
        target_limit: most tokens of a generated text, of an encoder-decoder; 0 for `limit`.
        cuts_oldest: True if of a text over the limit the oldest turns are left out, not the end.
    """

    name: str
    title: str
    line = ""
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
        return told("Next token")

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
        return told("Hidden: {answer}", answer=answer) if answer else told("Hidden token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """As in Reader."""
        target = prompt.targets[place]
        return self.labels[target] if target >= 0 else prompt.tokens[place]


class Task(Reader):
    """A task that models are trained for: what a Reader says, and the data; see tasks/assignment.py for the smallest.

    Attributes:
        vocabulary: V.
    """

    vocabulary: int

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        """Training data of step `step` of `steps`: the same for the same three numbers."""
        raise NotImplementedError

    def validation(self, times: int = 1) -> list[Batch]:
        """A fixed sample, neither of the training data nor of what `metric` reads: for learning curves and for whatever
        is chosen by looking; `times` as large where more certainty is wanted."""
        raise NotImplementedError

    def typical(self, count: int) -> Tensor:
        """(count, limit) ids of texts of the training data, over which constant matrices are averaged. They are as long
        as typed texts may be, and nothing in them is hidden."""
        raise NotImplementedError

    def metric(self, model: Any) -> dict[str, Any]:
        """The card's numbers, of a Transformer or a Seq2Seq, on data never seen in training; the headline first."""
        raise NotImplementedError

    def in_words(self, metric: dict[str, Any]) -> str:
        """What `metric` returned, for people."""
        raise NotImplementedError
