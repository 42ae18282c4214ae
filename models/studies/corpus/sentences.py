"""What each test sentence adds to the BLEU of a model that translates, so that two are compared sentence by sentence.

    python -m models.studies.corpus.sentences translation-softmax-one-pass translation-dense

Writes models/studies/measurements/NAME.sentences.json. BLEU is no mean over sentences, but near one: what the score of
the whole would be with one more of a sentence is its derivative, and the score plus S times that is the sentence's
value (the infinitesimal jackknife; Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6). The
mean of the values is the score, and their spread is what another choice of sentences would do to it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any, cast

import numpy
from numpy import ndarray

from models.catalogue import names
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.loading import load
from models.studies.command import study
from models.tasks.base import Task
from models.tasks.text_scores import bleu, sacrebleu
from models.tasks.translation import TranslationCorpus, TranslationMetric

DECIMALS = 2  # of values in percent, some of which are hundreds


def values_of(lengths: ndarray, references: ndarray, right: ndarray, possible: ndarray) -> ndarray:
    """(S,) of BLEU in percent without smoothing (Papineni et al. 2002).

    Args:
        lengths, references: (S,) words of each translation, and of the reference nearest to that in length.
        right, possible: (S, 4) n-grams of each order that stand in a reference, and that there are.

    Raises:
        ValueError: no n-gram of some order is right anywhere, so that BLEU is 0.
    """
    count, said, there = len(lengths), lengths.sum(), references.sum()
    if not right.sum(0).all():
        raise ValueError("no n-gram of some order is right, so that BLEU is 0 whatever the sentences")
    logarithm = numpy.log(right.sum(0) / possible.sum(0)).mean() + min(0.0, 1 - there / said)
    slopes = (right / right.sum(0) - possible / possible.sum(0)).mean(1)
    if said < there:
        slopes = slopes + there * lengths / said**2 - references / said
    return 100 * numpy.exp(logarithm) * (1 + count * slopes)


def counts_of(found: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """What values_of reads, by sacrebleu's own counting.

    Raises:
        FileNotFoundError: sacrebleu, which only measuring needs, is not installed.
    """
    measure = sacrebleu(effective_order=True)  # which changes its scores of short sentences, and silences a warning
    scores = [measure.sentence_score(said, list(its)) for said, its in zip(found, references, strict=True)]
    return (numpy.array([its.sys_len for its in scores], float), numpy.array([its.ref_len for its in scores], float),
            numpy.array([its.counts for its in scores], float), numpy.array([its.totals for its in scores], float))


def sentence_bleu(found: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """What each translation adds to the BLEU of all; raises as values_of and counts_of."""
    return [round(float(value), DECIMALS) for value in values_of(*counts_of(found, references))]


def known_in_training(corpus: TranslationCorpus, references: Sequence[Sequence[str]]) -> list[bool]:
    """Of each test sentence whether one of its references is also the translation of another sentence, of training:
    splits are by the English side."""
    trained = {target for _text, target in corpus.pairs("train")}
    return [not trained.isdisjoint(its) for its in references]


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """BLEU by the card's beam over all test sentences, and what each adds to it."""
    metric, model = cast(TranslationMetric, task.metric), cast(Seq2SeqLab, lab).model
    texts, references = task.corpus.test()
    found = metric.translate(model, texts)
    values = numpy.array(sentence_bleu(found, references))
    print(f"{lab.name}: BLEU {values.mean():.2f}, by the card {lab.card['metric']['bleu']}; error of the choice of "
          f"sentences {values.std() / len(values)**0.5:.2f}", flush=True)
    new = [i for i, known in enumerate(known_in_training(task.corpus, references)) if not known]
    apart, _signature = bleu([found[i] for i in new], [references[i] for i in new])
    print(f"without the {len(texts) - len(new)} of which a reference is in training, too: BLEU {apart:.2f}", flush=True)
    return {"bleu": round(float(values.mean()), DECIMALS), "sentence_bleu": values.tolist()}


def main() -> None:
    study("sentences", __doc__, [name for name in names() if name.startswith("translation-")], load, measure)


if __name__ == "__main__":
    main()
