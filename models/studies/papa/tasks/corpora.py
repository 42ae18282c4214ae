"""The tasks: texts with their words, and a label for each word or for the whole text.

    pos             parts of speech, 17 of them (Universal Dependencies, ud_english_ewt), accuracy
    ner-twitter     persons, places, organisations in tweets (broad_twitter_corpus; h is held out), F1 of spans
    ner-emerging    six kinds of names that are new (wnut17), F1 of spans
    slots           what an order is about, 39 slots (snips), F1 of spans
    intent-snips    what is ordered, 7 intents (snips), accuracy
    intent-banking  what a bank's customer wants, 77 intents (banking77), accuracy
    acceptability   is this sentence grammatical (blimp), Matthews correlation; a fifth of the paradigms is held out

All models read the same texts: ASCII, without square brackets, and as long as the grid at most. Which of a split are
taken is drawn once, by SEED.
"""

from __future__ import annotations

import csv
import functools
import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from models.analysis import dependency_trees
from models.generate.sampling import generator
from models.messages import N_
from models.storage.datasets import DATA, files

SEED = 2211
TRAIN, TEST = 600, 400  # texts of a task
MORE = {"intent-banking": 1200, "acceptability": 1200}  # of training where there are many classes, or little to see
MOST_WORDS = 40  # of a text; most tokenizers then stay within the grid
PAIRS = 40  # of each of blimp's paradigms
HELD_OUT = 5  # of blimp's paradigms every fifth is never trained on
OUTSIDE = "O"


@dataclass(frozen=True)
class Example:
    """One text.

    Attributes:
        words: (start, stop) of each in the text.
        labels: one a word, or a single one of the whole text.
        part: what it is counted under beside the whole, or nothing.
    """

    text: str
    words: tuple[tuple[int, int], ...]
    labels: tuple[str, ...]
    part: str = ""


@dataclass(frozen=True)
class Corpus:
    """A task.

    Attributes:
        metric: `accuracy`, `f1` or `matthews`.
        by_word: True if every word has a label, False if the text has one.
        read: the folder of the data sets -> all texts of training and of the test.
        texts: which are the same for two tasks of one name.
    """

    key: str
    title: str
    metric: str
    by_word: bool
    read: Callable[[Path], tuple[list[Example], list[Example]]]
    texts: str


@dataclass(frozen=True, eq=False)
class Data:
    """What a task trains and tests on."""

    train: list[Example]
    test: list[Example]

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """All that training knows, in order."""
        return tuple(sorted({label for example in self.train for label in example.labels}))


@functools.cache
def data_of(key: str, data: Path = DATA, share: float = 1.0) -> Data:
    """The drawn texts of a task.

    Args:
        share: of the usual number of texts; less for a quick look.

    Raises:
        FileNotFoundError: its data are not there.
    """
    train, test = map(_readable, CORPORA[key].read(data))
    return Data(_drawn(train, round(share * MORE.get(key, TRAIN)), 0), _drawn(test, round(share * TEST), 1))


def _readable(examples: Iterable[Example]) -> list[Example]:
    return [its for its in examples if its.text.isascii() and "[" not in its.text and its.text.isprintable()
            and 0 < len(its.words) <= MOST_WORDS and all(start < stop for start, stop in its.words)]


def _drawn(examples: list[Example], count: int, stream: int) -> list[Example]:
    order = torch.randperm(len(examples), generator=generator(SEED, stream))[:count].tolist()
    return [examples[i] for i in order]


