"""Measures of single heads (confidence), and the rank correlation of two measures.

    confidence(head) = mean over queries of the largest attention weight of the head over keys

Special tokens are left out, as queries and as keys, because weight on a special token often means that the head has no
effect. For the same reason, Voita et al. 2019 (section 4) leave out the end of the sentence. Rows of relu² are first
divided by their sums.
"""

import itertools
from collections.abc import Mapping, Sequence

import numpy
from numpy import ndarray

from models.kind import Kind
from models.lab import Lab
from models.prompt import TargetPrompt
from models.trace import Trace

# up to FEW values, all permutations are enumerated; for more values, MANY random permutations are sampled
FEW, MANY = 6, 2000


def text_of_rows(lab: Lab, trace: Trace) -> dict[str, ndarray]:
    """Returns token sequence -> (N,) bool, True for tokens of the text, False for special tokens."""
    rows = {"text": lab.task.is_text(trace.prompt.ids)}
    if "target" in trace.rows:
        prompt = trace.prompt
        ids = prompt.target if isinstance(prompt, TargetPrompt) else ()
        rows["target"] = lab.task.is_text(ids) if ids else (False, *[True] * (len(trace.rows["target"]) - 1))
    return {name: numpy.array(flags, dtype=bool) for name, flags in rows.items()}


def confidence(weights: ndarray, queries: ndarray, keys: ndarray) -> ndarray:
    """Returns the confidence (L, H) for patterns (L, H, N, M); NaN if there is no token of the text."""
    if not (queries.any() and keys.any()):
        return numpy.full(weights.shape[:2], numpy.nan)
    rows = weights / weights.sum(-1, keepdims=True).clip(1e-9)
    return rows[:, :, queries][..., keys].max(-1).mean(-1)


def confidences(lab: Lab, trace: Trace) -> dict[str, ndarray]:
    """Returns block -> (L, H) confidence of each head on one text."""
    text = text_of_rows(lab, trace)
    return {kind.name: confidence(trace.weights[kind.name], text[kind.query_row], text[kind.key_row])
            for kind in lab.kinds}


def in_one_row(kinds: Sequence[Kind], by_kind: Mapping[str, ndarray]) -> ndarray:
    """Returns the values of all heads as one array (heads,), in the order of Kind.addresses."""
    return numpy.concatenate([numpy.asarray(by_kind[kind.name]).reshape(-1) for kind in kinds])


def spearman(first: ndarray, second: ndarray) -> float:
    """Returns Spearman's rank correlation, -1 to 1; equal values get their mean rank. NaN if one array is constant."""
    a, b = (_ranks(values) for values in (first, second))
    a, b = a - a.mean(), b - b.mean()
    size = float(numpy.sqrt((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / size if size else float("nan")


def chance_of_rank(first: ndarray, second: ndarray) -> float:
    """Returns the fraction of permutations with a rank correlation at least as large (a one-sided p-value).

    Up to FEW values, all permutations are enumerated; for more values, MANY random permutations are sampled. NaN if one
    array is constant.
    """
    rank, values = spearman(first, second), numpy.asarray(second)
    if numpy.isnan(rank):
        return rank
    if len(values) <= FEW:
        orders = [values[list(order)] for order in itertools.permutations(range(len(values)))]
        return float(numpy.mean([spearman(first, order) > rank - 1e-9 for order in orders]))
    random = numpy.random.default_rng(0)
    reached = sum(spearman(first, random.permutation(values)) > rank - 1e-9 for _ in range(MANY))
    return (reached + 1) / (MANY + 1)


def _ranks(values: ndarray) -> ndarray:
    _, inverse, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    last = counts.cumsum()
    return ((last - counts + last - 1) / 2)[inverse]
