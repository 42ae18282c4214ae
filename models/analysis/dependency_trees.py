"""Sentences with gold dependency trees (Universal Dependencies, English Web Treebank), with word positions."""

import functools
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.storage.datasets import DATA, files

FOLDER = "ud_english_ewt"
SHORTEST, LONGEST = 5, 30  # smallest and largest number of words of a sentence that is used


@dataclass(frozen=True)
class Sentence:
    """One sentence."""

    text: str  # the original text
    words: tuple[tuple[int, int], ...]  # (start, stop) of each word in the text
    # for each word, the index (from 0) of its syntactic head, the word on which it depends; -1 for the root
    heads: tuple[int, ...]
    # for each word, the name of its dependency without the part after a colon (`nsubj` of `nsubj:pass`)
    relations: tuple[str, ...]
    tags: tuple[str, ...] = ()  # for each word, its universal part of speech, for example `NOUN`


@functools.cache
def read(split: str, data: Path = DATA) -> tuple[Sentence, ...]:
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
    """Returns the span (start, stop) of each token in the text, or None if the tokens do not match the text.

    A token without letters has an empty span.
    """
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
