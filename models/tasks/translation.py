"""Translation: English to German, on the sentence pairs of Tatoeba, with one byte-level BPE for both languages.

Cleaning: NFC; curly, low and angle quotes become straight ones; narrow and hard spaces become spaces, soft hyphens and
characters of no width go; spaces are single, none at the ends. A pair is dropped if one side is empty, if it is there
already, or if one side has more tokens than the trained length.

Split by English sentence: sentences that are the same but for case and punctuation stay together, and go in the order
of their SHA-256 to test until it has 2,000 sentences, then to validation until it has 1,000, then to training. A
German sentence may stand in several splits, as a translation of different English ones.

The encoder reads `start`, the tokens, `end`; the decoder `start` and the tokens so far, and says the next, or `end`.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import os
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE
from torch import Tensor
from torch.nn import functional

from models.errors import InputError
from models.generate.sampling import generator
from models.generate.seq2seq_decoding import write
from models.messages import N_, told
from models.nets.config import END, PADDING, START
from models.nets.seq2seq import Seq2Seq
from models.prompt import Prompt, readable
from models.storage.datasets import DATA, files
from models.tasks.base import Batch, Pairs, Task
from models.tasks.stories import token_labels, tokenizer_from
from models.trace import Output

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEU


TOKENIZER = Path(__file__).with_name("translation_tokenizer.json")
SOURCE = "tatoeba_deu_eng/deu.txt.gz"
VOCABULARY = 4000
SPECIAL = ("<|start|>", "<|end|>", "<|padding|>")
LENGTH = 64  # tokens of either side, `start` and `end` included
LENGTHS = (12, 18, 28, LENGTH)  # batches have these shapes and no others: a pair is padded to the next
TOKENS = 3072  # of either side, a step
TEST, VALIDATION = 2000, 1000  # English sentences
BEAM = 4

_QUOTES = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛", "'"), "\xad": None, "\u200b": None,
                         "\u200e": None, "\u200f": None, "\ufeff": None})


class Translation(Task):
    name = "translation"
    title = N_("English to German")
    line = N_("Translates an English sentence.")
    only_english = True
    vocabulary = VOCABULARY
    limit = LENGTH
    trained_length = LENGTH
    examples = (
        (N_("Word order"), "Yesterday I wanted to buy a new car, but I had no money."),
        (N_("Not or no"), "I don't have a dog, and I don't like cats."),
        (N_("A separable verb"), "The train leaves at six, so I get up at five."),
        (N_("They, she or you"), "Do you know where she is? They said that you know her."),
        (N_("To the end of the clause"), "I know that he has never read the book that I gave him."),
        (N_("Two meanings"), "He sat on the bank of the river and counted the money from the bank."),
    )
    data = (
        {"name": N_("Tatoeba, English-German sentence pairs as selected by manythings.org (2018-05-13): 2,000 English "
                    "sentences for test, 1,000 for validation, the others trained on"),
         "licence": "CC BY 2.0",
         "attribution": "www.manythings.org/anki and tatoeba.org (sentences by the Tatoeba contributors)"},
    )

    def __init__(self, data: Path = DATA, cache: Path | None = None) -> None:
        """`data`: the folder of the data set; `cache`: where its tokens are kept. Reading a text needs neither."""
        self._data, self._cache = data, cache
        self._order: tuple[tuple[int, int], list[tuple[int, Tensor]]] = ((-1, -1), [])

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        tokenizer = tokenizer_from(TOKENIZER)
        tokenizer.encode_special_tokens = True  # a typed <|end|> is text
        return tokenizer

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]  # made when they are first asked for
        return token_labels(self.tokenizer, (told("start"), told("end"), told("padding")))

    def read(self, text: str, limit: int | None = None) -> Prompt:
        limit = limit or self.limit
        valid = readable(text)
        cleaned = clean(valid)
        if not cleaned:
            raise InputError(told("Type an English sentence, like The cat is sleeping."), 0, len(text))
        encoding = self.tokenizer.encode(cleaned, add_special_tokens=False)
        kept = encoding.ids[:limit - 2]
        ids = (START, *kept, END)
        left_out = len(encoding.ids) - len(kept)
        read_chars = len(valid) if not left_out else _place_in(valid, encoding.offsets[len(kept) - 1][1])
        return Prompt(ids, tuple(self.labels[i] for i in ids), (), (-1,) * len(ids), left_out, read_chars)

    def written(self, ids: Iterable[int]) -> str:
        """Tokens of the decoder, without `start` and `end`, as a person would write them."""
        return self.tokenizer.decode([i for i in ids if i > PADDING]).strip()

    def join(self, tokens: Sequence[str]) -> str:
        return "".join(tokens).strip()

    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        return tuple(i > PADDING for i in ids)

    def headline(self, output: Output, token: str) -> str:
        return told("After {token}", token=token.strip())

    # Training.

    def batch(self, step: int, steps: int, seed: int) -> Pairs:
        """Whole passes over the pairs, each in an order of its own; what does not fill a last batch of its shape is
        left out of that pass."""
        each = sum(len(bucket) // texts_of(bucket) for bucket in self._buckets)
        done, place = divmod(step, each)
        if self._order[0] != (seed, done):
            random = generator(seed, done)
            batches = [(number, rows) for number, bucket in enumerate(self._buckets)
                       for rows in torch.randperm(len(bucket), generator=random).split(texts_of(bucket))
                       if len(rows) == texts_of(bucket)]
            shuffled = torch.randperm(len(batches), generator=random).tolist()
            self._order = ((seed, done), [batches[i] for i in shuffled])
        number, rows = self._order[1][place]
        return as_batch(self._buckets[number][rows])

    @functools.cached_property
    def _buckets(self) -> list[Tensor]:
        version = hashlib.sha256(TOKENIZER.read_bytes() + repr(LENGTHS).encode()).hexdigest()[:12]
        path = (self._cache or Path("runs")) / f"translation-{version}.safetensors"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}")
            save_file({str(length): bucket for length, bucket in
                       zip(LENGTHS, self.buckets(self.pairs("train")), strict=True)}, partial)
            partial.replace(path)
        buckets = load_file(path)
        return [buckets[str(length)] for length in LENGTHS]

    @functools.cached_property
    def _validation(self) -> list[Tensor]:
        return self.buckets(first_of_each(self.pairs("validation")))

    def validation(self, times: int = 1) -> list[Batch]:
        """A quarter of the validation sentences, each with its first translation; all of them for 4 times and more."""
        return [as_batch(part) for bucket in self._validation
                for part in bucket[:-(-len(bucket) * min(times, 4) // 4)].split(texts_of(bucket)) if len(part)]

    def pairs(self, split: str) -> list[tuple[str, str]]:
        """Cleaned pairs of a split: train, validation or test."""
        return read_pairs(self._data)[split]

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Ids of both sides without `start` and `end`; pairs that are too long are left out."""
        sides = [[e.ids for e in self.tokenizer.encode_batch_fast([p[i] for p in pairs], add_special_tokens=False)]
                 for i in (0, 1)]
        return [(text, target) for text, target in zip(*sides, strict=True)
                if max(len(text), len(target)) <= self.trained_length - 2]

    def buckets(self, pairs: Sequence[tuple[str, str]]) -> list[Tensor]:
        """(count, 2, length) int16 a length of LENGTHS: the text as the encoder reads it, the target as the decoder
        should say it and `start` before it, cut off: length + 1 are needed, and the last is `end` or padding."""
        rows: dict[int, list[list[list[int]]]] = {length: [] for length in LENGTHS}
        for text, target in self.encode(pairs):
            sides = [[START, *text, END], [*target, END]]
            length = next(length for length in LENGTHS if max(map(len, sides)) <= length)
            rows[length].append([side + [PADDING] * (length - len(side)) for side in sides])
        return [torch.tensor(its, dtype=torch.int16).view(-1, 2, length) for length, its in rows.items()]

    def typical(self, count: int) -> Tensor:
        """(count, 2, limit) pairs of the training data, padded: what the encoder reads and what the decoder says."""
        pairs = self.pairs("train")
        chosen = torch.randperm(len(pairs), generator=generator(1))[:count].tolist()
        parts = [functional.pad(bucket, (0, self.limit - bucket.shape[-1]), value=PADDING)
                 for bucket in self.buckets([pairs[i] for i in chosen])]
        return torch.cat(parts).long()

    # Measure.

    def metric(self, model: Seq2Seq) -> dict[str, Any]:
        """BLEU over all test sentences with all their translations as references, by beam search and greedily."""
        texts, references = self.test()
        result: dict[str, Any] = {}
        for name, beam in (("bleu", BEAM), ("bleu_greedy", 1)):
            score, signature = bleu(self.translate(model, texts, beam), references)
            result |= {name: round(score, 2), "signature": signature}
        return {**{key: value for key, value in result.items() if key != "signature"}, "beam": BEAM,
                "sentences": len(texts), "references": sum(map(len, references)), "signature": result["signature"]}

    def in_words(self, metric: dict[str, Any]) -> str:
        return told("BLEU {bleu} with {beam} beams, {greedy} with one", bleu=metric["bleu"], beam=metric["beam"],
                    greedy=metric["bleu_greedy"])

    def test(self, count: int | None = None, split: str = "test") -> tuple[list[str], list[list[str]]]:
        """English sentences of a split and the translations of each; `count` of them stand evenly in the file's order,
        which is by length."""
        found: dict[str, list[str]] = {}
        for text, target in self.pairs(split):
            found.setdefault(text, []).append(target)
        texts = list(found)
        if count is not None and count < len(texts):
            texts = [texts[i * len(texts) // count] for i in range(count)]
        return texts, [found[text] for text in texts]

    def translate(self, model: Seq2Seq, texts: Sequence[str], beam: int = BEAM,
                  interventions: Any = None, together: int = 64) -> list[str]:
        """The texts' translations, `together` at once; `interventions` as in Seq2Seq, without constant matrices."""
        ids = [self.read(text).ids for text in texts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        found: list[str] = [""] * len(ids)
        for start in range(0, len(order), together):
            rows = order[start:start + together]
            for row, written in zip(rows, write(model, [ids[i] for i in rows], beam, interventions), strict=True):
                found[row] = self.written(written.ids)
        return found


def texts_of(bucket: Tensor) -> int:
    """Pairs of a batch of this bucket's shape: as many tokens whatever their length."""
    return TOKENS // bucket.shape[-1]


def as_batch(rows: Tensor) -> Pairs:
    """(B, 2, N) padded pairs as a batch."""
    texts, said = rows.long().unbind(1)
    return Pairs(read_by_decoder(said), said.masked_fill(said == PADDING, -1), texts)


def read_by_decoder(said: Tensor) -> Tensor:
    """(B, N) what the decoder should say, padded -> (B, N) what it reads: `start`, and the tokens but `end`."""
    shifted = functional.pad(said, (1, -1), value=START)
    return shifted.masked_fill(shifted == END, PADDING)


def first_of_each(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """One pair an English sentence, the first."""
    found: dict[str, str] = {}
    for text, target in pairs:
        found.setdefault(text, target)
    return list(found.items())


def clean(text: str) -> str:
    """One line in the characters that the models know; see the cleaning rules above."""
    return " ".join(unicodedata.normalize("NFC", text).translate(_QUOTES).split())


def _place_in(text: str, count: int) -> int:
    """Characters of `text` that its first `count` cleaned characters come from, or a few more."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if len(clean(text[:middle])) < count else (low, middle)
    return low


def split_key(text: str) -> str:
    """What sentences have in common that stay in one split: letters and digits, in lower case."""
    return " ".join(re.findall(r"\w+", text.casefold()))


@functools.cache
def read_pairs(data: Path) -> dict[str, list[tuple[str, str]]]:
    """Split -> cleaned pairs, English first, in the order of the file.

    Raises:
        FileNotFoundError: the data set is not there.
    """
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
    """Byte-level BPE of 4,000 tokens on both sides of the training split; a word at the beginning has its space too."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    pairs = read_pairs(data)["train"]
    texts = [*dict.fromkeys(text for text, _ in pairs), *dict.fromkeys(target for _, target in pairs)]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def bleu(found: Sequence[str], references: Sequence[Sequence[str]]) -> tuple[float, str]:
    """Corpus BLEU in percent with several references a sentence, and sacrebleu's signature (Post 2018).

    Raises:
        FileNotFoundError: sacrebleu, which only measuring needs, is not installed.
    """
    most = max(map(len, references))
    streams = [[its[i] if i < len(its) else None for its in references] for i in range(most)]
    measure = sacrebleu()
    return measure.corpus_score(list(found), streams).score, str(measure.get_signature())  # type: ignore[arg-type]


def sacrebleu(**options: Any) -> BLEU:
    """Its measure, with its own settings but for `options`; raises as `bleu` does."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise FileNotFoundError("BLEU needs sacrebleu: pip install -r requirements-test.txt") from error
    return BLEU(**options)
