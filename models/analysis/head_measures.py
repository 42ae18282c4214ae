"""Measures of single heads, over one text and over many, and the rank correlation of two measures.

    confidence(head, text)   mean over queries of the largest attention weight of the head over keys
    entropy(head, text)      mean over queries of the entropy of the row, nats
    share(head, token)       weight on all occurrences of the token / weight on all keys, over all texts
    times(head, token)       share / share under uniform attention over the keys that each query sees
    jobs(head, pattern)      share of the texts in which the pattern has the head's largest score, and a score of at
                             least LEAST                                        (models/analysis/roles.py)

Special tokens are left out as queries; for confidence, also as keys, because weight on a special token often means that
the head has no effect. For the same reason, Voita et al. 2019 (section 4) leave out the end of the sentence. Rows of
relu² are first divided by their sums.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from numpy import ndarray

from models.analysis.roles import PATTERNS, pattern_scores
from models.kind import TEXT, Kind
from models.lab import Lab
from models.prompt import TargetPrompt
from models.trace import Trace, row_entropy

# up to FEW values, all permutations are enumerated; for more values, MANY random permutations are sampled
FEW, MANY = 6, 2000
TENTHS = 10  # number of texts per order, one per tenth of the texts
KEYS = 8  # number of most attended tokens of a head
LEAST = 0.4  # smallest mean weight on a pattern with which a head counts as having it in a text


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
    """Returns a one-sided p-value by permutations: all for up to FEW values, else MANY; NaN for a constant array."""
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


@dataclass
class HeadExamples:
    """The values of the heads of one block, text by text."""

    kind: Kind  # the attention block
    vocabulary: int  # number of token ids
    # confidences and entropies: for each text, (L, H)
    confidences: list[ndarray] = field(default_factory=list)
    entropies: list[ndarray] = field(default_factory=list)
    weights: ndarray = field(init=False)  # (L, H, V) summed weight on each token id
    uniform: ndarray = field(init=False)  # (V,) the same under uniform attention
    jobs: ndarray = field(init=False)  # (PATTERNS, L, H) numbers of texts

    def __post_init__(self) -> None:
        self.weights = numpy.zeros((self.kind.layers, self.kind.heads, self.vocabulary))
        self.uniform = numpy.zeros(self.vocabulary)
        self.jobs = numpy.zeros((len(PATTERNS), self.kind.layers, self.kind.heads), dtype=int)

    def add(self, lab: Lab, trace: Trace, ids: ndarray) -> None:
        text, weights = text_of_rows(lab, trace), trace.weights[self.kind.name]
        queries = text[self.kind.query_row]
        self.confidences.append(confidence(weights, queries, text[self.kind.key_row]))
        if self.kind.query_row == self.kind.key_row:
            tokens = trace.rows[self.kind.query_row]
            even = weights / weights.sum(-1, keepdims=True).clip(1e-9)
            scores = numpy.nan_to_num(numpy.stack([pattern_scores(pattern, even, tokens, self.kind.causal)
                                                   for pattern in PATTERNS]))
            best = numpy.arange(len(PATTERNS))[:, None, None] == scores.argmax(0)
            self.jobs += best & (scores >= LEAST)
        rows = weights[:, :, queries]
        self.entropies.append(row_entropy(rows).mean(-1))
        rows = rows / rows.sum(-1, keepdims=True).clip(1e-9)
        visible = numpy.arange(1, len(queries) + 1)[queries] if self.kind.causal else \
            numpy.full(int(queries.sum()), weights.shape[-1])
        sees = numpy.arange(weights.shape[-1]) < visible[:, None]
        numpy.add.at(self.uniform, ids, (sees / visible[:, None]).sum(0))
        layers, heads = weights.shape[:2]
        for layer in range(layers):
            for head in range(heads):
                numpy.add.at(self.weights[layer, head], ids, rows[layer, head].sum(0))

    def of_head(self, layer: int, head: int) -> dict[str, Any]:
        """Returns the examples of one head.

        `confidence` and `entropy` are the indices of TENTHS texts, the middle one of each tenth, in ascending order,
        with their values; `jobs` are shares of the texts by pattern, if queries and keys are one text; `keys` are the
        ids of the most attended tokens, with `shares` and `times`.
        """
        result: dict[str, Any] = {}
        for name, by_text in (("confidence", self.confidences), ("entropy", self.entropies)):
            values = numpy.array([array[layer, head] for array in by_text])
            order = numpy.argsort(values, kind="stable")
            chosen = order[((numpy.arange(TENTHS) + 0.5) * len(values) / TENTHS).astype(int)]
            result |= {name: chosen.tolist(), f"{name}_values": [round(float(values[i]), 3) for i in chosen]}
        weights = self.weights[layer, head]
        keys = [int(i) for i in numpy.argsort(-weights, kind="stable")[:KEYS] if weights[i] > 0]
        shares, uniform = weights / max(weights.sum(), 1e-9), self.uniform / max(self.uniform.sum(), 1e-9)
        if self.kind.query_row == self.kind.key_row:
            counts = self.jobs[:, layer, head] / max(1, len(self.confidences))
            result["jobs"] = {pattern: round(float(share), 3) for pattern, share in zip(PATTERNS, counts, strict=True)
                              if share}
        return result | {"keys": keys, "shares": [round(float(shares[i]), 3) for i in keys],
                         "times": [round(float(shares[i] / uniform[i]), 2) for i in keys]}


def key_ids(trace: Trace, kind: Kind) -> ndarray:
    """Returns the token ids (M,) of a block's keys."""
    prompt = trace.prompt
    return numpy.array(prompt.target if kind.key_row != TEXT and isinstance(prompt, TargetPrompt) else prompt.ids)
