"""The base classes of a task: Reader (text to tokens, tokens to text), Corpus (its data), Metric (its scores)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import torch
from torch import Tensor

from models.messages import cut, listed, message
from models.prompt import Prompt
from models.storage.datasets import DATA
from models.tasks.characters import bytes_in, whole_characters, with_characters
from models.trace import Output

ROWS = 8  # number of tokens that are shown for a prediction, the most probable ones


@dataclass(frozen=True)
class Batch:
    """Training data of one step."""

    tokens: Tensor  # (B, N) int64 ids
    targets: Tensor  # (B, N) int64 ids to predict, -1 at positions without a loss


@dataclass(frozen=True)
class Pairs(Batch):
    """A batch of texts and targets; `tokens`, the decoder's input, is the target shifted by one."""

    texts: Tensor  # (B, M) int64 ids that the encoder reads, padded


class Reader:
    """Converts texts to tokens and predictions to texts. The methods of this class fit a causal language model."""

    name: str  # name of the task and of its family of models
    title: str  # the task in a few words, for pages
    line = ""  # the task in one plain sentence, for pages
    vocabulary: int  # V, the number of tokens
    limit: int  # largest number of tokens of an input text, BOS included; also the size of the constant matrices
    trained_length: int  # largest number of tokens of a training text, BOS included
    labels: tuple[str, ...]  # the V tokens as strings, by token id
    examples: tuple[tuple[str, str], ...]  # example texts as (title, text); the first is shown in a new session
    unsaid = ""  # text of links without a text, the same when examples change; empty for the first example
    data: tuple[dict[str, str], ...] = ()  # the data sets of the training: dicts with name, licence, attribution
    predicts_next = True  # True if the target of a position is the token after it, False if it is the token there
    writes = False  # True if the model can continue a text
    hides = False  # True if words of the text can be masked
    sees = False  # True if the model reads a picture in place of a text
    only_english = False  # True if the training data is English only
    controls: tuple[str, ...] = ()  # words of an input text that are read as control tokens, for example [SEP]
    target_limit = 0  # largest number of tokens of a generated text, for an encoder-decoder; 0 for `limit`
    is_slow = False  # True if reading a text can take seconds
    cuts_oldest = False  # True if a text over the limit is cut by leaving out its oldest turns, not its end
    chats = False  # True if the model's tokenizer has a chat template; see Lab.in_chat
    lengths: tuple[int, ...] = ()  # text lengths in tokens at which studies/corpus/lengths.py evaluates models, if any

    def read(self, text: str, limit: int | None = None) -> Prompt:
        """Returns the prompt of a text, cut after `limit` tokens; raises InputError if nothing can be read."""
        raise NotImplementedError

    def join(self, tokens: Sequence[str]) -> str:
        """Returns the text of tokens without BOS."""
        return "".join(whole_characters(tokens))

    def spelled(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Returns the label of each token; parts of a character have the character and their number."""
        labels = [self.labels[i] for i in ids]
        return tuple(with_characters(labels, [bytes_in(label) for label in labels]))

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        """Returns, for each token, whether it is part of the text; False for special tokens such as BOS."""
        return tuple(place > 0 for place in range(len(ids)))

    def bytes_of(self, ids: Sequence[int]) -> Mapping[int, str]:
        """Returns position -> bytes in hexadecimal of each token that is only a part of a character."""
        raw = (bytes_in(self.labels[i]) for i in ids)
        return {place: part.hex(" ") for place, part in enumerate(raw) if part is not None}

    def headline(self, output: Output, token: str) -> str:
        """Returns the title of a prediction after (or at) `token`."""
        return message("Next token")

    def token_at(self, prompt: Prompt, place: int) -> str:
        """Returns the token at a position as the visitor typed it; for a masked word, the word and not the mask."""
        return prompt.tokens[place]

    def compared_tokens(self, before: Output, after: Output) -> list[int]:
        """Returns the ROWS ids that are most probable in either output, ordered by probability in `before`."""
        most = numpy.maximum(before.distribution, after.distribution)
        chosen = numpy.argpartition(-most, ROWS)[:ROWS] if len(most) > ROWS else range(len(most))
        return sorted((int(i) for i in chosen), key=lambda i: -before.distribution[i])


class HidesWords:
    """The part of a reader for models whose input has masked words."""

    labels: tuple[str, ...]

    def headline(self, output: Output, token: str) -> str:
        """Returns the title of a prediction, with the masked word if it is known."""
        answer = self.labels[output.target].strip() if output.target >= 0 else ""
        return message("Hidden: “{answer}”", answer=answer) if answer else message("Hidden token")

    @staticmethod
    def brackets_hint(hidden: Sequence[str]) -> str:
        """Returns a hint if brackets hide more than single words, for example the references of Wikipedia."""
        if all(text.isalpha() for text in hidden):
            return ""
        return message("Brackets hide {texts}; write \\[ for a plain bracket",
                       texts=listed(f"“{cut(text)}”" for text in hidden[:ROWS]))

    def token_at(self, prompt: Prompt, place: int) -> str:
        """Returns the token at a position as in Reader."""
        target = prompt.targets[place]
        return self.labels[target] if target >= 0 else prompt.tokens[place]


class Corpus:
    """The texts on which models of a task are trained and evaluated; models/tasks/assignment.py is the shortest."""

    reader: Any  # the reader of the task; each corpus narrows the type to its own reader

    def __init__(self, reader: Any, data: Path = DATA, cache: Path | None = None) -> None:
        """Reads nothing yet."""
        self.reader, self._data, self._cache = reader, data, cache
        self.trained_length: int = reader.trained_length  # unless the corpus is built for another length

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        """Returns the training data of step `step` of `steps`; the data depend only on the three arguments."""
        raise NotImplementedError

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns fixed texts for learning curves and rates, which neither training nor the metric uses."""
        raise NotImplementedError

    def typical(self, count: int) -> Any:
        """Returns ids (count, limit) of unmasked training texts for constant matrices; for pairs, two tensors."""
        raise NotImplementedError

    def held_out_texts(self, length: int, longest: int) -> tuple[Batch, Tensor]:
        """Returns held-out texts of `length` tokens with targets, and (B,) the index of each text's long text or group.

        Only a task whose reader has `lengths` needs this method.
        """
        raise TypeError(f"{self.reader.name}: it has no held-out texts of a length")


def evenly(count: int, wanted: int) -> Tensor:
    """Returns the indices of `wanted` rows, evenly over all `count`, so that several sources of texts are included."""
    return torch.linspace(0, count - 1, min(count, wanted)).long()


class Metric:
    """The scores of a model on held-out texts."""

    corpus: Any  # each metric narrows the type to its own corpus

    def __init__(self, corpus: Any) -> None:
        self.corpus = corpus

    def evaluate(self, model: Any) -> dict[str, Any]:
        """Returns the scores of a Transformer or a Seq2Seq for its card; the main score comes first."""
        raise NotImplementedError

    @staticmethod
    def describe(metric: dict[str, Any]) -> str:
        """Returns a text with the scores that `evaluate` returned."""
        raise NotImplementedError


@dataclass(frozen=True)
class Task:
    """The training task of a family of models."""

    reader: Reader  # converts texts to tokens and predictions to texts
    corpus: Any  # training, validation and test texts
    metric: Any  # computes the scores on the test texts

    @property
    def name(self) -> str:
        return self.reader.name


class TaskParts(NamedTuple):
    """The three classes of a task."""

    reader: type[Reader]
    corpus: type[Corpus]
    metric: type[Metric]

    def build(self, data: Path = DATA, cache: Path | None = None, **options: Any) -> Task:
        """Returns the task with the data sets in a folder; `options` are arguments of its corpus."""
        reader = self.reader()
        corpus = self.corpus(reader, data, cache, **options)
        return Task(reader, corpus, self.metric(corpus))
