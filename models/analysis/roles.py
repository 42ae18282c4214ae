"""Roles of heads: positional, syntactic, or rare words (Voita et al. 2019, section 5).

For each query, only the key with the largest weight is counted. Special tokens are left out as queries and as keys; the
source leaves out the end of the sentence. Over many texts, a head is:

    positional   if at least 90% of its keys are at one distance (-1 is the previous token)
    syntactic    if for one dependency relation in one direction its accuracy is at least 10 percentage points above the
                 accuracy of the best fixed distance (in words) on the same word pairs
    rare         if at least half of its keys are the rarest token of the text, and this fraction is at least 10
                 percentage points above that of the best fixed distance; only texts whose rarest token is not among the
                 500 most frequent tokens are counted

The query of a word pair is the last token of the first word; the key may be any token of the second word. In causal
attention, pairs whose second word comes later are not counted, neither for the head nor for the fixed distance. The
source gives no threshold for rare-word heads; the heads that it reports are above one half (more than 50% and 66%). The
gold dependency trees are those of Universal Dependencies, English Web Treebank.

A pattern's score is the head's attention weight on its keys, averaged over all queries that have such a key:

    previous     the token before the query
    same         earlier and later occurrences of the query's token, without the query itself
    first        the first token of the sequence (an attention sink, if the score is high)
    induction    tokens that follow an earlier occurrence of the query's token (Olsson et al. 2022, arXiv 2209.11895)
"""

import functools
import gzip
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy
from numpy import ndarray

from models.kind import Kind
from models.storage.datasets import DATA, files

FOLDER = "ud_english_ewt"
SHORTEST, LONGEST = 5, 30  # smallest and largest number of words of a sentence that is used
RELATIONS = ("nsubj", "obj", "amod", "advmod")
DIRECTIONS = ("up", "down")  # from the dependent word to its syntactic head, and from the head to the dependent word
POSITIONAL, MARGIN, RARE = 0.9, 0.1, 0.5
FREQUENT = 500
FEWEST = 20  # smallest number of pairs, or of queries, for a result
FARTHEST = 40  # largest distance in tokens that is counted
Relation = tuple[str, str]  # (one of RELATIONS, one of DIRECTIONS)
PATTERNS = ("previous", "same", "first", "induction")


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    text: str  # the original text
    words: tuple[tuple[int, int], ...]  # (start, stop) of each word in the text
    heads: tuple[int, ...]  # for each word, the index of its syntactic head, on which it depends; -1 for the root
    relations: tuple[str, ...]  # for each word, its dependency up to a colon (`nsubj` of `nsubj:pass`)
    tags: tuple[str, ...] = ()  # for each word, its universal part of speech, for example `NOUN`


@functools.cache
def read_sentences(split: str, data: Path = DATA) -> tuple[Sentence, ...]:
    """Returns the sentences of a split that have 5 to 30 words and only ASCII characters."""
    (path,) = files(data, f"{FOLDER}/en_ewt-ud-{split}.conllu.gz")
    blocks = gzip.decompress(path.read_bytes()).decode().split("\n\n")
    sentences = (_sentence(block.splitlines()) for block in blocks)
    return tuple(sentence for sentence in sentences if sentence is not None)


