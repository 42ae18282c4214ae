"""How foreign models read texts and answer: one class for each head that stands on a model.

A reader knows a tokenizer and a config; it never sees a module. What a model returns becomes predictions here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy import ndarray
from torch import Tensor

from models.errors import InputError
from models.kind import TARGET, TEXT
from models.labs.foreign.reading import texts
from models.labs.foreign.reading.texts import Encoded
from models.messages import N_, told
from models.prompt import Prompt, readable
from models.tasks.base import HidesWords, Reader
from models.trace import Output, fixed

MAX_TOKENS = 512  # of a typed text, whatever the model could read


@dataclass(frozen=True)
class Answer:
    """What a model said, as in Trace."""

    outputs: tuple[Output, ...]
    losses: ndarray
    vectors: ndarray | None = None


class TextReader(Reader):
    """A bare encoder: it reads text, predicts nothing, and its last hidden vectors are what can be seen to change."""

    title = N_("Vectors")
    auto = "AutoModel"  # the class of transformers that loads it
    predicts_next = False
    examples: tuple[tuple[str, str], ...] = texts.PLAIN

    def __init__(self, name: str, folder: Path, config: Any, longest: int | None, trained_length: int) -> None:
        """
        Args:
            folder: of tokenizer and config.
            config: transformers' own.
            longest: most tokens that the model has positions for; None if there is no such limit.
        """
        self.name, self.config, self._folder = name, config, folder
        self.longest, self.trained_length = longest, trained_length
        self.limit = min(longest or MAX_TOKENS, MAX_TOKENS)

    @cached_property
    def tokenizer(self) -> Any:
        """transformers' fast tokenizer; raises ForeignError if there is none."""
        return texts.tokenizer_of(self._folder)

    @cached_property
    def pieces(self) -> tuple[str, ...]:
        """What each token id stands for, as text."""
        return texts.pieces_of(self.tokenizer, self.config.vocab_size)

    @property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.pieces

    def read(self, text: str, limit: int | None = None) -> Prompt:
        encoded = self.encode(readable(text))
        return self.prompt(encoded, [-1] * len(encoded.ids), text, limit or self.limit)

    def encode(self, text: str) -> Encoded:
        """Tokens with their places; what the tokenizer puts around a text is known."""
        return texts.encode(self.tokenizer, text)

    def prompt(self, encoded: Encoded, targets: Sequence[int], text: str, limit: int) -> Prompt:
        """The Prompt of a text of any length: what does not fit is left out, what the tokenizer adds stays."""
        first, last = encoded.body
        if first == last:
            raise InputError(told("Type a text"), 0, len(text))
        stop = max(first + 1, min(last, limit - (len(encoded.ids) - last)))
        kept = [*range(stop), *range(last, len(encoded.ids))]
        ids = tuple(encoded.ids[i] for i in kept)
        targets = self.targets(ids, tuple(targets[i] for i in kept))
        return Prompt(ids, tuple(self.pieces[i] for i in ids), self.asked(ids), targets, last - stop,
                      encoded.stops[stop - 1], self.hint(ids))

    def asked(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Positions that a prediction is shown for."""
        return ()

    def targets(self, ids: Sequence[int], hidden: tuple[int, ...]) -> tuple[int, ...]:
        """What is known of the answers at each position; `hidden` are the words that the text hides."""
        return hidden

    def hint(self, ids: Sequence[int]) -> str:
        """What the person could add."""
        return ""

    def join(self, tokens: Sequence[str]) -> str:
        return texts.join(tokens, self.tokenizer)

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        around = set(self.tokenizer.all_special_ids) - {self.tokenizer.mask_token_id}
        return tuple(i not in around for i in ids)

    def inputs(self, prompt: Prompt) -> dict[str, Tensor]:
        """What the model's forward takes."""
        ids = torch.tensor([prompt.ids])
        given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
        if getattr(self.config, "type_vocab_size", 0) > 1 and "token_type_ids" in self.tokenizer.model_input_names:
            ends = ids == self.tokenizer.sep_token_id  # all after the first separator is the second of two texts
            given["token_type_ids"] = (ends.cumsum(1) - ends.long()).clamp_max(1)
        return given

    def answer(self, prompt: Prompt, result: Any) -> Answer:
        """What the model's result says."""
        return Answer((), nothing(prompt), fixed(result.last_hidden_state[0].float().numpy()))

    def rows(self, prompt: Prompt, written: Sequence[int]) -> Mapping[str, tuple[str, ...]]:
        """Tokens by row; `written` are the decoder's ids."""
        return {TEXT: prompt.tokens}


class CausalReader(TextReader):
    """A causal language model: the next token after each."""

    title = N_("Next token")
    auto = "AutoModelForCausalLM"
    predicts_next = True
    writes = True
    examples = texts.OPEN

    def asked(self, ids: Sequence[int]) -> tuple[int, ...]:
        return (len(ids) - 1,)

    def targets(self, ids: Sequence[int], hidden: tuple[int, ...]) -> tuple[int, ...]:
        return (*ids[1:], -1)

    def inputs(self, prompt: Prompt) -> dict[str, Any]:
        return {**super().inputs(prompt), "use_cache": False}

    def answer(self, prompt: Prompt, result: Any) -> Answer:
        return predicted(prompt, result.logits[0], self.labels)


class MaskedReader(HidesWords, TextReader):
    """A masked language model guesses what is hidden: `[word]` hides a word, `[MASK]` what nobody knows."""

    title = N_("Hidden token")
    auto = "AutoModelForMaskedLM"
    hides = True
    examples = texts.HIDDEN

    def read(self, text: str, limit: int | None = None) -> Prompt:
        mask = self.tokenizer.mask_token_id
        marked = texts.unmark(readable(text), self.tokenizer.mask_token, self.tokenizer.all_special_tokens)
        encoded = self.encode(marked.plain)
        ids, targets = list(encoded.ids), [-1] * len(encoded.ids)
        for i in range(*encoded.body):
            start, stop = encoded.starts[i], encoded.stops[i]
            if start < stop and marked.hides(start, stop) and ids[i] != mask:
                ids[i], targets[i] = mask, encoded.ids[i]
        stops = [marked.origin[stop] for stop in encoded.stops]
        return self.prompt(Encoded(ids, encoded.starts, stops, encoded.body), targets, text, limit or self.limit)

    def asked(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(i for i, token in enumerate(ids) if token == self.tokenizer.mask_token_id)

    def hint(self, ids: Sequence[int]) -> str:
        hidden = self.tokenizer.mask_token_id in ids
        if hidden:
            return ""
        return told("Nothing is hidden yet: write [MASK], put a word in [brackets], or choose one below")

    def answer(self, prompt: Prompt, result: Any) -> Answer:
        return predicted(prompt, result.logits[0], self.labels)


class ClassAnswer:
    """How readers answer whose models have one class for all that they read."""

    config: Any

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(str(self.config.id2label[i]) for i in range(self.config.num_labels))

    def asked(self, ids: Sequence[int]) -> tuple[int, ...]:
        return (0,)

    def headline(self, output: Output, token: str) -> str:
        return told("Class")

    def answer(self, prompt: Prompt, result: Any) -> Answer:
        return classified(prompt, result.logits[0], self.labels)


class ClassReader(ClassAnswer, TextReader):  # type: ignore[override]
    """A class for the whole text."""

    title = N_("Class")
    auto = "AutoModelForSequenceClassification"
    examples = texts.OPINIONS


class Seq2SeqReader(TextReader):
    """An encoder with a decoder: a translation, a summary, an answer; the decoder's row is what it writes."""

    title = N_("Written text")
    auto = "AutoModelForSeq2SeqLM"
    examples = texts.TASKS
    predicts_next = True

    def rows(self, prompt: Prompt, written: Sequence[int]) -> Mapping[str, tuple[str, ...]]:
        return {TEXT: prompt.tokens, TARGET: tuple(self.pieces[i] for i in written)}

    def headline(self, output: Output, token: str) -> str:
        return told("After {token}", token=token.strip()) if token.strip() else told("Next token")

    def wrote(self, ids: Sequence[int]) -> str:
        """The text of these ids."""
        return str(self.tokenizer.decode(list(ids), skip_special_tokens=True)).strip()

    def answer_row(self, written: Sequence[int], logits: Tensor) -> tuple[Output, ...]:
        """(N, V) logits after each token of the decoder's row."""
        after = logits.softmax(-1).numpy()
        return tuple(Output(i, fixed(after[i].copy()), self.labels, written[i + 1] if i + 1 < len(written) else -1,
                            TARGET) for i in range(len(written)))


def nothing(prompt: Prompt) -> ndarray:
    """Losses of a text of which none is known."""
    return fixed(numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32))


def predicted(prompt: Prompt, logits: Tensor, labels: tuple[str, ...]) -> Answer:
    """(N, V) logits -> the predictions that the text asks for, and the losses of the tokens that are known."""
    losses = numpy.full(len(prompt.ids), numpy.nan, dtype=numpy.float32)
    known = [i for i, target in enumerate(prompt.targets) if target >= 0]
    if known:
        right = logits[known, [prompt.targets[i] for i in known]]
        losses[known] = (logits.logsumexp(-1)[known] - right).numpy()
    outputs = tuple(Output(i, fixed(logits[i].softmax(-1).numpy()), labels, prompt.targets[i]) for i in prompt.asked)
    return Answer(outputs, fixed(losses))


def classified(prompt: Prompt, logits: Tensor, labels: tuple[str, ...]) -> Answer:
    """(classes,) logits -> one distribution over the classes, after the text's first token."""
    return Answer((Output(0, fixed(logits.softmax(-1).numpy()), labels),), nothing(prompt))
