"""Scores of attention patterns (previous, same, first, induction token) equal a direct count."""

import numpy
import pytest

import models
from models.analysis.roles import PATTERNS, pattern_keys, pattern_scores

TOKENS = ["start", "a", "b", "a", "b", "c"]


def counted(pattern: str, i: int, j: int, causal: bool) -> bool:
    """Returns whether key j belongs to the pattern for query i, with a separate condition for each pattern."""
    if causal and j > i:
        return False
    return {"previous": j == i - 1, "same": i != j and TOKENS[i] == TOKENS[j], "first": j == 0 and i > 0,
            "induction": 0 < j <= i and TOKENS[j - 1] == TOKENS[i]}[pattern]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_score_is_the_mean_weight_on_the_counted_keys(pattern: str, causal: bool):
    n = len(TOKENS)
    keys = [[counted(pattern, i, j, causal) for j in range(n)] for i in range(n)]
    assert pattern_keys(pattern, TOKENS, causal).tolist() == keys
    weights = numpy.random.default_rng(0).dirichlet(numpy.ones(n), (2, 3, n)).astype(numpy.float32)
    rows = [i for i in range(n) if any(keys[i])]
    expected = numpy.mean([[[sum(weights[layer, head, i, j] for j in range(n) if keys[i][j]) for i in rows]
                            for head in range(3)] for layer in range(2)], axis=-1)
    numpy.testing.assert_allclose(pattern_scores(pattern, weights, TOKENS, causal), expected, rtol=1e-5)


def test_without_such_a_key_there_is_no_score():
    assert numpy.isnan(pattern_scores("same", numpy.ones((1, 1, 2, 2)) / 2, ["a", "b"], False)).all()


def test_the_two_positional_heads_of_the_lesson_are_found():
    lab = models.load("masked-softmax")
    trace = models.run(lab, "The little girl went to the [park] with her mom and played on the swings.")
    scores = pattern_scores("previous", trace.weights["self"], trace.tokens, causal=False)
    assert numpy.unravel_index(scores.argmax(), scores.shape) == (1, 2) and scores.max() > 0.9
