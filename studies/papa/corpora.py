"""The tasks: texts with words, one label per word or per text, and the score of predicted labels.

    pos             17 parts of speech (Universal Dependencies, ud_english_ewt), accuracy
    ner-twitter     persons, places, organisations in tweets (broad_twitter_corpus; part h is the test), F1 of spans
    ner-emerging    six types of rare names (wnut17), F1 of spans
    slots           39 slots of voice commands (snips), F1 of spans
    intent-snips    7 intents of voice commands (snips), accuracy
    intent-banking  77 intents of a bank's customers (banking77), accuracy
    acceptability   grammatical or not (blimp), Matthews correlation; a fifth of the paradigms is only in the test
    entailment      3 relations of two captions (snli_small), accuracy; half of the test are captions revised by people
    paraphrase      whether two sentences have the same meaning (tatoeba_paraphrase), accuracy

All models read the same texts: ASCII, without square brackets, at most as long as the grid. The texts of each split are
sampled with a fixed seed. ` ; ` joins two sentences, because all tokenizers read it, and have no common separator.
"""

import csv
import functools
import gzip
import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import torch

from models import extras
from models.analysis import roles
from models.generate.decoding import generator
from models.messages import N_
from models.storage.datasets import DATA, files

SEED = 2211
TRAIN, TEST = 600, 400  # numbers of training and test texts per task
# numbers of training texts of tasks with many labels or weak signals
MORE = {"intent-banking": 1200, "acceptability": 1200, "entailment": 2400, "paraphrase": 2400}
MOST_WORDS = 40  # largest number of words per text, so that most tokenizers stay within the grid
PAIRS = 40  # number of pairs per paradigm of blimp
HELD_OUT = 5  # one paradigm of blimp out of this many is only in the test
OUTSIDE = "O"  # the label of a word outside all spans
# means and statements are about these tasks; later tasks are only rows of tables (studies/claims/rules.md)
JUDGED = ("pos", "ner-twitter", "ner-emerging", "slots", "intent-snips", "intent-banking", "acceptability")
GOOD, BAD = "grammatical", "not grammatical"
SEEN, UNSEEN = "paradigms that were trained on", "paradigms that were held out"
CAPTIONS, REVISED = "captions as written", "captions revised so that the label changes"
MEANINGS = {"0": "different meanings", "1": "same meaning"}
ACCURACY, F1, MATTHEWS = "accuracy", "f1", "matthews"


@dataclass(frozen=True)
class Example:
    """One labelled text."""

    text: str  # the text that the model reads
    words: tuple[tuple[int, int], ...]  # (start, stop) character offsets of each word
    labels: tuple[str, ...]  # one label per word, or a single label for the text
    part: str = ""  # name of the part of the test texts that has a separate score; empty if there is none


@dataclass(frozen=True)
class Corpus:
    """A task."""

    key: str  # a key of CORPORA
    title: str  # title for readers
    metric: str  # `accuracy`, `f1` or `matthews`
    by_word: bool  # True if every word has a label, False if each text has one
    # the folder of the data sets -> all training texts and all test texts
    read: Callable[[Path], tuple[list[Example], list[Example]]]
    texts: str  # name of the texts; tasks on the same texts have the same name


@dataclass(frozen=True, eq=False)
class Data:
    """The training and test texts of a task."""

    train: list[Example]
    test: list[Example]

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training texts, sorted."""
        return tuple(sorted({label for example in self.train for label in example.labels}))


@functools.cache
def data_of(key: str, data: Path = DATA, share: float = 1.0) -> Data:
    """Returns the sampled texts of a task."""
    train, test = map(_readable, CORPORA[key].read(data))
    return Data(_drawn(train, round(share * MORE.get(key, TRAIN)), 0), _drawn(test, round(share * TEST), 1))


def _readable(examples: Iterable[Example]) -> list[Example]:
    return [example for example in examples
            if example.text.isascii() and "[" not in example.text and example.text.isprintable()
            and 0 < len(example.words) <= MOST_WORDS and all(start < stop for start, stop in example.words)]


def _drawn(examples: list[Example], count: int, stream: int) -> list[Example]:
    order = torch.randperm(len(examples), generator=generator(SEED, stream))[:count].tolist()
    return [examples[i] for i in order]


def joined(words: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Returns the words joined by spaces, and the character offsets of each: `a bc` has (0, 1) and (2, 4)."""
    offsets, start = [], 0
    for word in words:
        offsets.append((start, start + len(word)))
        start += len(word) + 1
    return " ".join(words), tuple(offsets)


def _pos(data: Path) -> tuple[list[Example], list[Example]]:
    train, test = ([Example(sentence.text, sentence.words, sentence.tags)
                    for sentence in roles.read_sentences(split, data)] for split in ("train", "test"))
    return train, test


def _tagged(paths: Iterable[Path]) -> list[Example]:
    """Reads files with lines `word TAB tag` and a blank line between texts."""
    examples = []
    for path in paths:
        rows: list[list[str]] = []
        for line in [*gzip.decompress(path.read_bytes()).decode().splitlines(), ""]:
            if line.strip():
                rows.append(line.split("\t"))
            elif rows:
                text, offsets = joined([row[0].strip() for row in rows])
                examples.append(Example(text, offsets, tuple(row[-1].strip() for row in rows)))
                rows = []
    return examples


