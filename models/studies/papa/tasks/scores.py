"""How right predictions are: accuracy, F1 of spans as CoNLL has it, Matthews correlation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from models.studies.papa.tasks.corpora import OUTSIDE

ACCURACY, F1, MATTHEWS = "accuracy", "f1", "matthews"


def score(metric: str, right: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """The metric of texts, of each of which there is one label or one a word.

    Raises:
        ValueError: no such metric.
        FileNotFoundError: nervaluate, which only measuring needs, is not installed.
    """
    if metric == F1:
        return spans(right, found)
    truth, said = (numpy.array([label for text in texts for label in text]) for texts in (right, found))
    if metric == ACCURACY:
        return float((truth == said).mean())
    if metric == MATTHEWS:
        return matthews(truth == truth[0], said == truth[0])
    raise ValueError(f"no metric {metric!r}; expected {ACCURACY}, {F1} or {MATTHEWS}")


def matthews(truth: numpy.ndarray, said: numpy.ndarray) -> float:
    """Matthews correlation of two rows of truths, which is Pearson's; 0 where one of them never changes."""
    if truth.all() or said.all() or not (truth.any() and said.any()):
        return 0.0
    return float(numpy.corrcoef(truth, said)[0, 1])


def spans(right: Sequence[Sequence[str]], found: Sequence[Sequence[str]]) -> float:
    """F1 of BIO spans over all texts together; a span counts if its ends and its kind are right."""
    try:
        from nervaluate.evaluator import Evaluator  # type: ignore[import-untyped]  # it has no marker of its types
    except ImportError as error:
        raise FileNotFoundError("F1 of spans needs nervaluate: pip install -r requirements-test.txt") from error
    kinds = sorted({label[2:] for text in (*right, *found) for label in text if label != OUTSIDE})
    if not kinds:
        return 0.0
    evaluator = Evaluator([list(its) for its in right], [list(its) for its in found], tags=kinds, loader="list")
    return float(evaluator.evaluate()["overall"]["strict"].f1)
