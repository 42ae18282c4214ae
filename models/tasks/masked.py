"""Masked words: a bidirectional model predicts masked tokens in the texts of `stories`.

`The cat [sat] on the mat` masks `sat`, which is then the target; `[MASK]` is a masked token without a target. Models
are trained at one length and evaluated at several lengths, which the Lab shows.
"""

import bisect
import functools
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.errors import InputError
from models.generate.decoding import generator
from models.messages import N_, listed, message
from models.nets.transformer import Transformer
from models.prompt import Prompt, readable
from models.storage.datasets import DATA
from models.tasks.base import Batch, HidesWords, Metric
from models.tasks.stories import StoriesCorpus, StoriesReader, token_labels

MASK = "[MASK]"
MASK_ID = 4096  # the first id after the ids of the stories vocabulary
LENGTH = 64  # tokens per training text, BOS included
TOKENS = 4096  # number of tokens per step, the same for every text length
MIXED = (16, 32, 64, 128)  # text lengths of the training with mixed lengths; the mean over steps is 60 tokens
SHARE = 0.15  # fraction of the tokens that are predicted, as in BERT (Devlin et al. 2019)
KEPT, EXCHANGED = 0.1, 0.1  # fractions of these tokens that stay, or become a random token; the others are masked
TEST_LENGTHS = (32, 64, 128, 256, 512)
TEST_TOKENS = 16_384  # number of test tokens of each corpus, the same tokens at every length
DRAWS = 3  # number of random samples of the masked tokens, the same samples at every length
STRETCH = 512  # number of adjacent test tokens that the bootstrap counts as one text: neighbours are not independent
TEST_SEED = 10_009
VALIDATION_SEED = 10_037
VALIDATION_TOKENS = 32_768  # number of validation tokens; one in seven is masked

_HIDDEN = re.compile(r"\\(?P<bracket>[\[\]])|\[(?P<hidden>[^\[\]]+)\]")  # `\[` is a bracket that hides nothing


class Guessed(NamedTuple):
    """The predictions at K masked tokens."""

    losses: Tensor  # (K,) loss in nats
    right: Tensor  # (K,) bool, True if the top-1 token is right
    stretches: Tensor  # (K,) number of the stretch of the corpora that contains the token

    @property
    def accuracy(self) -> float:
        """Fraction of the masked tokens that are the model's top-1 prediction."""
        return round(float(self.right.float().mean()), 4)


class MaskedReader(HidesWords, StoriesReader):
    """Reads story texts with masked words, which the model predicts from the words on both sides."""

    name = "masked"
    title = N_("Hidden word")
    line = N_("Predicts hidden words.")
    predicts_next = False
    writes = False
    hides = True
    vocabulary = 4104  # 4,097 ids are used; 4,104 is a multiple of 8
    limit = 128
    trained_length = LENGTH
    lengths = (16, 32, 64, 128, 256, 512)
    examples = (
        (N_("One word"), "Once upon a time there was a little [MASK] who lived in a house in the forest."),
        (N_("Known answer"), "The cat sat on the mat. The dog sat on the rug. The [cat] sat on the mat."),
        (N_("Two words"), "Lily had a red ball. Tom had a blue [car]. Lily said, \"Tom, can I [play] with your car?\""),
        (N_("He or she"), "The king was very old. [His] daughter was very young. One night [she] called the king."),
        (N_("From a book"), "The old sailor sat down by the [fire], lit his pipe, and looked at us for some time."),
    )
    unsaid = ""

    @functools.cached_property
    @override
    def labels(self) -> tuple[str, ...]:  # type: ignore[override]  # computed when it is first used
        return (*token_labels(self.tokenizer), MASK, *["unused"] * (self.vocabulary - MASK_ID - 1))

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        limit = limit or self.limit
        valid = readable(text)
        ids, targets, stops = [0], [-1], [0]
        place = 0  # position in the text
        for piece in re.split(r"( ?(?<!\\)\[MASK\])", valid):
            if piece.strip(" ") == MASK:
                ids.append(MASK_ID)
                targets.append(-1)
                stops.append(place + len(piece))
            else:
                self._read_piece(piece, place, ids, targets, stops)
            place += len(piece)
        if len(ids) == 1:
            raise InputError(message("Type a sentence, like The cat [MASK] on the mat"), 0, len(text))
        omitted = max(0, len(ids) - limit)
        ids, targets, stops = ids[:limit], targets[:limit], stops[:limit]
        hidden = tuple(i for i, token in enumerate(ids) if token == MASK_ID)
        hint = self.brackets_hint([text for _, text in _HIDDEN.findall(valid.replace(MASK, "")) if text])
        if not hidden:
            hint = message("Nothing is hidden: write [MASK], or put a word in [brackets]")
        return Prompt(tuple(ids), self.spelled(ids), hidden, tuple(targets), omitted, stops[-1], hint)

    def _read_piece(self, piece: str, place: int, ids: list[int], targets: list[int], stops: list[int]) -> None:
        """Appends the tokens of a piece of text without [MASK]; tokens inside brackets are masked."""
        plain, hidden = "", []
        origin: list[int] = []  # position of each character in the piece
        last = 0
        for match in _HIDDEN.finditer(piece):
            plain += piece[last:match.start()]
            origin += range(last, match.start())
            if match["hidden"]:
                hidden.append((len(plain), len(plain) + len(match["hidden"])))
            plain += match["hidden"] or match["bracket"]
            kept = "hidden" if match["hidden"] else "bracket"
            origin += range(match.start(kept), match.end(kept))
            last = match.end()
        plain += piece[last:]
        origin += range(last, len(piece))
        encoding = self.typed.encode(plain, add_special_tokens=False)
        ends = [right for _, right in hidden]
        closed = set(ends)
        for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            nearest = bisect.bisect_right(ends, start)  # the first word that ends after the token's start
            is_hidden = nearest < len(hidden) and hidden[nearest][0] < stop
            ids.append(MASK_ID if is_hidden else token)
            targets.append(token if is_hidden else -1)
            # a closing bracket belongs to the word before it
            stops.append(place + (origin[stop - 1] + 1 + (stop in closed) if stop else 0))


