"""Tasks of an encoder-decoder, which reads one text and writes another: tokens, batches, beam search.

The encoder reads `start`, the tokens, `end`. The decoder reads `start` and the tokens so far, and predicts the next
token, or `end`. Translation, summary and dialogue are built on these classes.
"""

import functools
import hashlib
import os
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, pre_tokenizers, trainers
from tokenizers.models import BPE
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.errors import InputError
from models.generate.decoding import generator
from models.generate.seq2seq_decoding import write
from models.messages import message
from models.nets.config import END, PADDING, START
from models.nets.seq2seq import Seq2Seq
from models.prompt import Prompt, readable
from models.storage.datasets import DATA
from models.tasks.base import Batch, Corpus, Metric, Pairs, Reader
from models.tasks.stories import token_labels, tokenizer_from
from models.trace import Output

SPECIAL = ("<|start|>", "<|end|>", "<|padding|>")
BEAM = 4
VOCABULARY = 4000

_CHARACTERS = str.maketrans({**dict.fromkeys("“”„‟«»", '"'), **dict.fromkeys("‘’‚‛", "'"), "\xad": None,
                             "\u200b": None, "\u200e": None, "\u200f": None, "\ufeff": None})


class PairReader(Reader):
    """Reads the text of an encoder-decoder, and the text that the decoder generates."""

    only_english = True
    vocabulary = VOCABULARY
    tokenizer_file: Path  # file of the byte-level BPE tokenizer of both texts
    # largest number of tokens of a generated text, `start` or `end` included; the size of the decoder's constant
    # matrices
    target_limit: int
    request: str  # message for an empty input text

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of the texts; it is read from its file when it is first used."""
        return tokenizer_from(self.tokenizer_file)

    @functools.cached_property
    @override
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]  # computed when it is first used
        return token_labels(self.tokenizer, (message("start"), message("end"), message("padding")))

    def clean(self, text: str) -> str:
        """Returns a text of the data set, or an input text, in the characters of the training data."""
        return clean(text)

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        valid = readable(text)
        cleaned = self.clean(valid)
        if not cleaned:
            raise InputError(message(self.request), 0, len(text))
        encoding = self.tokenizer.encode(cleaned, add_special_tokens=False)
        kept = self.cut(encoding.ids, (limit or self.limit) - 2)
        ids = (START, *kept, END)
        omitted = len(encoding.ids) - len(kept)
        return Prompt(ids, self.spelled(ids), (), (-1,) * len(ids), omitted,
                      self._read_chars(valid, encoding.offsets[len(kept) - 1][1]) if omitted else len(valid))

    def cut(self, ids: Sequence[int], most: int) -> list[int]:
        """Returns the first tokens of a text, at most `most`."""
        return list(ids[:most])

    def _read_chars(self, text: str, count: int) -> int:
        """Returns how many leading characters of `text` become `count` cleaned ones, or a few more."""
        low, high = 0, len(text)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if len(self.clean(text[:middle])) < count else (low, middle)
        return low

    def written(self, ids: Iterable[int]) -> str:
        """Returns the text of the decoder's tokens, without `start` and `end`."""
        return self.tokenizer.decode([i for i in ids if i > PADDING]).strip()

    @override
    def join(self, tokens: Sequence[str]) -> str:
        return super().join(tokens).strip()

    @override
    def is_text(self, ids: Sequence[int]) -> tuple[bool, ...]:
        return tuple(i > PADDING for i in ids)

    @override
    def headline(self, output: Output, token: str) -> str:
        return message("After “{token}”", token=token.strip())


