"""The tasks of small trainings: random sequences, the answer at each position, and the reader of typed sequences.

    lookup      a 3 b 8 a 5 c 2 b 1 a    -> 5, the latest value of a
    repeat      e k b m f c g k b m      -> f, the symbol after the earlier m
    position    d a m c c b i f          -> m, the symbol five places before f
    count       b a b c b                -> b, the most frequent symbol

Every sequence begins with the token `start`. SequenceReader reads texts such as `a 3 b 8 a`.
"""

import string
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.errors import InputError
from models.messages import N_, cut, message
from models.prompt import LONGEST_TEXT, Prompt
from models.tasks.base import Batch, Reader
from models.trace import Output

LETTERS = string.ascii_lowercase
START = 0  # token id of `start`
HELD_OUT_SEED = 20_011  # no training has this seed
EVENTS, NAMES = 6, 4  # lookup: events of a sequence, and different variables among them
SEPARATORS = " \t\n,;=?"  # may stand between symbols, so that `a=3; b=8; a=?` is read as `a 3 b 8 a`


@dataclass(frozen=True)
class Task:
    """One task; a subclass samples sequences and computes their answers."""

    name: str  # key in TASKS and in links
    title: str  # name on pages
    line: str  # what the model has to answer
    needs: str  # what attention has to do for it
    example: str  # the sequence whose attention is watched while the model trains
    symbols: str  # the tokens after `start`, by token id
    longest: int  # number of tokens of the longest sequence, `start` included

    @property
    def labels(self) -> tuple[str, ...]:
        """All tokens as strings, by token id."""
        return (message("start"), *self.symbols)

    def sample(self, count: int, share: float, random: torch.Generator) -> Tensor:
        """Returns random (count, N) token ids; N grows to `longest` with `share`, the share of training done."""
        raise NotImplementedError

    def answers(self, tokens: Tensor) -> Tensor:
        """Returns (B, N): the id of the answer at each position of sequences (B, N); -1 at positions without one."""
        raise NotImplementedError

    def guess(self, tokens: Tensor) -> Tensor:
        """Returns (B,) ids: the best guess from the last token alone, which is what a model without attention sees."""
        raise NotImplementedError

    def batch(self, count: int, share: float, random: torch.Generator) -> Batch:
        """Returns random sequences with the answers at all positions that have one."""
        tokens = self.sample(count, share, random)
        return Batch(tokens, self.answers(tokens))

    def held_out(self, count: int, random: torch.Generator) -> Batch:
        """Returns random sequences of the longest length with the answer at the last position only."""
        batch = self.batch(count, 1.0, random)
        last = torch.full_like(batch.targets, -1)
        last[:, -1] = batch.targets[:, -1]
        return Batch(batch.tokens, last)


class Lookup(Task):
    """The latest value of a variable: content."""

    @override
    def sample(self, count: int, share: float, random: torch.Generator) -> Tensor:
        events = _size(2, EVENTS, share, random)
        letters = torch.rand(count, len(self.symbols) - 10, generator=random).argsort(1)[:, :NAMES]
        which = torch.randint(0, NAMES, (count, events), generator=random)
        tokens = torch.full((count, 2 * events + 2), START)
        tokens[:, 1:-1:2] = 1 + letters.gather(1, which)
        tokens[:, 2::2] = self._zero + torch.randint(0, 10, (count, events), generator=random)
        is_set = functional.one_hot(which, NAMES).amax(1).float()
        asked = torch.multinomial(is_set, 1, generator=random)
        tokens[:, -1:] = 1 + letters.gather(1, asked)
        return tokens

    @property
    def _zero(self) -> int:
        return 1 + self.symbols.index("0")

    @override
    def answers(self, tokens: Tensor) -> Tensor:
        is_letter = (tokens > START) & (tokens < self._zero)
        before = _latest(tokens)
        value = tokens.gather(1, (before + 1).clamp_max(tokens.shape[1] - 1))
        return torch.where(is_letter & (before >= 0), value, -1)

    @override
    def guess(self, tokens: Tensor) -> Tensor:
        return torch.full((len(tokens),), self._zero)


class Repeat(Task):
    """A sequence again from a random place: the token after the earlier occurrence."""

    first, again = 10, 4  # different symbols, then symbols of the repetition

    @override
    def sample(self, count: int, share: float, random: torch.Generator) -> Tensor:
        first = _size(5, self.first, share, random)
        symbols = 1 + torch.rand(count, len(self.symbols), generator=random).argsort(1)[:, :first]
        places = torch.randint(0, first - self.again, (count, 1), generator=random)
        repeated = symbols.gather(1, places + torch.arange(self.again))
        return torch.cat((torch.full((count, 1), START), symbols, repeated), 1)

    @override
    def answers(self, tokens: Tensor) -> Tensor:
        before = _latest(tokens)
        return torch.where((tokens > START) & (before >= 0), tokens.gather(1, before.clamp_min(0) + 1), -1)

    @override
    def guess(self, tokens: Tensor) -> Tensor:
        return 1 + tokens[:, -1] % len(self.symbols)  # any other symbol


