"""Sentences with gold trees (Universal Dependencies, English Web Treebank): words, where they stand, and who depends on
whom by what relation.
"""

from __future__ import annotations

import functools
import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from models.storage.datasets import DATA, files

FOLDER = "ud_english_ewt"
SHORTEST, LONGEST = 5, 30  # words of a sentence that is used


@dataclass(frozen=True)
class Sentence:
    """One sentence.

    Attributes:
        text: as it was written.
        words: (start, stop) of each in the text.
        heads: of each word the word that it depends on, counted from 0; -1 of the root.
        relations: its name, without what follows a colon (`nsubj` of `nsubj:pass`).
        tags: universal parts of speech, like `NOUN`.
    """

    text: str
    words: tuple[tuple[int, int], ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    tags: tuple[str, ...] = ()


@functools.cache
def read(split: str, data: Path = DATA) -> tuple[Sentence, ...]:
    """The sentences of `train`, `dev` or `test` that have 5 to 30 words, of ASCII characters alone.

    Raises:
        FileNotFoundError: the data set is not there.
    """
    (path,) = files(data, f"{FOLDER}/en_ewt-ud-{split}.conllu.gz")
    blocks = gzip.decompress(path.read_bytes()).decode().split("\n\n")
    found = (_sentence(block.splitlines()) for block in blocks)
    return tuple(sentence for sentence in found if sentence is not None)


def _sentence(lines: Sequence[str]) -> Sentence | None:
    text = next((line.removeprefix("# text = ") for line in lines if line.startswith("# text = ")), "")
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    rows = [row for row in rows if row[0].isdecimal()]  # neither contractions (3-4) nor words that are not there (3.1)
    if not (SHORTEST <= len(rows) <= LONGEST and text.isascii()):
        return None
    words, place = [], 0
    for row in rows:
        start = text.find(row[1], place)
        if start < 0:  # a contraction whose parts are written otherwise than the whole
            return None
        place = start + len(row[1])
        words.append((start, place))
    return Sentence(text, tuple(words), tuple(int(row[6]) - 1 for row in rows),
                    tuple(row[7].split(":")[0] for row in rows), tuple(row[3] for row in rows))


def places_of(tokens: Sequence[str], text: str) -> list[tuple[int, int]] | None:
    """(start, stop) in the text of each token, by its letters; of one without any, an empty stretch. None if the tokens
    are not the text's, as where a tokenizer changes letters.
    """
    found, place = [], 0
    for token in tokens:
        letters = token.strip()
        letters = letters.removeprefix("##") if len(letters) > 2 else letters
        while place < len(text) and text[place].isspace():
            place += 1
        if text[place:place + len(letters)].casefold() != letters.casefold():  # each alone: ß becomes ss
            return None
        found.append((place, place + len(letters)))
        place += len(letters)
    return found if place == len(text.rstrip()) else None


def tokens_of(words: Sequence[tuple[int, int]], places: Sequence[tuple[int, int]]) -> list[list[int]]:
    """Of each word the tokens that it is made of: those that begin in it."""
    return [[i for i, (begin, end) in enumerate(places) if start <= begin < stop and end > begin]
            for start, stop in words]
