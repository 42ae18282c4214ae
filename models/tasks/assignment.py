"""Variable assignment: `y=7; x=1; x=3; z=5; x=?` asks for the latest value of x.

An event is two tokens: `x=` and `3` set a variable, `x=?` and its answer query one. A text has up to 8 different
variables of 26, and values of one digit. Leviathan et al. 2024 (arXiv 2410.02703) name the task without its settings;
the vocabulary and the lengths are ours.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from models.errors import InputError
from models.generate.decoding import generator
from models.messages import N_, cut, listed, message
from models.nets.transformer import Transformer
from models.prompt import LONGEST_TEXT, Prompt
from models.tasks.base import Batch, Corpus, Metric, Reader
from models.trace import Output

LETTERS = string.ascii_lowercase
VARIABLES, VALUES = 8, 10  # largest number of different variables in a text, and number of values (0 to 9)
TRAINED_EVENTS = 24  # events of the longest training text
BATCH = 96
TEST_EVENTS = (6, 12, 24, 48, 96)
TEST_TEXTS = 1000
GROUPS = 50  # number of groups of texts; the bootstrap samples groups, each of which counts as one text
QUARTERS = 4  # number of parts of a long text; late queries are harder, because more events precede them
ALL, LATE, ELSEWHERE = "all", "last quarter", "elsewhere"  # the sets of queries that verdicts use
TEST_SEED = 10_007  # no training has this seed; training texts are sampled with the seed of the training
VALIDATION_SEED = 10_039
VALIDATION_TEXTS = 250  # number of validation texts at each of three lengths

START = 0
SET, ASK, DIGIT = 1, 27, 53  # first token id of `a=`, of `a=?`, and of `0`


class AssignmentReader(Reader):
    """Reads programs such as `x=7; y=3; x=`; the model predicts the value at the end."""

    name = "assignment"
    title = N_("Variables")
    line = N_("Predicts the current value of a variable.")
    vocabulary = 64  # 63 ids are used; 64 is a multiple of 8
    limit = 128
    trained_length = 2 * TRAINED_EVENTS + 1
    lengths = tuple(2 * events + 1 for events in (6, 12, 24, 48, 96))
    labels = (message("start"), *(f"{x}=" for x in LETTERS), *(f"{x}=?" for x in LETTERS), *string.digits, "unused")
    examples = (
        (N_("Overwritten once"), "y=7; x=1; x=3; z=5; x=?"),
        (N_("Overwritten often"), "a=1; a=2; a=3; a=4; a=5; a=?"),
        (N_("Two questions"), "k=4; m=9; k=?; k=2; m=?; k=?"),
        (N_("Eight variables"), "a=1; b=2; c=3; d=4; e=5; f=6; g=7; h=8; a=9; d=0; a=?; d=?; h=?"),
        (N_("Far back"), "q=6; a=1; b=2; c=3; a=4; b=5; c=6; a=7; b=8; c=9; a=0; b=1; c=2; q=?"),
    )
    data = ({"name": N_("none: texts are drawn during training"), "licence": "", "attribution": ""},)

    @override
    def read(self, text: str, limit: int | None = None) -> Prompt:
        limit, text = limit or self.limit, text[:LONGEST_TEXT]
        ids, targets = [START], [-1]
        values: dict[str, int] = {}
        questions: list[int] = []
        answer: int | None = None  # the last question's answer, a token of the text if another event follows
        omitted = read_chars = 0
        for start, event in _events(text):
            variable, value = _parse(text, start, event)
            new = [] if answer is None else [answer]
            if value == "?" and variable not in values:
                raise InputError(message("{variable} has no value yet: write {variable}=3 before",
                                         variable=variable), *_span(start, event))
            if variable not in values and len(values) == VARIABLES:
                raise InputError(message("{variable} is one too many: at most {most} variables", variable=variable,
                                         most=VARIABLES, names=", ".join(values)), *_span(start, event))
            letter = LETTERS.index(variable)
            new += [ASK + letter] if value == "?" else [SET + letter, DIGIT + int(value)]
            if value != "?":
                values[variable] = int(value)
            if omitted or len(ids) + len(new) > limit:
                omitted += len(new)
            else:
                ids += new
                read_chars = start + len(event)
                if value == "?":
                    questions.append(len(ids) - 1)
                targets += [-1] * (len(ids) - len(targets))
                if value == "?":
                    targets[-1] = DIGIT + values[variable]
            answer = DIGIT + values[variable] if value == "?" else None
        if len(ids) == 1:
            raise InputError(message("Type assignments, like y=7; x=1; x=3; x=?"), 0, len(text))
        hint = "" if questions or omitted else message("End with a question, like ; {variable}=?",
                                                       variable=next(iter(values)))
        return Prompt(tuple(ids), tuple(self.labels[i] for i in ids), tuple(questions), tuple(targets),
                      omitted, read_chars, hint)

    @override
    def join(self, tokens: Sequence[str]) -> str:
        return " ".join(tokens)

    @override
    def headline(self, output: Output, token: str) -> str:
        return message("Answer to {token}", token=token)

    def compared_tokens(self, before: Output, after: Output) -> list[int]:
        """Returns all ten digits in order, so that the rows of a prediction keep their positions."""
        return list(range(DIGIT, DIGIT + VALUES))


class AssignmentCorpus(Corpus):
    """Random assignment texts."""

    def batch(self, step: int, steps: int, seed: int) -> Batch:
        """Returns texts of equal length; the upper limit grows from 2 to 24 events over the first half of training."""
        random = generator(seed, step)
        longest = 2 + round((TRAINED_EVENTS - 2) * min(1.0, 2 * step / steps))
        events = int(torch.randint(2, longest + 1, (), generator=random))
        tokens, answers = draw(BATCH, events, random)
        # Texts are padded to few lengths, because each new shape costs a compilation; the padding stays within the
        # tables.
        padding = min(-tokens.shape[1] % 8, self.reader.trained_length - tokens.shape[1])
        tokens = functional.pad(tokens, (0, padding))
        return Batch(tokens, functional.pad(answers, (0, padding), value=-1))

    def validation(self, times: int = 1) -> list[Batch]:
        """Returns texts of three lengths: a quarter, a half and all of the longest training length."""
        return [Batch(*draw(times * VALIDATION_TEXTS, events, generator(VALIDATION_SEED, events)))
                for events in (TRAINED_EVENTS // 4, TRAINED_EVENTS // 2, TRAINED_EVENTS)]

    @override
    def typical(self, count: int) -> Tensor:
        # The texts are longer than any training text, so that the constant matrices cover every input text.
        events = (self.reader.limit + 1) // 2
        return draw(count, events, generator(TEST_SEED, 1))[0][:, :self.reader.limit]

    @override
    def held_out_texts(self, length: int, longest: int) -> tuple[Batch, Tensor]:
        events = (length - 1) // 2
        tokens, answers = draw(TEST_TEXTS, events, generator(TEST_SEED, 0, events))
        return Batch(tokens, answers), torch.arange(len(tokens)) * GROUPS // len(tokens)


class AssignmentMetric(Metric):
    """Fraction of right answers by number of events."""

    @torch.inference_mode()
    def answered(self, model: Transformer) -> dict[int, Answered]:
        """Returns number of events -> answers of a model; lengths for which the model has no weights are left out."""
        result = {}
        for events in TEST_EVENTS:
            if 2 * events + 1 > (model.longest or math.inf):
                continue  # the model has no weights for texts of this length
            tokens, answers = draw(TEST_TEXTS, events, generator(TEST_SEED, 0, events))
            guesses = torch.cat([model.logits(model(part)).argmax(-1) for part in tokens.split(100)])
            result[events] = Answered(events, tokens, answers, guesses == answers)
        return result

    @override
    def evaluate(self, model: Transformer) -> dict[str, Any]:
        return self.scores_of(self.answered(model))

    def scores_of(self, answered: Mapping[int, Answered]) -> dict[str, Any]:
        """Returns the fraction of right answers by number of events and by number of assignments to the variable.

        For long texts, it also returns the fraction by the quarter of the text that contains the query. `elsewhere` is
        the fraction for queries after an event with another variable. `blind` is the baseline that repeats the last
        digit.
        """
        by_quarter: dict[str, list[float]] = {}
        by_overwrites: dict[str, float] = {}
        blind: dict[str, dict[str, float]] = {"accuracy_by_events": {}, "elsewhere_by_events": {}}
        for events, answers in answered.items():
            repeated = functional.pad(answers.tokens, (1, -1)) == answers.answers
            blind["accuracy_by_events"][str(events)] = _share(repeated, answers.queries)
            blind["elsewhere_by_events"][str(events)] = _share(repeated, answers.elsewhere)
            if events >= TRAINED_EVENTS:
                by_quarter[str(events)] = [_share(answers.right, answers.in_quarter(q)) for q in range(QUARTERS)]
            if events == TRAINED_EVENTS:
                times = overwrites(answers.tokens)
                for lowest, highest in ((0, 0), (1, 1), (2, 3), (4, 7)):
                    among = answers.queries & (times >= lowest) & (times <= highest)
                    name = str(lowest) if lowest == highest else f"{lowest} to {highest}"
                    by_overwrites[name] = _share(answers.right, among)
        return {"accuracy_by_events": {str(n): _share(answers.right, answers.queries)
                                       for n, answers in answered.items()},
                "accuracy_by_overwrites": by_overwrites, "accuracy_by_quarter": by_quarter,
                "elsewhere_by_events": {str(n): _share(answers.right, answers.elsewhere)
                                        for n, answers in answered.items()},
                "blind": blind, "texts_per_length": TEST_TEXTS}

    @staticmethod
    @override
    def describe(metric: dict[str, Any]) -> str:
        shares = metric["accuracy_by_events"]
        return message("right answers at {shares}", shares=listed(
            message("{events} events {share:.1%}", events=events, share=share) for events, share in shares.items()))


@dataclass(frozen=True, eq=False)
class Answered:
    """The answers of a model to texts of `events` events."""

    events: int  # number of events of each text
    # tokens and answers: the result of `draw`
    tokens: Tensor
    answers: Tensor
    right: Tensor  # (B, N) bool, True at queries with the right answer

    @property
    def queries(self) -> Tensor:
        """(B, N) bool, True at queries."""
        return self.answers >= 0

    @property
    def elsewhere(self) -> Tensor:
        """(B, N) bool, True at queries for which the event before has another variable."""
        letters = (self.tokens - SET) % 26
        return self.queries & (functional.pad(letters, (2, -2), value=-1) != letters)

    def in_quarter(self, quarter: int) -> Tensor:
        """(B, N) bool, True at the queries in one quarter of the events; quarters count from 0 to 3."""
        place = (torch.arange(self.tokens.shape[1]) - 1) // 2
        return self.queries & (place * QUARTERS // self.events == quarter)

    def among(self) -> dict[str, Tensor]:
        """Returns name -> (B, N) bool of the sets of queries that verdicts use: ALL, LATE and ELSEWHERE."""
        return {ALL: self.queries, LATE: self.in_quarter(QUARTERS - 1), ELSEWHERE: self.elsewhere}


def draw(count: int, events: int, random: torch.Generator) -> tuple[Tensor, Tensor]:
    """Samples `count` random texts of `events` events; about half of the events are queries.

    Returns ids (count, 2 · events + 1) with BOS first, and of the same shape the id of the answer at the token `x=?` of
    each query, -1 elsewhere.
    """
    letters = torch.rand(count, 26, generator=random).argsort(1)[:, :VARIABLES]
    values = torch.full((count, VARIABLES), -1)
    rows = torch.arange(count)
    tokens = torch.full((count, 2 * events + 1), START)
    answers = torch.full_like(tokens, -1)
    for event in range(events):
        asks = torch.rand(count, generator=random) < (0.5 if event else 0.0)
        known = (values >= 0).float() if event else torch.ones(count, VARIABLES)
        weights = torch.where(asks.unsqueeze(1), known, torch.ones(()))
        which = torch.multinomial(weights, 1, generator=random).squeeze(1)
        digits = torch.randint(0, VALUES, (count,), generator=random)
        value = torch.where(asks, values[rows, which], digits)
        values[rows, which] = value
        letter = letters[rows, which]
        place = 2 * event + 1
        tokens[:, place] = torch.where(asks, ASK, SET) + letter
        tokens[:, place + 1] = DIGIT + value
        answers[:, place] = torch.where(asks, DIGIT + value, -1)
    return tokens, answers


def _share(right: Tensor, among: Tensor) -> float:
    return round(float(right[among].float().mean()), 4)


def overwrites(tokens: Tensor) -> Tensor:
    """Returns (B, N): at each query the number of assignments to its variable after the first; -1 elsewhere."""
    letters = (tokens - SET) % 26
    sets = (tokens >= SET) & (tokens < ASK)
    asks = (tokens >= ASK) & (tokens < DIGIT)
    same = letters.unsqueeze(2) == letters.unsqueeze(1)
    earlier = torch.ones(tokens.shape[1], tokens.shape[1], dtype=torch.bool).tril(-1)
    times = (same & sets.unsqueeze(1) & earlier).sum(-1) - 1
    return torch.where(asks, times, -1)


def _events(text: str) -> list[tuple[int, str]]:
    """Returns (start, text) of each nonempty event between semicolons."""
    pieces, start = [], 0
    for piece in text.split(";"):
        if piece.strip():
            pieces.append((start, piece))
        start += len(piece) + 1
    return pieces


def _span(start: int, event: str) -> tuple[int, int]:
    lead = len(event) - len(event.lstrip())
    return start + lead, start + len(event.rstrip())


def _parse(text: str, start: int, event: str) -> tuple[str, str]:
    """Returns variable and value (a digit or `?`) of one event."""
    first, last = _span(start, event)
    variable = text[first]
    if variable not in LETTERS:
        raise InputError(message("{variable} is no variable: use a to z", variable=_name(variable)), first)
    place = _skip(text, first + 1, last)
    if place == last:
        raise InputError(message("{variable} has no value yet: write {variable}=3 or {variable}=?",
                                 variable=variable), first, last)
    if text[place] != "=":
        problem = message("expected = after {variable}, found {found}", variable=variable, found=_name(text[place]))
        if text[place] in LETTERS:
            what = f"{variable}{text[first + 1:place + 1].rstrip()}"
            problem = message("“{what}” is no variable: use one letter", what=cut(what, 12))
        raise InputError(problem, first, place + 1)
    place = _skip(text, place + 1, last)
    if place == last:
        raise InputError(message("{variable}= has no value yet: write a digit or ?", variable=variable), first, last)
    value = text[place]
    if value not in string.digits + "?":
        raise InputError(message("{value} is no value: write a digit, or ? to ask", value=_name(value)), place)
    rest = _skip(text, place + 1, last)
    if rest < last:
        number = re.match(r"\d+", text[place:last], re.ASCII)
        if number and len(number[0]) > 1:
            raise InputError(message("{number} has more than one digit", number=cut(number[0], 12)), place,
                             place + len(number[0]))
        raise InputError(message("a ; is missing before {found}", found=_name(text[rest])), rest)
    return variable, value


def _skip(text: str, place: int, last: int) -> int:
    while place < last and text[place].isspace():
        place += 1
    return place


def _name(character: str) -> str:
    return f"“{cut(character)}”" if character.isprintable() else message("the character U+{code:04X}",
                                                                         code=ord(character))
