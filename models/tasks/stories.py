"""Stories: a causal language model on children's classics and TinyStories, with byte-level BPE.

Whole books and whole stories are held out: `test` for the reported scores; `validation` for learning curves and for the
choice of learning rates and budgets. Half of the training windows come from the books, half from the stories. Each
window starts with BOS, like an input text.
"""

import functools
import gzip
import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy
import torch
from tokenizers import Tokenizer, decoders, normalizers, pre_tokenizers, trainers
from tokenizers.models import BPE
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.errors import InputError, broken
from models.generate.decoding import generator
from models.messages import N_, message
from models.nets.transformer import Transformer
from models.prompt import Prompt, readable, trailing_space
from models.storage.datasets import DATA, files
from models.tasks.base import Batch, Corpus, Metric, Reader, evenly

TOKENIZER = Path(__file__).with_name("stories_tokenizer.json")
VOCABULARY = 4096
BOS = "<|endoftext|>"  # token id 0, which starts every window and separates documents
CONTEXT = 256  # number of tokens per window, BOS included
TOKENS = 2048  # number of tokens per step, the same for every context length
HELD_OUT_TOKENS = 65_536  # number of held-out tokens at each length
VALIDATION_TOKENS = 16_384  # tokens for each point of a learning curve, half of them from each corpus
# characters that word processors insert -> the corresponding characters of the data
TYPED = {**dict.fromkeys("\u00a0\u202f\u2007\u2009", " "), **dict.fromkeys("\u00ad\u200b\u2060\ufeff", ""), "…": "...",
         "ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl"}
HELD_OUT_BOOKS = (  # books without a sequel or prequel among the training books
    "e-nesbit_the-railway-children", "h-g-wells_the-time-machine", "rudyard-kipling_just-so-stories",
    "anna-sewell_black-beauty",
)
VALIDATION_BOOKS = (  # books of three other authors, again without a sequel or prequel among the training books
    "charles-dickens_a-christmas-carol", "eleanor-h-porter_pollyanna", "robert-louis-stevenson_kidnapped",
)
SOURCES = {"books": "standard_ebooks_children/books/*.txt.gz", "stories": "tinystories_excerpt/train.txt.gz"}
EVERY_STORY = 20  # of every 20 stories of TinyStories, the first is for test and the eleventh for validation
VALIDATION_STORY = 10
SPLITS = (HELD_OUT_BOOKS, VALIDATION_BOOKS, EVERY_STORY, VALIDATION_STORY)
STORY_SPLITS = {0: "test", VALIDATION_STORY: "validation"}
BOOK_SPLITS = {**dict.fromkeys(HELD_OUT_BOOKS, "test"), **dict.fromkeys(VALIDATION_BOOKS, "validation")}


class StoriesReader(Reader):
    """Reads story texts; the model predicts the token after each token."""

    name = "stories"
    title = N_("Next word")
    line = N_("Continues a children’s story, word by word.")
    writes = True
    only_english = True
    vocabulary = VOCABULARY
    limit = 128
    trained_length = CONTEXT
    lengths = (32, 64, 128, 256, 512, 1024)
    examples: tuple[tuple[str, str], ...] = (
        (N_("The red ball"), "Tom had a big red ball. He went to the park with his mom. He wanted to play with his"),
        (N_("A dragon"), "Once upon a time there was a little dragon who was afraid of the dark. One day"),
        (N_("A name comes back"), "Lily had a red ball. Tom had a blue car. Lily said, \"Tom, can I play with your"),
        (N_("He or she"), "The king was very old. His daughter was very young. One night the king called"),
        (N_("From a book"),
         "The old sailor sat down by the fire, lit his pipe, and looked at us for some time without"),
        (N_("A name in pieces"), "One day Emma saw a little bird. The bird looked at Emma and"),
        (N_("Said twice"), "The cat sat on the mat. The dog sat on the rug. The cat sat on the"),
    )
    unsaid = examples[1][1]
    data = (
        {"name": N_("Standard Ebooks, 47 children's and adventure classics (40 for training, 3 validation, 4 test)"),
         "licence": "CC0 1.0; source texts in the United States public domain",
         "attribution": "Standard Ebooks (standardebooks.org)"},
        {"name": N_("TinyStories, 8,951 stories (of twenty 18 for training, 1 validation, 1 test)"),
         "licence": "CDLA-Sharing-1.0",
         "attribution": "Ronen Eldan and Yuanzhi Li, “TinyStories: How Small Can Language Models Be and Still "
                        "Speak Coherent English?”, 2023, arXiv 2305.07759"},
    )

    @functools.cached_property
    def tokenizer(self) -> Tokenizer:
        """Tokenizer of the texts; it is read from its file when it is first used."""
        return tokenizer_from(TOKENIZER)

    @functools.cached_property
    def typed(self) -> Tokenizer:
        """The tokenizer of input texts: characters that do not occur in the data are replaced by similar characters."""
        tokenizer = tokenizer_from(TOKENIZER)
        tokenizer.normalizer = normalizers.Sequence([
            *(normalizers.Replace(typed, known) for typed, known in TYPED.items()), tokenizer.normalizer])
        return tokenizer

    @functools.cached_property
    @override
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]  # computed when it is first used
        return token_labels(self.tokenizer)

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        limit = limit or self.limit
        encoding = self.typed.encode(readable(text), add_special_tokens=False)
        ids = [0, *encoding.ids]
        if len(ids) == 1:
            raise InputError(message("Type the beginning of a story, like Once upon a time"), 0, len(text))
        omitted, ids = max(0, len(ids) - limit), ids[:limit]
        return Prompt(tuple(ids), self.spelled(ids), (len(ids) - 1,), (*ids[1:], -1), omitted,
                      encoding.offsets[len(ids) - 2][1], "" if omitted else trailing_space(text))


