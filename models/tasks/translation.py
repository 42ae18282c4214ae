"""Translation: English to German, on the sentence pairs of Tatoeba, with one byte-level BPE for both languages.

A pair is dropped if one side is empty, if it is a duplicate, or if one side has more tokens than the trained length.

The split is by English sentence. Sentences that differ only in case and punctuation stay together. In the order of
their SHA-256, they are added to test until it has 2,000 sentences, then to validation until it has 1,000, then to
training. A German sentence can be in several splits, as a translation of different English sentences.
"""

import functools
import gzip
import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer
from typing_extensions import override

from models.messages import N_, message
from models.nets.seq2seq import Seq2Seq
from models.storage.datasets import DATA, files
from models.tasks.pairs import BEAM, PairCorpus, PairMetric, PairReader, clean, train_bpe
from models.tasks.text_scores import bleu

TOKENIZER = Path(__file__).with_name("translation_tokenizer.json")
SOURCE = "tatoeba_deu_eng/deu.txt.gz"
LENGTH = 64  # largest number of tokens of either side, `start` and `end` included
LENGTHS = (12, 18, 28, LENGTH)
TEST, VALIDATION = 2000, 1000  # numbers of English sentences


class TranslationReader(PairReader):
    """Reads English sentences; the decoder writes their German translation."""

    name = "translation"
    title = N_("English to German")
    line = N_("Translates an English sentence.")
    request = N_("Type an English sentence, like The cat is sleeping.")
    tokenizer_file = TOKENIZER
    limit = trained_length = target_limit = LENGTH
    examples = (
        (N_("Word order"), "Yesterday I wanted to buy a new car, but I had no money."),
        (N_("Not or no"), "I don't have a dog, and I don't like cats."),
        (N_("A separable verb"), "The train leaves at six, so I get up at five."),
        (N_("They, she or you"), "Do you know where she is? They said that you know her."),
        (N_("To the end of the clause"), "I know that he has never read the book that I gave him."),
        (N_("Two meanings"), "He sat on the bank of the river and counted the money from the bank."),
    )
    data = (
        {"name": N_("Tatoeba, English-German pairs selected by manythings.org (2018-05-13): 2,000 English sentences "
                    "for test, 1,000 for validation, others for training"),
         "licence": "CC BY 2.0",
         "attribution": "www.manythings.org/anki and tatoeba.org (sentences by the Tatoeba contributors)"},
    )


class TranslationCorpus(PairCorpus):
    """English and German sentences of Tatoeba."""

    shapes = tuple((length, length) for length in LENGTHS)

    @override
    def fit(self, ids: Sequence[int]) -> list[int] | None:
        return list(ids) if len(ids) <= self.trained_length - 2 else None

    @override
    def pairs(self, split: str) -> list[tuple[str, str]]:
        return read_pairs(self._data)[split]


class TranslationMetric(PairMetric):
    """BLEU of translations."""

    def evaluate(self, model: Seq2Seq) -> dict[str, Any]:
        """Returns BLEU over all test sentences with all translations as references, by beam search and greedily."""
        texts, references = self.corpus.test()
        result: dict[str, Any] = {}
        for name, beam in (("bleu", BEAM), ("bleu_greedy", 1)):
            score, signature = bleu(self.translate(model, texts, beam), references)
            result |= {name: round(score, 2), "signature": signature}
        return {**{key: value for key, value in result.items() if key != "signature"}, "beam": BEAM,
                "sentences": len(texts), "references": sum(map(len, references)), "signature": result["signature"]}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        return message("BLEU {bleu} with {beam} beams, {greedy} with one", bleu=metric["bleu"], beam=metric["beam"],
                       greedy=metric["bleu_greedy"])



def split_key(text: str) -> str:
    """Returns the letters and digits of a sentence in lower case; sentences with the same key stay in one split."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@functools.cache
def read_pairs(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Returns split -> cleaned pairs, English first, in the order of the file."""
    path, = files(data, SOURCE)
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    pairs = list(dict.fromkeys((clean(a), clean(b)) for a, b in (line.split("\t") for line in lines)))
    pairs = [pair for pair in pairs if all(pair)]
    groups: dict[str, set[str]] = {}
    for text, _ in pairs:
        groups.setdefault(split_key(text), set()).add(text)
    split_of, room = {}, {"test": TEST, "validation": VALIDATION}
    for group in sorted(groups, key=lambda key: hashlib.sha256(key.encode()).digest()):
        split = next((name for name, left in room.items() if left >= len(groups[group])), "train")
        split_of[group] = split
        if split in room:
            room[split] -= len(groups[group])
    result: dict[str, list[tuple[str, str]]] = {"train": [], "validation": [], "test": []}
    for pair in pairs:
        result[split_of[split_key(pair[0])]].append(pair)
    return result


def train_tokenizer(data: Path = DATA) -> Tokenizer:
    """Trains byte-level BPE of 4,000 tokens on both sides of the training split."""
    pairs = read_pairs(data)["train"]
    return train_bpe([*dict.fromkeys(text for text, _ in pairs), *dict.fromkeys(target for _, target in pairs)])