class MaskedCorpus(StoriesCorpus):
    """The texts of StoriesCorpus with masked tokens."""

    validation_tokens = VALIDATION_TOKENS

    def __init__(self, reader: MaskedReader, data: Path = DATA, cache: Path | None = None,
                 lengths: tuple[int, ...] = (LENGTH,), tokens: int = TOKENS) -> None:
        """Reads nothing yet."""
        # Models trained at mixed lengths have the trained length of the other models, LENGTH.
        super().__init__(reader, data, cache, lengths[0] if len(lengths) == 1 else LENGTH)
        self.lengths, self._tokens = lengths, tokens

    @override
    def batch(self, step: int, steps: int, seed: int) -> Batch:
        random = generator(seed, step)
        length = self.lengths[int(torch.randint(len(self.lengths), (), generator=random))]
        windows = []
        for corpus in ("books", "stories"):
            stream = self.stream(corpus, "train")
            starts = torch.randint(0, len(stream) - length, (self._tokens // length // 2,), generator=random)
            windows += [stream[start:start + length - 1] for start in starts.tolist()]
        texts = functional.pad(torch.stack(windows).long(), (1, 0), value=0)
        return hide(texts, random, KEPT, EXCHANGED)

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns masked texts of LENGTH for all models, with all selected tokens masked, as in the metric."""
        batches: list[Batch] = []
        for corpus in ("books", "stories"):
            stream, length = self.stream(corpus, "validation"), LENGTH - 1
            texts = stream[:len(stream) // length * length].long().unflatten(0, (-1, length))
            chosen = torch.linspace(0, len(texts) - 1, times * self.validation_tokens // 2 // LENGTH).long()
            texts = functional.pad(texts[chosen], (1, 0), value=0)
            batches += [hide(part, generator(VALIDATION_SEED, len(batches), i), 0.0, 0.0)
                        for i, part in enumerate(texts.split(TOKENS // LENGTH))]
        return batches

    def held_out(self, length: int) -> Tensor:
        """Returns ids (B, length): TEST_TOKENS of each corpus, in stretches evenly spaced in the test split."""
        return _rows([self._stretches(corpus) for corpus in ("books", "stories")], length)

    def hidden(self, length: int, draw: int) -> Tensor:
        """Returns (B, length) bool, True where a token of `held_out` is masked.

        The tokens are sampled by position in the stretch, with probability SHARE, and only among the tokens that occur
        in the texts of every length. So the same tokens are masked at every length.
        """
        common = min(STRETCH // (n - 1) * (n - 1) for n in TEST_LENGTHS)
        samples = [torch.rand(TEST_TOKENS // STRETCH, STRETCH, generator=generator(TEST_SEED, draw, i)) for i in (0, 1)]
        return _rows([(uniform < SHARE) & (torch.arange(STRETCH) < common) for uniform in samples], length).bool()

    def _stretches(self, corpus: str) -> Tensor:
        """Returns (TEST_TOKENS / STRETCH, STRETCH) ids."""
        stream = self.stream(corpus, "test")
        starts = torch.linspace(0, len(stream) - STRETCH, TEST_TOKENS // STRETCH).long()
        return torch.stack([stream[start:start + STRETCH] for start in starts.tolist()])


class MaskedMetric(Metric):
    """Accuracy and loss at masked tokens by text length."""

    corpus: MaskedCorpus

    @torch.inference_mode()
    def guessed(self, model: Transformer, options: Callable[[int], Mapping[str, Any]] = lambda length: {}) \
            -> dict[int, Guessed]:
        """Returns a model's predictions by length."""
        return {length: self.measure(model, length, **options(length)) for length in TEST_LENGTHS}

    @override
    def evaluate(self, model: Transformer) -> dict[str, Any]:
        return self.scores_of(self.guessed(model))

    def scores_of(self, guessed: Mapping[int, Guessed]) -> dict[str, Any]:
        """Returns accuracy and loss at masked tokens of held-out text, by length."""
        loss = {str(length): round(float(guesses.losses.mean()), 4) for length, guesses in guessed.items()}
        return {"accuracy_by_length": {str(length): guesses.accuracy for length, guesses in guessed.items()},
                "loss_by_length": loss,
                "perplexity_at_trained_length": round(math.exp(loss[str(self.corpus.trained_length)]), 2),
                "tokens_per_length": 2 * TEST_TOKENS, "draws": DRAWS}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        shares = metric["accuracy_by_length"]
        return message("hidden tokens predicted right at {shares}", shares=listed(
            message("{n} tokens {share:.1%}", n=n, share=share) for n, share in shares.items()))

    def measure(self, model: Transformer, length: int, **options: Any) -> Guessed:
        """Returns predictions in held-out texts; the same tokens are masked at every length."""
        losses, right, stretches = [], [], []
        size, texts = max(1, 8192 // length), self.corpus.held_out(length)
        count = TEST_TOKENS // STRETCH
        of = _rows([torch.arange(i * count, (i + 1) * count)[:, None].expand(-1, STRETCH) for i in (0, 1)], length)
        for draw in range(DRAWS):
            parts = zip(texts.split(size), self.corpus.hidden(length, draw).split(size), of.split(size), strict=True)
            for tokens, hidden, of_texts in parts:
                logits = model.logits(model(tokens.masked_fill(hidden, MASK_ID), **options)[hidden])
                losses.append(functional.cross_entropy(logits, tokens[hidden], reduction="none"))
                right.append(logits.argmax(-1) == tokens[hidden])
                stretches.append(of_texts[hidden])
        return Guessed(torch.cat(losses), torch.cat(right), torch.cat(stretches))


def _rows(corpora: list[Tensor], length: int) -> Tensor:
    """Cuts (S, STRETCH) rows of each corpus into (B, length) texts with 0 at BOS."""
    words = length - 1
    rows = [stretches[:, :STRETCH // words * words].unflatten(1, (-1, words)).flatten(0, 1) for stretches in corpora]
    return functional.pad(torch.cat(rows).long(), (1, 0), value=0)


def hide(texts: Tensor, random: torch.Generator, kept: float, exchanged: float) -> Batch:
    """Returns a batch in which a fraction SHARE of the tokens of each row must be predicted, never BOS.

    Of these tokens a fraction `kept` stays, a fraction `exchanged` becomes a random token, and the others are masked.
    """
    count = max(1, round(SHARE * texts.shape[1]))
    order = torch.rand(texts.shape[0], texts.shape[1] - 1, generator=random).argsort(1)[:, :count] + 1
    chosen = torch.zeros_like(texts, dtype=torch.bool).scatter_(1, order, True)
    fate = torch.rand(texts.shape, generator=random)
    other = torch.randint(1, MASK_ID, texts.shape, generator=random)
    visible = torch.where(fate < kept, texts, torch.where(fate < kept + exchanged, other, MASK_ID))
    return Batch(torch.where(chosen, visible, texts), torch.where(chosen, texts, -1))