class Position(Task):
    """The symbol a fixed number of places back: position."""

    back = 5

    @override
    def sample(self, count: int, share: float, random: torch.Generator) -> Tensor:
        symbols = torch.randint(1, 1 + len(self.symbols), (count, self.longest - 1), generator=random)
        return functional.pad(symbols, (1, 0), value=START)

    @override
    def answers(self, tokens: Tensor) -> Tensor:
        earlier = functional.pad(tokens, (self.back, -self.back), value=START)
        return torch.where(earlier > START, earlier, -1)

    @override
    def guess(self, tokens: Tensor) -> Tensor:
        return tokens[:, -1]


class Count(Task):
    """The most frequent symbol, never in a tie: even attention is enough."""

    @override
    def sample(self, count: int, share: float, random: torch.Generator) -> Tensor:
        kept: list[Tensor] = []
        while sum(map(len, kept)) < count:
            symbols = torch.randint(1, 1 + len(self.symbols), (count, self.longest - 1), generator=random)
            tokens = functional.pad(symbols, (1, 0), value=START)
            kept.append(tokens[self.answers(tokens)[:, -1] >= 0])
        return torch.cat(kept)[:count]

    @override
    def answers(self, tokens: Tensor) -> Tensor:
        counts = functional.one_hot(tokens, 1 + len(self.symbols)).cumsum(1)[..., 1:]
        top = counts.topk(2)
        return torch.where(top.values[..., 0] > top.values[..., 1], 1 + top.indices[..., 0], -1)

    @override
    def guess(self, tokens: Tensor) -> Tensor:
        return tokens[:, -1]


def _size(least: int, most: int, share: float, random: torch.Generator) -> int:
    """Returns a random size; its limit grows to `most` over half of the training. For a share of 1 it is `most`."""
    limit = least + round((most - least) * min(1.0, 2 * share))
    return most if share == 1 else int(torch.randint(least, limit + 1, (), generator=random))


def _latest(tokens: Tensor) -> Tensor:
    """Returns (B, N): the latest earlier position with the same token, -1 if there is none."""
    n = tokens.shape[1]
    same = (tokens.unsqueeze(2) == tokens.unsqueeze(1)) & torch.ones(n, n, dtype=torch.bool).tril(-1)
    return torch.where(same, torch.arange(n), -1).amax(-1)


TASKS: dict[str, Task] = {task.name: task for task in (
    Lookup("lookup", N_("Look up a value"), N_("The latest value of the last letter."),
           N_("A head has to find the same letter."),
           "a3b8a5c2b1d7a", LETTERS[:10] + string.digits, 2 * EVENTS + 2),
    Repeat("repeat", N_("Repeat a sequence"), N_("The symbol that followed last time."),
           N_("One layer has to mark the symbol before, the next to find it: an induction head."),
           "ekbmfcgpadkbmf", LETTERS[:16], 1 + Repeat.first + Repeat.again),
    Position("position", N_("Five places back"), N_("The symbol five places back."),
             N_("The words do not matter."),
             "damccbifeglj", LETTERS[:13], 17),
    Count("count", N_("Most frequent"), N_("The most frequent symbol."),
          N_("Equal attention to all is enough."),
          "bacbfbkadbgc", LETTERS[:13], 17))}


class SequenceReader(Reader):
    """Reads one symbol per token; the model predicts the answer at the last one."""

    predicts_next = False

    def __init__(self, task: Task) -> None:
        self.sequences = task
        self.name, self.title, self.line = f"learn-{task.name}", task.title, task.line
        self.labels, self.vocabulary = task.labels, len(task.labels)
        self.limit = self.trained_length = task.longest
        self.examples = ((task.title, " ".join(task.example)),)

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        limit, text = limit or self.limit, text[:LONGEST_TEXT]
        ids, read_chars, omitted = [START], 0, 0
        for place, character in enumerate(text):
            if character in SEPARATORS:
                continue
            if character not in self.sequences.symbols:
                raise InputError(message("{symbol} is no symbol; choose among {symbols}",
                                         symbol=f"“{cut(character)}”", symbols=_ranges(self.sequences.symbols)), place)
            if self.sequences.name == "lookup" and ((len(ids) + omitted) % 2 == 1) != (character in LETTERS):
                raise InputError(message("letters and digits take turns: a 3 b 8 a"), place)
            if len(ids) == limit:
                omitted += 1
                continue
            ids.append(1 + self.sequences.symbols.index(character))
            read_chars = place + 1
        if len(ids) == 1:
            raise InputError(message("Type a sequence, like {example}", example=self.examples[0][1]), 0, len(text))
        answers = self.sequences.answers(torch.tensor([ids]))[0].tolist()
        hint = "" if answers[-1] >= 0 else message("The last symbol has no answer in this task.")
        return Prompt(tuple(ids), tuple(self.labels[i] for i in ids), (len(ids) - 1,), tuple(answers), omitted,
                      read_chars, hint)

    @override
    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)

    @override
    def headline(self, output: Output, token: str) -> str:
        return message("Answer")


READERS: dict[str, SequenceReader] = {name: SequenceReader(task) for name, task in TASKS.items()}


def _ranges(symbols: str) -> str:
    letters = "".join(symbol for symbol in symbols if symbol in LETTERS)
    return f"{letters[0]}–{letters[-1]}" + (", 0–9" if "0" in symbols else "")