def joined(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Words as one text, and where they stand: `a bc` is (0, 1), (2, 4)."""
    places, place = [], 0
    for word in words:
        places.append((place, place + len(word)))
        place += len(word) + 1
    return " ".join(words), tuple(places)


def _pos(data: Path) -> tuple[list[Example], list[Example]]:
    train, test = ([Example(its.text, its.words, its.tags) for its in dependency_trees.read(split, data)]
                   for split in ("train", "test"))
    return train, test


def _tagged(paths: Iterable[Path]) -> list[Example]:
    """Files of `word TAB tag`, a blank line between texts."""
    found = []
    for path in paths:
        rows: list[list[str]] = []
        for line in [*gzip.decompress(path.read_bytes()).decode().splitlines(), ""]:
            if line.strip():
                rows.append(line.split("\t"))
            elif rows:
                text, places = joined([row[0].strip() for row in rows])
                found.append(Example(text, places, tuple(row[-1].strip() for row in rows)))
                rows = []
    return found


def _twitter(data: Path) -> tuple[list[Example], list[Example]]:
    held = files(data, "broad_twitter_corpus/h.conll.gz")
    return _tagged(path for path in files(data, "broad_twitter_corpus/*.conll.gz") if path not in held), _tagged(held)


def _emerging(data: Path) -> tuple[list[Example], list[Example]]:
    return (_tagged(files(data, "wnut17/wnut17train.conll.gz")),
            _tagged(files(data, "wnut17/emerging.test.annotated.gz")))


def _orders(data: Path, part: str) -> Iterable[tuple[str, str, tuple[tuple[int, int], ...], tuple[str, ...]]]:
    """Snips: intent, text, words, and slots of the words."""
    for path in files(data, f"snips/{part}_*.json.gz"):
        (intent, rows), = json.loads(gzip.decompress(path.read_bytes())).items()
        for row in rows:
            words, slots = [], []
            for piece in row["data"]:
                its = piece["text"].split()
                name = piece.get("entity")
                words += its
                slots += [f"{'I' if i else 'B'}-{name}" if name else OUTSIDE for i in range(len(its))]
            text, places = joined(words)
            yield intent, text, places, tuple(slots)


def _slots(data: Path) -> tuple[list[Example], list[Example]]:
    train, test = ([Example(text, places, slots) for _, text, places, slots in _orders(data, part)]
                   for part in ("train", "validate"))
    return train, test


def _intents(data: Path) -> tuple[list[Example], list[Example]]:
    train, test = ([Example(text, places, (intent,)) for intent, text, places, _ in _orders(data, part)]
                   for part in ("train", "validate"))
    return train, test


def _banking(data: Path) -> tuple[list[Example], list[Example]]:
    found = []
    for part in ("train", "test"):
        path, = files(data, f"banking77/{part}.csv.gz")
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            rows = [(*joined(row["text"].split()), row["category"]) for row in csv.DictReader(lines)]
        found.append([Example(text, places, (category,)) for text, places, category in rows])
    return found[0], found[1]


def _acceptability(data: Path) -> tuple[list[Example], list[Example]]:
    """Both sentences of a pair are in the same split; the test has new pairs of paradigms that are trained on, and
    pairs of those that are not, as many."""
    path, = files(data, "blimp/blimp.jsonl.gz")
    train: list[Example] = []
    tests: dict[str, list[Example]] = {SEEN: [], UNSEEN: []}
    numbers: dict[str, int] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for pair in map(json.loads, lines):
            if int(pair["pairID"]) >= PAIRS:
                continue
            held = numbers.setdefault(pair["UID"], len(numbers)) % HELD_OUT == HELD_OUT - 1
            fresh = int(pair["pairID"]) % 4 == 0
            part = UNSEEN if held else SEEN if fresh else ""
            for name, label in (("sentence_good", GOOD), ("sentence_bad", BAD)):
                text, places = joined(pair[name].split())
                (tests[part] if part else train).append(Example(text, places, (label,), part))
    return train, [example for part in tests.values()
                   for example in _drawn(part, min(map(len, tests.values())), 2)]


GOOD, BAD = "grammatical", "not grammatical"
SEEN, UNSEEN = "paradigms that were trained on", "paradigms that were held out"

CORPORA = {its.key: its for its in (
    Corpus("pos", N_("Parts of speech"), "accuracy", True, _pos, "treebank"),
    Corpus("ner-twitter", N_("Names in tweets"), "f1", True, _twitter, "tweets"),
    Corpus("ner-emerging", N_("New names"), "f1", True, _emerging, "emerging"),
    Corpus("slots", N_("Slots of an order"), "f1", True, _slots, "orders"),
    Corpus("intent-snips", N_("Intent of an order"), "accuracy", False, _intents, "orders"),
    Corpus("intent-banking", N_("What a customer wants"), "accuracy", False, _banking, "banking"),
    Corpus("acceptability", N_("Is it grammatical"), "matthews", False, _acceptability, "sentences"))}