def _twitter(data: Path) -> tuple[list[Example], list[Example]]:
    test = files(data, "broad_twitter_corpus/h.conll.gz")
    return _tagged(path for path in files(data, "broad_twitter_corpus/*.conll.gz") if path not in test), _tagged(test)


def _commands(data: Path, part: str) -> Iterable[tuple[str, str, tuple[tuple[int, int], ...], tuple[str, ...]]]:
    """Yields the voice commands of snips: intent, text, offsets of the words, slots of the words."""
    for path in files(data, f"snips/{part}_*.json.gz"):
        (intent, rows), = json.loads(gzip.decompress(path.read_bytes())).items()
        for row in rows:
            words, slots = [], []
            for piece in row["data"]:
                chunk = piece["text"].split()
                name = piece.get("entity")
                words += chunk
                slots += [f"{'I' if i else 'B'}-{name}" if name else OUTSIDE for i in range(len(chunk))]
            text, offsets = joined(words)
            yield intent, text, offsets, tuple(slots)


def _orders(by_word: bool, data: Path) -> tuple[list[Example], list[Example]]:
    train, test = ([Example(text, offsets, slots if by_word else (intent,))
                    for intent, text, offsets, slots in _commands(data, part)] for part in ("train", "validate"))
    return train, test


def _banking(data: Path) -> tuple[list[Example], list[Example]]:
    splits = []
    for part in ("train", "test"):
        path, = files(data, f"banking77/{part}.csv.gz")
        with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
            splits.append([Example(*joined(row["text"].split()), (row["category"],)) for row in csv.DictReader(lines)])
    return splits[0], splits[1]


def _acceptability(data: Path) -> tuple[list[Example], list[Example]]:
    """Returns the sentences of blimp as (training, test); both sentences of a pair are in the same split."""
    path, = files(data, "blimp/blimp.jsonl.gz")
    train: list[Example] = []
    tests: dict[str, list[Example]] = {SEEN: [], UNSEEN: []}
    numbers: dict[str, int] = {}
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for pair in map(json.loads, lines):
            if int(pair["pairID"]) >= PAIRS:
                continue
            is_held_out = numbers.setdefault(pair["UID"], len(numbers)) % HELD_OUT == HELD_OUT - 1
            is_test = int(pair["pairID"]) % 4 == 0
            part = UNSEEN if is_held_out else SEEN if is_test else ""
            for name, label in (("sentence_good", GOOD), ("sentence_bad", BAD)):
                text, offsets = joined(pair[name].split())
                (tests[part] if part else train).append(Example(text, offsets, (label,), part))
    return train, _balanced(tests.values())


def _balanced(parts: Collection[list[Example]]) -> list[Example]:
    """Returns the same number of test texts of each part."""
    return [example for part in parts for example in _drawn(part, min(map(len, parts)), 2)]


def _pairs(data: Path, name: str, part: str = "") -> list[Example]:
    """Reads a file with a header and lines `label TAB sentence TAB sentence`."""
    path, = files(data, f"{name}.tsv.gz")
    rows = [line.split("\t") for line in gzip.decompress(path.read_bytes()).decode().splitlines()[1:]]
    return [Example(*joined(f"{row[1]} ; {row[2]}".split()), (MEANINGS.get(row[0], row[0]),), part) for row in rows]


def _entailment(data: Path) -> tuple[list[Example], list[Example]]:
    return _pairs(data, "snli_small/train"), _balanced(
        [_pairs(data, "snli_small/test", CAPTIONS), _pairs(data, "snli_small/test_counterfactual", REVISED)])


CORPORA = {corpus.key: corpus for corpus in (
    Corpus("pos", N_("Parts of speech"), "accuracy", True, _pos, "treebank"),
    Corpus("ner-twitter", N_("Names in tweets"), "f1", True, _twitter, "tweets"),
    Corpus("ner-emerging", N_("New names"), "f1", True, lambda data: (
        _tagged(files(data, "wnut17/wnut17train.conll.gz")), _tagged(files(data, "wnut17/emerging.test.annotated.gz"))),
           "emerging"),
    Corpus("slots", N_("Slots of a command"), "f1", True, functools.partial(_orders, True), "orders"),
    Corpus("intent-snips", N_("Intent of a command"), "accuracy", False, functools.partial(_orders, False), "orders"),
    Corpus("intent-banking", N_("Intent of a bank customer"), "accuracy", False, _banking, "banking"),
    Corpus("acceptability", N_("Grammatical or not"), "matthews", False, _acceptability, "sentences"),
    Corpus("entailment", N_("Entailment"), "accuracy", False, _entailment, "captions"),
    Corpus("paraphrase", N_("Paraphrases"), "accuracy", False, lambda data: (
        _pairs(data, "tatoeba_paraphrase/train"), _pairs(data, "tatoeba_paraphrase/test")), "pairs"))}


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
