"""Scores of predictions: accuracy, F1 of spans as in CoNLL, Matthews correlation."""

from collections.abc import Sequence

import numpy

from models import extras
from studies.papa.tasks.corpora import OUTSIDE

ACCURACY, F1, MATTHEWS = "accuracy", "f1", "matthews"


def score(metric: str, truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Returns a score over all labels of all texts."""
    if metric == F1:
        return span_f1(truth, predicted)
    flat, answers = (numpy.array([label for text in texts for label in text]) for texts in (truth, predicted))
    if metric == ACCURACY:
        return float((flat == answers).mean())
    if metric == MATTHEWS:
        return matthews(flat == flat[0], answers == flat[0])
    raise ValueError(f"no metric {metric!r}; expected {ACCURACY}, {F1} or {MATTHEWS}")


def matthews(truth: numpy.ndarray, predicted: numpy.ndarray) -> float:
    """Returns the Matthews correlation of two boolean arrays, which is Pearson's; 0 if one of them is constant."""
    if truth.all() or predicted.all() or not (truth.any() and predicted.any()):
        return 0.0
    return float(numpy.corrcoef(truth, predicted)[0, 1])


def span_f1(truth: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> float:
    """Returns the F1 of BIO spans over all texts together; a span is right if both ends and its type are right."""
    extras.need("study")
    from nervaluate.evaluator import Evaluator  # type: ignore[import-untyped]  # it has no marker of its types

    types = sorted({label[2:] for text in (*truth, *predicted) for label in text if label != OUTSIDE})
    if not types:
        return 0.0
    evaluator = Evaluator([list(row) for row in truth], [list(row) for row in predicted], tags=types, loader="list")
    return float(evaluator.evaluate()["overall"]["strict"].f1)