class PairCorpus(Corpus):
    """Pairs of a text and its target."""

    reader: PairReader
    # (text, target) lengths in tokens, `start` and `end` included. Batches have only these shapes: a pair is padded to
    # the first shape that it fits.
    shapes: tuple[tuple[int, int], ...]
    step_tokens = 3072  # number of tokens of the texts of one batch

    def __init__(self, reader: PairReader, data: Path = DATA, cache: Path | None = None) -> None:
        super().__init__(reader, data, cache)
        self._order: tuple[tuple[int, int], list[tuple[int, Tensor]]] = ((-1, -1), [])

    def pairs(self, split: str) -> list[tuple[str, str]]:
        """Returns the cleaned pairs (text, target) of a split: train, validation or test."""
        raise NotImplementedError

    def batch(self, step: int, steps: int, seed: int) -> Pairs:
        """Returns a batch; pairs are reshuffled per epoch, and those that fill no batch of their shape are left out."""
        sizes = [self.pairs_per_batch(shape) for shape in self.shapes]
        each = sum(len(bucket) // size for bucket, size in zip(self._buckets, sizes, strict=True))
        done, place = divmod(step, each)
        if self._order[0] != (seed, done):
            random = generator(seed, done)
            batches = [(number, rows) for number, bucket in enumerate(self._buckets)
                       for rows in torch.randperm(len(bucket), generator=random).split(sizes[number])
                       if len(rows) == sizes[number]]
            shuffled = torch.randperm(len(batches), generator=random).tolist()
            self._order = ((seed, done), [batches[i] for i in shuffled])
        number, rows = self._order[1][place]
        return as_batch(self._buckets[number][rows], self.shapes[number][0])

    def pairs_per_batch(self, shape: tuple[int, int]) -> int:
        """Returns the number of pairs per batch, so that all batches have about the same number of tokens."""
        return self.step_tokens // shape[0]

    @functools.cached_property
    def _buckets(self) -> list[Tensor]:
        version = hashlib.sha256(self.reader.tokenizer_file.read_bytes() + repr(self.shapes).encode()).hexdigest()[:12]
        path = (self._cache or Path("runs")) / f"{self.reader.name}-{version}.safetensors"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            partial = path.with_suffix(f".{os.getpid()}")
            save_file({str(number): bucket for number, bucket in enumerate(self.buckets(self.pairs("train")))}, partial)
            partial.replace(path)
        buckets = load_file(path)
        return [buckets[str(number)] for number in range(len(self.shapes))]

    @functools.cached_property
    def _validation(self) -> list[Tensor]:
        return self.buckets(first_of_each(self.pairs("validation")))

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns `times` quarters of the validation texts, at most all; each text with its first target."""
        return [as_batch(part, shape[0]) for shape, bucket in zip(self.shapes, self._validation, strict=True)
                for part in bucket[:-(-len(bucket) * min(times, 4) // 4)].split(self.pairs_per_batch(shape))
                if len(part)]

    def fit(self, ids: Sequence[int]) -> list[int] | None:
        """Returns the tokens of a text that are used in training; None if the text is left out."""
        return self.reader.cut(ids, self.trained_length - 2)

    def encode(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[list[int], list[int]]]:
        """Returns the ids of both sides without `start` and `end`; pairs that are too long are left out."""
        encode = self.reader.tokenizer.encode_batch_fast
        sides = [[e.ids for e in encode([pair[i] for pair in pairs], add_special_tokens=False)] for i in (0, 1)]
        fitted = ((self.fit(text), target) for text, target in zip(*sides, strict=True))
        return [(text, target) for text, target in fitted if text is not None and self._fits(target)]

    def _fits(self, target: Sequence[int]) -> bool:
        return len(target) + 2 <= self.shapes[-1][1]

    def buckets(self, pairs: Sequence[tuple[str, str]]) -> list[Tensor]:
        """Returns one tensor (count, M + N) int16 per shape (M, N), with the pairs that have this shape.

        A row is the encoder's input, then the decoder's targets, both padded. The decoder's input is `start` and the
        targets without the last token.
        """
        rows: list[list[list[int]]] = [[] for _ in self.shapes]
        for text, target in self.encode(pairs):
            sides = [[START, *text, END], [*target, END]]
            number = next(number for number, shape in enumerate(self.shapes)
                          if all(len(side) <= longest for side, longest in zip(sides, shape, strict=True)))
            rows[number].append([token for side, longest in zip(sides, self.shapes[number], strict=True)
                                 for token in side + [PADDING] * (longest - len(side))])
        return [torch.tensor(ids, dtype=torch.int16).view(-1, sum(shape))
                for shape, ids in zip(self.shapes, rows, strict=True)]

    def typical(self, count: int) -> tuple[Tensor, Tensor]:
        """Returns padded training pairs: (count, limit) ids for the encoder and (count, target_limit) targets."""
        pairs = self.pairs("train")
        chosen = torch.randperm(len(pairs), generator=generator(1))[:count].tolist()
        buckets = self.buckets([pairs[i] for i in chosen])
        sides = [torch.cat([functional.pad(part[i], (0, longest - shape[i]), value=PADDING)
                            for shape, bucket in zip(self.shapes, buckets, strict=True)
                            if (part := bucket.split(shape, 1))]).long()
                 for i, longest in enumerate((self.reader.limit, self.reader.target_limit))]
        return sides[0], sides[1]

    def test(self, count: int | None = None, split: str = "test") -> tuple[list[str], list[list[str]]]:
        """Returns texts of a split, or `count` of them evenly spaced, and the targets of each text."""
        targets: dict[str, list[str]] = {}
        for text, target in self.pairs(split):
            targets.setdefault(text, []).append(target)
        texts = list(targets)
        if count is not None and count < len(texts):
            texts = [texts[i * len(texts) // count] for i in range(count)]
        return texts, [targets[text] for text in texts]


class PairMetric(Metric):
    """Scores of generated texts against the targets of the test split."""

    corpus: PairCorpus

    def translate(self, model: Seq2Seq, texts: Sequence[str], beam: int = BEAM,
                  interventions: Any = None, together: int = 64) -> list[str]:
        """Returns the generated text of each text, in batches of `together`."""
        ids = [self.corpus.reader.read(text).ids for text in texts]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        outputs: list[str] = [""] * len(ids)
        for start in range(0, len(order), together):
            rows = order[start:start + together]
            for row, written in zip(rows, write(model, [ids[i] for i in rows], beam, interventions), strict=True):
                outputs[row] = self.corpus.reader.written(written.ids)
        return outputs


def as_batch(rows: Tensor, text_length: int) -> Pairs:
    """Returns padded pairs (B, M + N) as a batch; M is `text_length`."""
    texts, targets = rows.long().split((text_length, rows.shape[1] - text_length), 1)
    return Pairs(read_by_decoder(targets), targets.masked_fill(targets == PADDING, -1), texts)


def read_by_decoder(targets: Tensor) -> Tensor:
    """Returns the decoder's input (B, N) for targets (B, N): `start`, and the targets without `end`."""
    shifted = functional.pad(targets, (1, -1), value=START)
    return shifted.masked_fill(shifted == END, PADDING)


def first_of_each(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    targets: dict[str, str] = {}
    for text, target in pairs:
        targets.setdefault(text, target)
    return list(targets.items())


def clean(text: str) -> str:
    """Returns a text as one line of normalised characters (NFC).

    Curly, low and angle quotes become straight; narrow and non-breaking spaces become spaces; soft hyphens and
    zero-width characters are removed; repeated spaces become one space; spaces at the ends are removed.
    """
    return " ".join(unicodedata.normalize("NFC", text).translate(_CHARACTERS).split())


def train_bpe(texts: Iterable[str]) -> Tokenizer:
    """Trains byte-level BPE on these texts; the first word of a text gets a leading space, like the others."""
    tokenizer = Tokenizer(BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=list(SPECIAL), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer
