"""Readers of models that predict classes: of a text, of each token, of a pair of texts, and of an answer's two ends."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from models.labs.foreign.reading import texts
from models.labs.foreign.reading.readers import TextReader
from models.labs.foreign.running.positions import Answer, Result, no_losses
from models.messages import N_, message
from models.prompt import Prompt
from models.trace import Output, fixed


class ClassAnswer:
    """The predictions of models that predict one class for the whole input."""

    config: Any

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each class; a class without a name, or with the name of another class, has its number."""
        known = self.config.id2label
        names = [str(known.get(i) or "").strip() for i in range(self.config.num_labels)]
        often = Counter(names)
        return tuple(message("class {number} (no name)", number=i) if not name else
                     name if often[name] == 1 else f"{name} ({i})" for i, name in enumerate(names))

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        return (0,)

    def headline(self, output: Output, token: str) -> str:
        return message("Class")

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        return _answer(prompt, result.output.logits, self.labels)


class ClassReader(ClassAnswer, TextReader):  # type: ignore[override]
    """The reader of a text classifier."""

    title = N_("Class")
    auto = "AutoModelForSequenceClassification"
    examples = texts.OPINIONS


class TokenClassReader(ClassAnswer, TextReader):  # type: ignore[override]
    """The reader of a model that predicts a class of each token, for example named entities."""

    title = N_("Class of each token")
    auto = "AutoModelForTokenClassification"
    examples = texts.NAMES

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(i for i, is_text in enumerate(self.is_text(ids)) if is_text)

    def headline(self, output: Output, token: str) -> str:
        return message("Class of “{token}”", token=token.strip())

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        return _answer(prompt, result.output.logits[0, list(prompt.predict_at)], self.labels)


class PairReader(TextReader):
    """The reader of a model whose input is two texts, with the tokenizer's separator between them."""

    examples = texts.QUESTIONS

    @property
    def separator(self) -> str:  # type: ignore[override]  # known from the tokenizer
        return self.tokenizer.sep_token or ""

    def read(self, text: str, limit: int | None = None) -> Prompt:
        return super().read(text.replace("[SEP]", self.separator) if self.separator else text, limit)

    def hint(self, ids: Sequence[int]) -> str:
        separators = sum(token == self.tokenizer.sep_token_id for token in ids)
        return message("Write [SEP] between the two texts") if separators < 2 else ""


class NextReader(ClassAnswer, PairReader):
    """The reader of a model that predicts whether the second text follows the first (BERT's second objective)."""

    title = N_("Next sentence")
    auto = "AutoModelForNextSentencePrediction"
    labels = (N_("follows"), N_("does not follow"))
    examples = texts.SENTENCES


class SpanReader(PairReader):
    """The reader of extractive question answering: two distributions over the tokens, at the first and the last."""

    title = N_("Answer in the text")
    auto = "AutoModelForQuestionAnswering"

    def predict_at(self, ids: Sequence[int]) -> tuple[int, ...]:
        return (0, len(ids) - 1)

    def headline(self, output: Output, token: str) -> str:
        return message("Last token of the answer") if output.position else message("First token of the answer")

    def logits(self, output: Any) -> Tensor:
        start, end = output.start_logits.unsqueeze(1), output.end_logits.unsqueeze(1)
        return torch.cat([start.expand(-1, start.shape[-1] - 1, -1), end], dim=1)

    def answer(self, prompt: Prompt, result: Result) -> Answer:
        often = Counter(prompt.tokens)
        names = tuple(token if often[token] == 1 else f"{token} ({i + 1})" for i, token in enumerate(prompt.tokens))
        return _answer(prompt, self.logits(result.output)[0, list(prompt.predict_at)], names)


def _answer(prompt: Prompt, logits: Tensor, labels: tuple[str, ...]) -> Answer:
    """Returns one distribution over the classes from each row of the logits (P, classes)."""
    return Answer(tuple(Output(i, fixed(row.float().softmax(-1).numpy()), labels)
                        for i, row in zip(prompt.predict_at, logits, strict=True)), no_losses(prompt))
