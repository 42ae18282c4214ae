"""Scores of texts: BLEU and ROUGE against references, by sacrebleu and rouge-score, and the loss per byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy
from numpy import ndarray

from models.prompt import Prompt, readable
from models.tasks.base import Reader

if TYPE_CHECKING:
    from rouge_score.rouge_scorer import RougeScorer
    from sacrebleu.metrics.bleu import BLEU


ROUGE = ("rouge1", "rouge2", "rougeL")


def bleu(texts: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, str]:
    """Returns corpus BLEU in percent with several references per sentence, and sacrebleu's signature (Post 2018)."""
    measure = sacrebleu()
    return measure.corpus_score(list(texts), _streams(references)).score, str(measure.get_signature())


def _streams(references: Sequence[Sequence[str]]) -> Any:
    """Returns the first references, the second, ..., in sacrebleu's format: None for a missing one."""
    return [[targets[i] if i < len(targets) else None for targets in references]
            for i in range(max(map(len, references)))]


def sacrebleu(**options: Any) -> BLEU:
    """Returns sacrebleu's BLEU with its default settings except `options`; raises the errors of `bleu`."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise FileNotFoundError("BLEU needs sacrebleu: pip install -r requirements-test.txt") from error
    return BLEU(**options)


def bleu_of_order(texts: Sequence[str], references: Sequence[Sequence[str]], order: int) -> float:
    """Returns corpus BLEU in percent over n-grams up to `order`; raises the errors of `bleu`."""
    return sacrebleu(max_ngram_order=order).corpus_score(list(texts), _streams(references)).score


def rouge(texts: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Returns mean ROUGE-1, -2 and -L F1 in percent; raises the errors of `rouge_of_texts`."""
    return mean_of(rouge_of_texts(texts, references))


def mean_of(scores: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Returns the mean over texts of each score, with two decimals."""
    return {name: round(float(numpy.mean(values)), 2) for name, values in scores.items()}


def rouge_of_texts(texts: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, list[float]]:
    """Returns ROUGE-1, -2, -L F1 in percent against the best reference, without stemming (Lin 2004)."""
    scorer = rouge_scorer()
    scores = [scorer.score_multi(targets, text) for text, targets in zip(texts, references, strict=True)]
    return {name: [100 * score[name].fmeasure for score in scores] for name in ROUGE}


def rouge_scorer() -> RougeScorer:
    """Returns rouge-score's scorer of the scores in ROUGE, without stemming; raises the errors of `rouge_of_texts`."""
    try:
        from rouge_score.rouge_scorer import RougeScorer
    except ImportError as error:
        raise FileNotFoundError("ROUGE needs rouge-score: pip install -r requirements-test.txt") from error
    return RougeScorer(list(ROUGE))


def loss_per_byte(reader: Reader, text: str, prompt: Prompt, losses: ndarray) -> float:
    """Returns the mean loss per byte of the predicted text, in nats, from the losses (N,) of a Trace.

    A mean per token is lower for a tokenizer with shorter tokens. The sum of the losses over the bytes of the same text
    does not depend on how the text is cut into tokens. NaN without losses of text tokens, and for an encoder-decoder,
    whose losses are of another text. Control tokens are not counted, nor a first token that has no prediction.
    """
    is_text, parts = reader.is_text(prompt.ids), reader.bytes_of(prompt.ids)
    shift = 1 if reader.predicts_next else 0
    if len(losses) != len(prompt.ids):
        return float("nan")
    scored = [(place + shift, float(losses[place])) for place in range(len(prompt.ids) - shift)
              if not numpy.isnan(losses[place]) and is_text[place + shift]]
    size = sum(len(parts[place].split()) if place in parts else
               len(reader.token_at(prompt, place).removeprefix("##").encode()) for place, _ in scored)
    whole = len(readable(text)[:prompt.read_chars].encode())  # SentencePiece adds a space in front of the text
    return sum(loss for _, loss in scored) / min(size, whole) if scored and whole else float("nan")
