"""Each test sentence's value for a translation model's BLEU, so that two models can be compared sentence by sentence.

    python -m studies.generated.sentences translation-softmax-one-pass translation-dense

BLEU is not a mean over sentences, but nearly one. Let d be the derivative of the corpus score with respect to the
weight of a sentence. The sentence's value is the score plus S times d, for S sentences (the infinitesimal jackknife;
Efron 1982, The Jackknife, the Bootstrap and Other Resampling Plans, chapter 6). The mean of the values is the corpus
score. Their spread estimates how much the score varies with the choice of sentences. Writes
studies/measurements/NAME.sentences.json.
"""

import argparse
from collections.abc import Sequence
from typing import Any, cast

import numpy
from numpy import ndarray

from models.catalogue import names_of
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.loading import load
from models.tasks.base import Task
from models.tasks.text_scores import bleu, sacrebleu
from models.tasks.translation import TranslationCorpus, TranslationMetric
from studies.command import study

DECIMALS = 2  # decimals of the stored values in percent, some of which are several hundred


def values_of(lengths: ndarray, references: ndarray, right: ndarray, possible: ndarray) -> ndarray:
    """Returns (S,) values for BLEU in percent without smoothing (Papineni et al. 2002)."""
    count, translated_length, reference_length = len(lengths), lengths.sum(), references.sum()
    if not right.sum(0).all():
        raise ValueError("no n-gram of some order is right, so that BLEU is 0 whatever the sentences")
    logarithm = numpy.log(right.sum(0) / possible.sum(0)).mean() + min(0.0, 1 - reference_length / translated_length)
    slopes = (right / right.sum(0) - possible / possible.sum(0)).mean(1)
    if translated_length < reference_length:
        slopes = slopes + reference_length * lengths / translated_length**2 - references / translated_length
    return 100 * numpy.exp(logarithm) * (1 + count * slopes)


def counts_of(translations: Sequence[str],
              references: Sequence[Sequence[str]]) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Returns the arguments of values_of, counted by sacrebleu."""
    # effective_order only silences a warning: of the result, only the counts are used
    measure = sacrebleu(effective_order=True)
    scores = [measure.sentence_score(translation, list(texts))
              for translation, texts in zip(translations, references, strict=True)]
    lengths, reference_lengths, right, possible = (
        numpy.array([getattr(score, name) for score in scores], float)
        for name in ("sys_len", "ref_len", "counts", "totals"))
    return lengths, reference_lengths, right, possible


def sentence_bleu(translations: Sequence[str], references: Sequence[Sequence[str]]) -> list[float]:
    """Returns the value of each translation for the BLEU of all."""
    return [round(float(value), DECIMALS) for value in values_of(*counts_of(translations, references))]


def known_in_training(corpus: TranslationCorpus, references: Sequence[Sequence[str]]) -> list[bool]:
    """Returns for each test sentence whether one of its references is also a target of training."""
    trained = {target for _text, target in corpus.pairs("train")}
    return [not trained.isdisjoint(targets) for targets in references]


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns BLEU with the card's beam over all test sentences, and the value of each sentence."""
    metric, model = cast(TranslationMetric, task.metric), cast(Seq2SeqLab, lab).model
    texts, references = task.corpus.test()
    translations = metric.translate(model, texts)
    values = numpy.array(sentence_bleu(translations, references))
    print(f"{lab.name}: BLEU {values.mean():.2f}, by the card {lab.card['metric']['bleu']}; error of the choice of "
          f"sentences {values.std() / len(values)**0.5:.2f}", flush=True)
    new = [i for i, known in enumerate(known_in_training(task.corpus, references)) if not known]
    apart, _signature = bleu([translations[i] for i in new], [references[i] for i in new])
    print(f"without the {len(texts) - len(new)} of which a reference is in training, too: BLEU {apart:.2f}", flush=True)
    return {"bleu": round(float(values.mean()), DECIMALS), "sentence_bleu": values.tolist()}


if __name__ == "__main__":
    study("sentences", __doc__, names_of("translation"), load, measure)
