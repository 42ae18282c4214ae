"""Recipes and tasks of small trainings: text form and bounds; answers against plain loops, and errors of reading."""

import re
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from learning.loop import HELD_OUT, held_out
from learning.recipe import ATTENTION, MAX_HEADS, MAX_LAYERS, MAX_SEED, MAX_STEPS, Recipe
from learning.tasks import READERS, START, TASKS, Position
from models import HeadPlan
from models.errors import InputError
from models.generate.decoding import generator


@st.composite
def recipes(draw: st.DrawFn) -> Recipe:
    layers, heads = draw(st.integers(1, MAX_LAYERS)), draw(st.integers(1, MAX_HEADS))
    plan = HeadPlan()
    for layer, head, constant, gate in draw(st.lists(st.tuples(
            st.integers(0, layers - 1), st.integers(0, heads - 1), st.booleans(), st.floats(0, 1)), max_size=5)):
        plan = plan.with_heads([("self", layer, head)], constant=constant, gate=gate)
    return Recipe(draw(st.sampled_from(list(TASKS))), draw(st.sampled_from(ATTENTION)), layers, heads,
                  draw(st.integers(0, MAX_SEED)), draw(st.integers(1, MAX_STEPS)), plan)


@given(recipes())
def test_a_recipe_survives_its_text_form(recipe: Recipe):
    text = str(recipe)
    assert Recipe.parse(text) == recipe
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", text)  # characters that no URL escapes
    config = recipe.config
    assert config.width <= 64 and config.width == config.heads * config.head_width and config.head_width % 2 == 0


FORM = r"[a-z]{3,9}\.[a-z-]+\.\d+x\d+\.\d+\.\d+(\.[a-z0-9.~_-]*)?"


@given(st.text(max_size=60) | st.from_regex(FORM, fullmatch=True))
def test_a_hostile_text_is_a_recipe_within_bounds_or_an_input_error(text: str):
    try:
        recipe = Recipe.parse(text)
    except InputError:
        return
    assert recipe.layers <= MAX_LAYERS and recipe.heads <= MAX_HEADS and recipe.steps <= MAX_STEPS


@pytest.mark.parametrize(("text", "words"), [
    ("lookup.softmax.999x4.0.1500", "1 to 3 layers"), ("lookup.softmax.2x999.0.1500", "1 to 8 heads"),
    ("lookup.softmax.2x4.0.999999999", "1 to 3,000 steps"), ("lookup.softmax.2x4.0.0", "1 to 3,000 steps"),
    ("lookup.softmax.2x4.99999.9", "0 to 9999"), ("cook.softmax.2x4.0.9", "no task “cook”"),
    ("lookup.gau-relu2.2x4.0.9", "no causal attention type"), ("lookup.softmax.2x4.0.9.self-2.0c", "no layer 3"),
    ("lookup.softmax.2x4.0.9.cross-0.0c", "no cross attention"), ("lookup.softmax.2x4.0.9.self-0.0p", "cannot patch"),
    ("lookup.softmax.2x4.0.9.self-0.0g7", "0 to 1"), ("lookup.random.2x4.0.9.scale-logn64", "no effect"),
    ("lookup.softmax.²x4.0.9", "is no training"), ("", "is no training"), ("../../etc/passwd", "is no training"),
    ("lookup.softmax.2x4.0.9." + "self-0.0c" * 9999, "8,192 were read")])
def test_a_message_names_the_fault(text: str, words: str):
    with pytest.raises(InputError, match=re.escape(words)) as problem:
        Recipe.parse(text)
    assert len(str(problem.value)) < 600


@pytest.mark.parametrize("settings", [{"layers": True}, {"heads": 2.0}, {"seed": None}, {"steps": "1500"},
                                      {"task": ["lookup"]}, {"attention": None}, {"plan": "self-0.0c"}])
def test_values_of_another_type_are_input_errors(settings: dict):
    with pytest.raises(InputError):
        Recipe(**({"task": "lookup"} | settings))


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


def test_own_text_may_be_a_program_and_is_cut_or_hinted_at():
    prompt = READERS["lookup"].read("a=3; b=8; a=5; a=?")
    assert prompt.tokens[1:] == ("a", "3", "b", "8", "a", "5", "a")
    assert READERS["lookup"].labels[prompt.targets[-1]] == "5"
    prompt = READERS["count"].read("ab" * 5000)
    assert len(prompt.ids) == TASKS["count"].longest and prompt.omitted > 0
    assert READERS["repeat"].read("a b c").hint


@pytest.mark.parametrize(("name", "text", "start"), [
    ("lookup", "a 3 b b", 6), ("lookup", "3", 0), ("lookup", "z 3", 0), ("count", "a b <", 4), ("count", "A", 0),
    ("position", "", 0), ("position", " ,; ", 0), ("repeat", "a\u202eb", 1)])
def test_a_text_that_cannot_be_read_is_an_error_at_its_place(name: str, text: str, start: int):
    with pytest.raises(InputError) as problem:
        READERS[name].read(text)
    assert problem.value.start == start and "\u202e" not in str(problem.value)
