"""Tasks of small trainings: answers against plain loops, no ties, own texts, and errors of reading."""

from collections import Counter

import pytest
import torch

from learning.loop import HELD_OUT, held_out
from learning.tasks import READERS, START, TASKS, Position
from models.errors import InputError
from models.generate.decoding import generator


def answer(task: str, symbols: str) -> str:
    """Returns the answer at the last of the symbols by the task's definition, or "" if there is none."""
    last = symbols[-1]
    if task == "lookup":
        values = {symbols[i]: symbols[i + 1] for i in range(0, len(symbols) - 1, 2)}
        return values.get(last, "") if len(symbols) % 2 else ""
    if task == "repeat":
        before = symbols[:-1].rfind(last)
        return "" if before < 0 else symbols[before + 1]
    if task == "position":
        return symbols[-1 - Position.back] if len(symbols) > Position.back else ""
    (first, most), *others = Counter(symbols).most_common(2)
    return "" if others and others[0][1] == most else first


@pytest.mark.parametrize("name", TASKS)
def test_answers_follow_the_definition_at_every_position(name: str):
    task = TASKS[name]
    for share in (0.0, 0.3, 1.0):
        batch = task.batch(50, share, generator(3))
        for ids, targets in zip(batch.tokens.tolist(), batch.targets.tolist(), strict=True):
            assert ids[0] == START and targets[0] == -1 and len(ids) <= task.longest
            symbols = "".join(task.labels[i] for i in ids[1:])
            for position in range(1, len(ids)):
                expected = answer(name, symbols[:position])
                assert (targets[position] < 0) == (not expected)
                assert not expected or task.labels[targets[position]] == expected


@pytest.mark.parametrize("name", TASKS)
def test_every_held_out_sequence_has_an_answer(name: str):
    batch = held_out(name)
    assert len(batch.tokens) == HELD_OUT and batch.tokens.shape[1] == TASKS[name].longest
    assert (batch.targets[:, -1] > 0).all() and (batch.targets[:, :-1] == -1).all()


@pytest.mark.parametrize("name", TASKS)
def test_no_guess_from_the_last_token_alone_is_better_than_the_baseline(name: str):
    """The best guess from the last token is the most frequent answer to it; `guess` comes within three points of it."""
    task = TASKS[name]
    batch = task.held_out(20_000, generator(5))
    last, answers = batch.tokens[:, -1], batch.targets[:, -1]
    table = torch.zeros(len(task.labels), len(task.labels))
    table.index_put_((last, answers), torch.ones(len(last)), accumulate=True)
    best = float(table.amax(1).sum() / table.sum())
    baseline = float((task.guess(batch.tokens) == answers).float().mean())
    assert best - 0.03 < baseline <= best


def test_a_place_of_a_lookup_does_not_give_the_value_away():
    """No fixed place of a digit has the answer in more than half of the sequences, so a table of positions fails."""
    batch = TASKS["lookup"].held_out(5000, generator(6))
    right = batch.tokens[:, 2::2] == batch.targets[:, -1:]
    assert float(right.float().mean(0).max()) < 0.5


@pytest.mark.parametrize("name", TASKS)
def test_the_example_is_read_and_answered(name: str):
    task, reader = TASKS[name], READERS[name]
    for text in (task.example, reader.examples[0][1]):
        prompt = reader.read(text)
        assert "".join(prompt.tokens[1:]) == task.example and not prompt.hint
        assert task.labels[prompt.targets[prompt.predict_at[-1]]] == answer(name, task.example)


def test_own_text_of_a_lookup_may_be_written_as_a_program():
    prompt = READERS["lookup"].read("a=3; b=8; a=5; a=?")
    assert prompt.tokens[1:] == ("a", "3", "b", "8", "a", "5", "a")
    assert READERS["lookup"].labels[prompt.targets[-1]] == "5"


@pytest.mark.parametrize(("name", "text", "start"), [
    ("lookup", "a 3 b b", 6), ("lookup", "3", 0), ("lookup", "z 3", 0), ("count", "a b <", 4), ("count", "A", 0),
    ("position", "", 0), ("position", " ,; ", 0), ("repeat", "a\u202eb", 1)])
def test_a_text_that_cannot_be_read_is_an_error_at_its_place(name: str, text: str, start: int):
    with pytest.raises(InputError) as problem:
        READERS[name].read(text)
    assert problem.value.start == start and "\u202e" not in str(problem.value)


def test_a_long_text_is_cut_and_an_open_question_is_hinted_at():
    prompt = READERS["count"].read("ab" * 5000)
    assert len(prompt.ids) == TASKS["count"].longest and prompt.omitted > 0
    assert READERS["repeat"].read("a b c").hint
