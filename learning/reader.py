"""SequenceReader: reads sequences such as `a 3 b 8 a` for a task of small trainings."""

from collections.abc import Sequence

import torch
from typing_extensions import override

from learning.tasks import LETTERS, START, TASKS, Task
from models.errors import InputError
from models.messages import cut, message
from models.prompt import LONGEST_TEXT, Prompt
from models.tasks.base import Reader
from models.trace import Output

SEPARATORS = " \t\n,;=?"  # may stand between symbols, so that `a=3; b=8; a=?` is read as `a 3 b 8 a`


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
            if self.sequences.name == "lookup":
                self._check_turn(character, len(ids) + omitted, place)
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

    def _check_turn(self, character: str, position: int, place: int) -> None:
        """Raises InputError if a letter is where a digit has to be, or the other way round."""
        if (position % 2 == 1) != (character in LETTERS):
            raise InputError(message("letters and digits take turns: a 3 b 8 a"), place)

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
