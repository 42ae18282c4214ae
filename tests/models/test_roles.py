"""Roles and patterns of heads on constructed maps, sentences with trees, positions of tokens, rank correlations."""

import numpy
import pytest

import models
from models.analysis import roles
from models.analysis.head_measures import chance_of_rank, spearman
from models.analysis.roles import PATTERNS
from models.kind import Kind, Traits

SOFTMAX = Traits("Softmax")
TEXT = "Old cats quickly chase mice"
WORDS = ((0, 3), (4, 8), (9, 16), (17, 22), (23, 27))
SENTENCE = roles.Sentence(TEXT, WORDS, (1, 3, 3, -1, 3), ("amod", "nsubj", "advmod", "root", "obj"))
TOKENS = ("BOS", "Old", " cat", "s", " quickly", " chase", " mice")
IS_TEXT = numpy.array([False, True, True, True, True, True, True])


def pointing(to: list[int], n: int = 7) -> numpy.ndarray:
    """Returns weights (1, 1, N, N) whose row i is largest at to[i]; BOS, which roles ignore, has more."""
    weights = numpy.full((1, 1, n, n), 0.01)
    for i, key in enumerate(to):
        weights[0, 0, i, key] = 0.3
        weights[0, 0, i, 0] = 0.6
    return weights


def looks_of(to: list[int], causal: bool = False, times: int = 30) -> roles.KeyCounts:
    looks = roles.KeyCounts(Kind("self", 1, 1, SOFTMAX, causal=causal))
    places, indices = roles.aligned(TOKENS, IS_TEXT, TEXT)
    for _ in range(times):
        at = looks.add(pointing(to), IS_TEXT, IS_TEXT)
        looks.add_sentence(at, SENTENCE, places, indices)
    return looks


def test_the_most_attended_key_is_a_token_of_the_text():
    assert roles.looked_at(pointing([1, 2, 3, 4, 5, 6, 1]), IS_TEXT)[0, 0].tolist() == [1, 2, 3, 4, 5, 6, 1]


def test_positional():
    """Five of six tokens are below the limit of 90%; under a causal mask the first token does not count."""
    back = [0, 1, 1, 2, 3, 4, 5]
    distance, share = looks_of(back).positional()
    assert distance[0, 0] == -1 and share[0, 0] == pytest.approx(5 / 6)
    assert not [role for role in looks_of(back).roles() if role["role"].startswith("position")]
    causal = looks_of(back, causal=True)
    assert causal.positional()[1][0, 0] == 1
    assert {role["role"] for role in causal.roles()} == {"position -1"}


def test_syntactic():
    """From every word to its syntactic head: all four relations upwards, none downwards."""
    # syntactic heads: Old -> cat(s); s -> chase (a word attends from its last token); quickly, mice -> chase
    up = [0, 2, 5, 5, 5, 5, 5]
    looks = looks_of(up)
    found = looks.syntactic()
    for name in ("amod", "nsubj", "advmod", "obj"):
        assert found[name, "up"][0][0, 0] == 1
        assert found[name, "down"][0][0, 0] == 0
    assert found["nsubj", "up"][1] == 1  # the verb is always two words later, so a fixed distance is as accurate
    assert not [role for role in looks.roles() if role["role"] == "nsubj up"]


def test_syntactic_needs_ten_points_more_than_the_best_distance():
    """Which is right in 60%: the syntactic head is at +2 in six of ten pairs and at +1 in four."""
    other = roles.Sentence("Cats chase mice", ((0, 4), (5, 10), (11, 15)), (1, -1, 1), ("nsubj", "root", "obj"))
    tokens, text = ("BOS", "Cats", " chase", " mice"), numpy.array([False, True, True, True])
    for rightly, expected in ((10, True), (7, True), (6, False)):
        looks = roles.KeyCounts(Kind("self", 1, 1, SOFTMAX))
        for number in range(10 * 3):
            right = number % 10 < rightly
            if number % 10 < 6:
                places, indices = roles.aligned(TOKENS, IS_TEXT, TEXT)
                at = looks.add(pointing([0, 2, 5, 5 if right else 1, 5, 5, 6]), IS_TEXT, IS_TEXT)
                looks.add_sentence(at, SENTENCE, places, indices)
            else:
                places, indices = roles.aligned(tokens, text, other.text)
                at = looks.add(pointing([0, 2 if right else 1, 2, 3], 4), text, text)
                looks.add_sentence(at, other, places, indices)
        accuracy, baseline = looks.syntactic()["nsubj", "up"]
        assert (accuracy[0, 0], baseline) == (pytest.approx(rightly / 10), pytest.approx(0.6))
        assert any(role["role"] == "nsubj up" for role in looks.roles()) == expected


def test_a_causal_head_is_tested_only_on_visible_words():
    looks = looks_of([0, 1, 1, 2, 2, 3, 5], causal=True)
    assert ("nsubj", "up") not in looks.pairs and looks.pairs["nsubj", "down"] == 30
    assert looks.syntactic()["nsubj", "down"][0][0, 0] == 1  # from chase to the second token of cats


