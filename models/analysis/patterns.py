"""Four attention patterns of a head on one text: previous token, same token, first token, induction.

A score is the head's attention weight on the keys of the pattern, averaged over all queries that have such a key:

    previous     the token before the query
    same         earlier and later occurrences of the query's token, without the query itself
    first        the first token of the sequence (an attention sink, if the score is high)
    induction    tokens that follow an earlier occurrence of the query's token (Olsson et al. 2022, arXiv 2209.11895)
"""

from collections.abc import Sequence

import numpy
from numpy import ndarray

PATTERNS = ("previous", "same", "first", "induction")


def pattern_keys(pattern: str, tokens: Sequence[str], causal: bool) -> ndarray:
    """Returns the keys of each query that belong to one of PATTERNS; tokens are the same if their strings are equal."""
    n = len(tokens)
    query, key = numpy.indices((n, n))
    ids = numpy.unique(list(tokens), return_inverse=True)[1].reshape(-1)
    if pattern == "previous":
        counted = key == query - 1
    elif pattern == "same":
        counted = (ids[query] == ids[key]) & (key != query)
    elif pattern == "first":
        counted = (key == 0) & (query > 0)
    else:
        before = numpy.where(key > 0, ids[numpy.maximum(key - 1, 0)], -1)
        counted = (before == ids[query]) & (key > 0) & (key <= query)
    return counted & (key <= query) if causal else counted


def pattern_scores(pattern: str, weights: ndarray, tokens: Sequence[str], causal: bool) -> ndarray:
    """Returns the score of every head."""
    counted = pattern_keys(pattern, tokens, causal)
    asks = counted.any(-1)
    if not asks.any():
        return numpy.full(weights.shape[:2], numpy.nan)
    return (weights * counted).sum(-1)[..., asks].mean(-1)