def _sentence(lines: Sequence[str]) -> Sentence | None:
    text = next((line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")), "")
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    # rows of contractions (number 3-4) and of words that are not in the text (number 3.1) are left out
    rows = [row for row in rows if row[0].isdecimal()]
    if not (SHORTEST <= len(rows) <= LONGEST and text.isascii()):
        return None
    words, place = [], 0
    for row in rows:
        start = text.find(row[1], place)
        if start < 0:  # the parts of a contraction can be spelled differently from the whole
            return None
        place = start + len(row[1])
        words.append((start, place))
    return Sentence(text, tuple(words), tuple(int(row[6]) - 1 for row in rows),
                    tuple(row[7].split(":")[0] for row in rows), tuple(row[3] for row in rows))


def places_of(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """Returns each token's span in the text, empty for a token without letters; None if tokens and text differ."""
    spans, place = [], 0
    for token in tokens:
        letters = token.strip()
        letters = letters.removeprefix("##") if len(letters) > 2 else letters
        while place < len(text) and text[place].isspace():
            place += 1
        # letters are compared one by one, because casefold turns ß into ss
        if text[place:place + len(letters)].casefold() != letters.casefold():
            return None
        spans.append((place, place + len(letters)))
        place += len(letters)
    return spans if place == len(text.rstrip()) else None


def tokens_of(words: Sequence[tuple[int, int]], spans: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Returns, for each word, the indices of the tokens that begin in it."""
    return [[i for i, (begin, end) in enumerate(spans) if start <= begin < stop and end > begin]
            for start, stop in words]


@dataclass
class KeyCounts:
    """The most attended keys of the heads of one block, counted over texts."""

    kind: Kind  # the attention block
    distances: ndarray = field(init=False)  # (L, H, 2 · FARTHEST + 1) queries by distance (key - query)
    looks: int = 0  # number of queries
    # relation -> (L, H) number of word pairs for which the head attends to the second word
    right: dict[Relation, ndarray] = field(default_factory=dict)
    # pairs and words: relation -> number of word pairs, and these numbers by distance in words
    pairs: Counter[Relation] = field(default_factory=Counter)
    words: dict[Relation, Counter[int]] = field(default_factory=dict)
    rarest: ndarray = field(init=False)  # (L, H) number of queries whose key is the rarest token
    # rare_looks and rare_distances: number of queries in texts with a rare token, and the numbers of these queries by
    # distance to the rarest token
    rare_looks: int = 0
    rare_distances: Counter[int] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        size = (self.kind.layers, self.kind.heads)
        self.distances, self.rarest = numpy.zeros((*size, 2 * FARTHEST + 1), dtype=int), numpy.zeros(size, dtype=int)

    def add(self, weights: ndarray, queries: ndarray, keys: ndarray) -> ndarray:
        """Counts the distances from each query of one text to its most attended key; returns these keys (L, H, N)."""
        at = looked_at(weights, keys)
        n = numpy.flatnonzero(queries)
        if self.kind.causal:  # the first token of a causal text has only one key
            n = n[1:]
        distance = (at[:, :, n] - n).clip(-FARTHEST, FARTHEST) + FARTHEST
        for layer, head in numpy.ndindex(distance.shape[:2]):
            self.distances[layer, head] += numpy.bincount(distance[layer, head], minlength=2 * FARTHEST + 1)
        self.looks += len(n)
        return at

    def add_sentence(self, at: ndarray, sentence: Sentence, spans: Sequence[tuple[int, int]], text: ndarray) -> None:
        tokens = tokens_of(sentence.words, spans)
        for i, (j, name) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
            if name not in RELATIONS or j < 0:
                continue
            for direction, (start, stop) in zip(DIRECTIONS, ((i, j), (j, i)), strict=True):
                if not (tokens[start] and tokens[stop]) or self.kind.causal and stop > start:
                    continue
                relation = (name, direction)
                matches = numpy.isin(at[:, :, text[tokens[start][-1]]], text[tokens[stop]])
                self.right[relation] = self.right.get(relation, 0) + matches.astype(int)
                self.pairs[relation] += 1
                self.words.setdefault(relation, Counter())[stop - start] += 1

    def add_rare(self, at: ndarray, ids: Sequence[int], text: ndarray, rank: ndarray) -> None:
        """Counts queries whose most attended key is the rarest token."""
        ranks = rank[numpy.array(ids)[text]]
        rare = text[int(ranks.argmax())]
        if ranks.max() < FREQUENT:
            return
        n = text[text > rare] if self.kind.causal else text[text != rare]
        self.rarest += (at[:, :, n] == rare).sum(-1)
        self.rare_looks += len(n)
        self.rare_distances.update((rare - n).tolist())

    # The following methods return results over all texts.

    def positional(self) -> tuple[ndarray, ndarray]:
        """Returns the most frequent distance of each head (L, H), and its fraction of the queries (L, H)."""
        best = self.distances.argmax(-1)
        counts = numpy.take_along_axis(self.distances, best[..., None], -1)[..., 0]
        return best - FARTHEST, counts / max(1, self.looks)

    def syntactic(self) -> dict[Relation, tuple[ndarray, float]]:
        """Returns relation -> (accuracy (L, H), that of the best fixed distance), for relations with enough pairs."""
        return {relation: (self.right[relation] / count, max(self.words[relation].values()) / count)
                for relation, count in self.pairs.items() if count >= FEWEST}

    def rare(self) -> tuple[ndarray, float]:
        """Returns the fraction (L, H) of queries whose key is the rarest token, and that of the best fixed distance."""
        most = max(self.rare_distances.values(), default=0)
        return self.rarest / max(1, self.rare_looks), most / max(1, self.rare_looks)

    def roles(self) -> list[dict[str, Any]]:
        """Returns every role of every head."""
        roles: list[dict[str, Any]] = []

        def note(where: ndarray, role: str, share: ndarray, baseline: float | None) -> None:
            for layer, head in zip(*numpy.nonzero(where), strict=True):
                roles.append({"kind": self.kind.name, "layer": int(layer), "head": int(head), "role": role,
                              "share": round(float(share[layer, head]), 4),
                              **({} if baseline is None else {"baseline": round(baseline, 4)})})

        distance, share = self.positional()
        if self.looks >= FEWEST:
            for value in numpy.unique(distance[share >= POSITIONAL]):
                note((distance == value) & (share >= POSITIONAL), f"position {value:+d}", share, None)
        for (name, direction), (accuracy, baseline) in self.syntactic().items():
            note(accuracy >= baseline + MARGIN, f"{name} {direction}", accuracy, baseline)
        share, baseline = self.rare()
        if self.rare_looks >= FEWEST:
            note((share >= RARE) & (share >= baseline + MARGIN), "rare", share, baseline)
        return roles


def looked_at(weights: ndarray, keys: ndarray) -> ndarray:
    """Returns the keys (L, H, N) with the largest weight among the tokens of the text."""
    return numpy.where(keys, weights, -1).argmax(-1)


def ranks(texts: Iterable[Sequence[int]], vocabulary: int) -> ndarray:
    """Returns the frequency rank (V,) of each token id in the texts, 0 for the most frequent."""
    counts = numpy.zeros(vocabulary, dtype=int)
    for ids in texts:
        counts += numpy.bincount(ids, minlength=vocabulary)
    ranks = numpy.empty(vocabulary, dtype=int)
    ranks[numpy.argsort(-counts, kind="stable")] = numpy.arange(vocabulary)
    return ranks


def aligned(tokens: Sequence[str], is_text: ndarray, text: str) -> tuple[list[tuple[int, int]], ndarray] | None:
    """Returns each token's position in the text and its index in the token sequence; None if they cannot be located."""
    indices = numpy.flatnonzero(is_text)
    spans = places_of([tokens[i] for i in indices.tolist()], text)
    return None if spans is None else (spans, indices)


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