def test_rare():
    """The rarest token, which has the highest id, is at another position in each text."""
    rank, kind = numpy.arange(1000), Kind("self", 1, 2, SOFTMAX)
    looks = roles.KeyCounts(kind)
    for shift in range(20):
        rare = 1 + shift % 6
        ids = [900 if i == rare else 10 + i for i in range(7)]
        to_it, back = [rare] * 7, [max(0, i - 1) for i in range(7)]
        at = roles.looked_at(numpy.concatenate([pointing(to_it), pointing(back)], 1), IS_TEXT)
        looks.add_rare(at, ids, numpy.flatnonzero(IS_TEXT), rank)
    share, baseline = looks.rare()
    assert share[0, 0] == 1 and share[0, 1] < 0.3 and baseline < 0.3
    assert [role["head"] for role in looks.roles() if role["role"] == "rare"] == [0]
    before = looks.rare_looks
    looks.add_rare(at, list(range(7)), numpy.flatnonzero(IS_TEXT), rank)  # texts without a rare token are not counted
    assert looks.rare_looks == before


def test_tokens_in_their_text():
    places = roles.places_of(TOKENS[1:], TEXT)
    assert places == [(0, 3), (4, 7), (7, 8), (9, 16), (17, 22), (23, 27)]
    assert roles.tokens_of(WORDS, places) == [[0], [1, 2], [3], [4], [5]]
    assert roles.places_of(["old", "cat", "##s", "quickly", "chase", "mice"], TEXT) == places
    assert roles.places_of(["Stra", "ße", "is", "İ"], "Straße is İ") == [(0, 4), (4, 6), (7, 9), (10, 11)]
    assert roles.places_of(["Old", "dogs"], TEXT) is None and roles.places_of(["Old"], TEXT) is None


def test_the_treebank():
    """Words of the treebank are at their stated positions in the sentence, and each tree has one root."""
    found = roles.read_sentences("dev")
    assert len(found) > 1000
    for sentence in found[:200]:
        assert len(sentence.words) == len(sentence.heads) == len(sentence.relations)
        assert sentence.heads.count(-1) == 1 == sentence.relations.count("root")
        assert all(sentence.text[start:stop].strip() for start, stop in sentence.words)
        assert list(sentence.words) == sorted(sentence.words)


def test_ranks_and_their_correlation():
    """The rank correlation equals 1 - 6 · sum d² / (n (n² - 1)) without ties; equal values share their ranks."""
    one = numpy.array([10.0, 20, 30, 40, 50])
    assert spearman(one, one**3) == pytest.approx(1) and spearman(one, -one) == pytest.approx(-1)
    assert spearman(one, numpy.array([1.0, 3, 2, 5, 4])) == pytest.approx(1 - 6 * 4 / (5 * 24))
    assert spearman(numpy.array([1.0, 1, 2]), numpy.array([5.0, 5, 9])) == pytest.approx(1)
    assert numpy.isnan(spearman(one, numpy.ones(5)))
    assert roles.ranks([[3, 3, 1], [3, 1, 0]], 5).tolist() == [2, 1, 3, 0, 4]


def test_the_chance_of_a_rank():
    """Exact for three values (one of six permutations), near Student's t for many, none for equal values."""
    three = numpy.arange(3.0)
    assert chance_of_rank(three, three) == pytest.approx(1 / 6) and chance_of_rank(three, -three) == 1
    random = numpy.random.default_rng(4)
    one, other = random.normal(size=(2, 30))
    r = spearman(one, other)
    t = r * (28 / (1 - r**2)) ** 0.5
    drawn = random.standard_t(28, 100_000)
    assert chance_of_rank(one, other) == pytest.approx((drawn > t).mean(), abs=0.03)
    assert numpy.isnan(chance_of_rank(three, numpy.ones(3)))


REPEATED = ["start", "a", "b", "a", "b", "c"]


def counted(pattern: str, i: int, j: int, causal: bool) -> bool:
    """Returns whether key j belongs to the pattern for query i, with a separate condition for each pattern."""
    if causal and j > i:
        return False
    return {"previous": j == i - 1, "same": i != j and REPEATED[i] == REPEATED[j], "first": j == 0 and i > 0,
            "induction": 0 < j <= i and REPEATED[j - 1] == REPEATED[i]}[pattern]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_score_is_the_mean_weight_on_the_counted_keys(pattern: str, causal: bool):
    n = len(REPEATED)
    keys = [[counted(pattern, i, j, causal) for j in range(n)] for i in range(n)]
    assert roles.pattern_keys(pattern, REPEATED, causal).tolist() == keys
    weights = numpy.random.default_rng(0).dirichlet(numpy.ones(n), (2, 3, n)).astype(numpy.float32)
    rows = [i for i in range(n) if any(keys[i])]
    expected = numpy.mean([[[sum(weights[layer, head, i, j] for j in range(n) if keys[i][j]) for i in rows]
                            for head in range(3)] for layer in range(2)], axis=-1)
    numpy.testing.assert_allclose(roles.pattern_scores(pattern, weights, REPEATED, causal), expected, rtol=1e-5)


def test_without_such_a_key_there_is_no_score():
    assert numpy.isnan(roles.pattern_scores("same", numpy.ones((1, 1, 2, 2)) / 2, ["a", "b"], False)).all()


def test_the_two_positional_heads_of_the_lesson_are_found():
    lab = models.load("masked-softmax")
    trace = models.run(lab, "The little girl went to the [park] with her mom and played on the swings.")
    scores = roles.pattern_scores("previous", trace.weights["self"], trace.tokens, causal=False)
    assert numpy.unravel_index(scores.argmax(), scores.shape) == (1, 2) and scores.max() > 0.9