class StoriesCorpus(Corpus):
    """Windows of children's classics and of TinyStories."""

    reader: StoriesReader
    validation_tokens = VALIDATION_TOKENS

    def __init__(self, reader: StoriesReader, data: Path = DATA, cache: Path | None = None,
                 context: int = CONTEXT) -> None:
        """Reads nothing yet."""
        super().__init__(reader, data, cache)
        self.trained_length = context
        self._streams: dict[tuple[str, str], Tensor] = {}

    @override
    def batch(self, step: int, steps: int, seed: int) -> Batch:
        random, context = generator(seed, step), self.trained_length
        windows = []
        for corpus in ("books", "stories"):
            stream = self.stream(corpus, "train")
            starts = torch.randint(0, len(stream) - context, (TOKENS // context // 2,), generator=random)
            windows += [stream[start:start + context] for start in starts.tolist()]
        targets = torch.stack(windows).long()
        return Batch(functional.pad(targets, (1, -1), value=0), targets)

    @override
    def validation(self, times: int = 1) -> list[Batch]:
        parts, count = [], times * self.validation_tokens // 2 // self.trained_length
        for corpus in ("books", "stories"):
            targets = self.windows_of(corpus, "validation")
            chosen = torch.linspace(0, len(targets) - 1, count).long()
            parts += targets[chosen].split(TOKENS // self.trained_length)
        return [Batch(functional.pad(targets, (1, -1), value=0), targets) for targets in parts]

    def windows_of(self, corpus: str, split: str, length: int | None = None) -> Tensor:
        """Returns ids (B, length) of all adjacent windows of a corpus; by default as long as in training."""
        stream, length = self.stream(corpus, split), length or self.trained_length
        return stream[:len(stream) // length * length].long().unflatten(0, (-1, length))

    @override
    def typical(self, count: int) -> Tensor:
        random = generator(1)
        streams = [self.stream(corpus, "train") for corpus in ("books", "stories")]
        rows = []
        for i in range(count):
            stream = streams[i % 2]
            start = int(torch.randint(0, len(stream) - self.reader.limit, (), generator=random))
            rows.append(stream[start:start + self.reader.limit - 1])
        return functional.pad(torch.stack(rows).long(), (1, 0), value=0)

    def held_out(self, length: int) -> Tensor:
        """Returns ids (B, length) of adjacent held-out windows: first those of books, then as many of stories."""
        rows = [self.windows_of(corpus, "test", length) for corpus in ("books", "stories")]
        return torch.cat([part[:min(map(len, rows))] for part in rows])

    def windows(self, length: int) -> Tensor:
        """Returns ids (B, length) of all adjacent held-out windows of books and stories, as in the metric."""
        return torch.cat([self.windows_of(corpus, "test", length) for corpus in ("books", "stories")])

    @override
    def held_out_texts(self, length: int, longest: int) -> tuple[Batch, Tensor]:
        rows = self.windows(longest)
        chosen = rows[evenly(len(rows), HELD_OUT_TOKENS // longest)].unflatten(1, (-1, length))
        targets = chosen.flatten(0, 1)
        whose = torch.arange(len(chosen)).repeat_interleave(chosen.shape[1])
        return Batch(functional.pad(targets, (1, -1), value=0), targets), whose

    def stream(self, corpus: str, split: str) -> Tensor:
        """Returns all documents of a corpus as one sequence of int16 ids; each document is followed by BOS."""
        if (corpus, split) not in self._streams:
            self._streams[corpus, split] = self._tokenised(corpus, split)
        return self._streams[corpus, split]

    def _tokenised(self, corpus: str, split: str) -> Tensor:
        path = (self._cache or Path("runs")) / f"{corpus}-{split}-{self._version(corpus)}.npy"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            documents = READERS[corpus](self._data, split)
            encodings = self.reader.tokenizer.encode_batch(documents, add_special_tokens=False)
            ids = [i for e in encodings for i in (*e.ids, 0)]
            numpy.save(path, numpy.array(ids, dtype=numpy.int16))
        return torch.from_numpy(numpy.load(path))

    def _version(self, corpus: str) -> str:
        """Returns a digest of tokenizer, data and splits, so that cached tokens of another version are not used."""
        digest = hashlib.sha256(TOKENIZER.read_bytes() + repr(SPLITS).encode())
        for path in files(self._data, SOURCES[corpus]):
            digest.update(path.name.encode() + path.read_bytes())
        return digest.hexdigest()[:12]


class StoriesMetric(Metric):
    """Perplexity of held-out books and stories."""

    corpus: StoriesCorpus

    @torch.inference_mode()
    def losses(self, model: Transformer) -> dict[str, Tensor]:
        """Returns the mean losses (B,) in nats of the held-out windows by corpus; windows do not overlap."""
        result = {}
        for corpus in ("books", "stories"):
            targets = self.corpus.windows_of(corpus, "test")
            tokens = functional.pad(targets, (1, -1), value=0)
            result[corpus] = torch.cat([
                functional.cross_entropy(model.logits(model(some)).transpose(1, 2), right, reduction="none").double()
                .mean(1) for some, right in zip(tokens.split(16), targets.split(16), strict=True)])
        return result

    def evaluate(self, model: Transformer) -> dict[str, Any]:
        """Returns the perplexity of the held-out books and stories, over all windows of `losses`."""
        return self.scores_of(self.losses(model))

    def scores_of(self, losses: Mapping[str, Tensor]) -> dict[str, Any]:
        """Returns the scores of `evaluate` from the result of `losses`."""
        together = torch.cat(list(losses.values()))
        return {"perplexity": round(math.exp(float(together.mean())), 2),
                **{f"perplexity_{corpus}": round(math.exp(float(values.mean())), 2)
                   for corpus, values in losses.items()},
                "tokens": len(together) * self.corpus.trained_length, "window": self.corpus.trained_length}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        return message("perplexity {perplexity} (books {books}, stories {stories})", perplexity=metric["perplexity"],
                       books=metric["perplexity_books"], stories=metric["perplexity_stories"])


def read_books(data: Path, split: str) -> list[str]:
    """Returns the chapters of the books of a split: train, validation or test."""
    paths = files(data, SOURCES["books"])
    wanted = [p for p in paths if BOOK_SPLITS.get(p.name.removesuffix(".txt.gz"), "train") == split]
    return [chapter for p in wanted for chapter in gzip.decompress(p.read_bytes()).decode().split("\n\n\n\n")]


def read_stories(data: Path, split: str) -> list[str]:
    """Returns the stories of a split: train, validation or test."""
    path, = files(data, SOURCES["stories"])
    stories = [s.strip() for s in gzip.decompress(path.read_bytes()).decode().split(BOS)]
    return [s for i, s in enumerate(filter(None, stories)) if STORY_SPLITS.get(i % EVERY_STORY, "train") == split]


READERS = {"books": read_books, "stories": read_stories}


def train_tokenizer(data: Path) -> Tokenizer:
    """Trains byte-level BPE of 4,096 tokens on all but the test split; curly quotes become straight ones."""
    tokenizer = Tokenizer(BPE())
    straight = {"“": '"', "”": '"', "‘": "'", "’": "'"}
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.NFC(), *(normalizers.Replace(curly, plain) for curly, plain in straight.items())])
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=VOCABULARY, special_tokens=[BOS], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    texts = [text for read in READERS.values() for split in ("train", "validation") for text in read(data, split)]
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def tokenizer_from(file: Path) -> Tokenizer:
    """Loads a tokenizer of a task; raises CheckpointError."""
    try:
        tokenizer = Tokenizer.from_str(file.read_text(encoding="utf-8"))
    except Exception as error:  # the library tokenizers raises plain exceptions
        what = message("is damaged") if file.exists() else message("is missing")
        raise broken(Path(*file.parts[-3:]), what) from error
    tokenizer.encode_special_tokens = True  # a typed <|endoftext|> or <|end|> is ordinary text
    return tokenizer


def token_labels(tokenizer: Tokenizer, special: tuple[str, ...] = (message("start"),)) -> tuple[str, ...]:
    r"""Returns each token of the vocabulary as a string; a token that is part of a character as its bytes, `\xe2`."""
    alphabet = bytes_of_characters()
    names = list(special)
    for i in range(len(special), tokenizer.get_vocab_size()):
        raw = bytes(alphabet[character] for character in tokenizer.id_to_token(i) or "")
        try:
            names.append(raw.decode())
        except UnicodeDecodeError:
            names.append("".join(f"\\x{byte:02x}" for byte in raw))
    return tuple(names)


def bytes_of_characters() -> dict[str, int]:
    """Returns the alphabet of byte-level BPE: character -> the byte that it represents (Radford et al. 2019, GPT-2)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(b): b for b in printable} | {chr(256 + i): b for i, b in enumerate(others)}
