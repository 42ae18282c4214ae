"""Variable assignment: tokens and errors of a text, answers that agree with a dict, and growing training lengths."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import answers
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from models.errors import InputError
from models.generate.decoding import generator
from models.tasks import TASKS, assignment
from models.tasks.assignment import BATCH, DIGIT, LETTERS, TEST_SEED, TRAINED_EVENTS, VARIABLES, draw

TASK = assignment.AssignmentReader()
LABELS = TASK.labels


@pytest.mark.parametrize("text", ["x=1;x=?", " x = 1 ;\tx\n=\n? ;", ";;x=1;;x=?;;", "x=1;\r\nx=?",
                                  "x=1\u00a0;\u3000x=?"])
def test_spaces_and_spare_semicolons_do_not_matter(text: str):
    prompt = TASK.read(text)
    assert replace(prompt, read_chars=0) == replace(TASK.read("x=1; x=?"), read_chars=0)
    assert TASK.read(text[:prompt.read_chars]) == prompt


def test_without_a_question_there_is_a_hint():
    prompt = TASK.read("k=4; m=9")
    assert prompt.predict_at == () and "k=?" in prompt.hint


@pytest.mark.parametrize("title, text", TASK.examples)
def test_examples_can_be_read(title: str, text: str):
    prompt = TASK.read(text)
    assert title and prompt.predict_at and not prompt.omitted and not prompt.hint


eight = "".join(f"{x}=1;" for x in "abcdefgh")
BAD = [  # text, part of the error message, the characters that the message marks
    ("", "Type assignments", ""),
    (" \n\t", "Type assignments", " \n\t"),
    (";;", "Type assignments", ";;"),
    ("x=1; %=2", "“%” is no variable", "%"),
    ("x=1; X=2", "“X” is no variable", "X"),
    ("3=x", "“3” is no variable", "3"),
    ("é=1", "“é” is no variable", "é"),
    ("x=1; xy=2", "“xy” is no variable", "xy"),
    ("a" * 100_000, "“aa” is no variable", "aa"),
    ("x" + " " * 9_000 + "y=3", "is no variable", "x" + " " * 9_000 + "y"),
    ("x=42", "more than one digit", "42"),
    ("x=" + "1" * 9_000, "more than one digit", "1" * 9_000),
    (f"{eight} i=9", "one too many", "i=9"),
    (f"{eight} a=?; i=9", "one too many", "i=9"),
    ("x=1; z=?", "no value yet", "z=?"),
    ("x=?; x=1", "no value yet", "x=?"),
    ("x=1 y=2", "; is missing", "y"),
    ("x=1\ny=2", "; is missing", "y"),
    ("x=1, y=2", "; is missing", ","),
    ("x=??", "; is missing", "?"),
    ("x=1.5", "; is missing", "."),
    ("x 1", "expected = after x", "x 1"),
    ("x:1", "expected = after x", "x:"),
    ("x", "no value yet", "x"),
    ("y=7; x= ;y=?", "no value yet", "x="),
    ("x==1", "“=” is no value", "="),
    ("x=-1", "“-” is no value", "-"),
    ("x=٣", "“\u2068٣\u2069” is no value", "٣"),
    ("x=y", "“y” is no value", "y"),
    ("x=😀", "“😀” is no value", "😀"),
    ("x=1; 😀=2", "“😀” is no variable", "😀"),
    ("<img src=x onerror=alert(1)>", "“<” is no variable", "<"),
    ("x=1; \u202ex=2", "U+202E", "\u202e"),
    ("א=1", "“\u2068א\u2069” is no variable", "א"),
    ("x=\0", "U+0000", "\0"),
    ("\ud800", "U+D800", "\ud800"),
]


@pytest.mark.parametrize("text, message, place", BAD, ids=[repr(text)[:30] for text, *_ in BAD])
def test_an_error_of_the_text_has_its_position(text: str, message: str, place: str):
    with pytest.raises(InputError) as error:
        TASK.read(text)
    assert message in str(error.value) and len(str(error.value)) < 200
    assert text[error.value.start:error.value.stop] == place


@pytest.mark.parametrize("text, tokens", [("a=1;" * 25_000, 8_193), ("a=1;a=?;" * 12_500, 8_192)],
                         ids=["assignments", "questions"])
def test_a_long_text_is_cut(text: str, tokens: int):
    """16,384 characters are 4,096 events of two tokens; a question without its answer in them is no token."""
    prompt = TASK.read(text)
    assert TASK.limit - 2 < len(prompt.ids) <= TASK.limit  # an event is read completely or not at all
    assert len(prompt.ids) + prompt.omitted == tokens


def test_after_the_cut_nothing_is_read():
    """An event of two tokens does not fit into 127, and a question needs both of its tokens."""
    prompt = TASK.read("a=1;" * 63 + "b=2; b=?")
    assert len(prompt.ids) == 127 and prompt.predict_at == () and prompt.omitted == 3


def test_a_question_beyond_the_limit_is_not_called_missing():
    """64 assignments fill the limit, so the question is cut off, and no message says that a question is missing."""
    prompt = TASK.read("a=1;" * 64 + "a=?")
    assert prompt.omitted and not prompt.predict_at and "End with a question" not in prompt.hint


@st.composite
def event_lists(draw: st.DrawFn) -> list[tuple[str, str]]:
    """Generates valid lists of events: only variables with a value have questions."""
    letters = draw(st.lists(st.sampled_from(LETTERS), min_size=1, max_size=8, unique=True))
    events = [(draw(st.sampled_from(letters)), "1")]
    for _ in range(draw(st.integers(0, 40))):
        asks = draw(st.booleans())
        known = sorted({variable for variable, _ in events})
        value = "?" if asks else draw(st.sampled_from("0123456789"))
        events.append((draw(st.sampled_from(known if asks else letters)), value))
    return events


@given(event_lists(), st.sampled_from([";", "; ", " ;\n"]), st.sampled_from(["=", " = "]))
def test_a_valid_text_is_read_with_its_answers(events: list[tuple[str, str]], separator: str, equals: str):
    prompt = TASK.read(separator.join(f"{variable}{equals}{value}" for variable, value in events))
    expected = answers(events)
    assert [LABELS[target] for target in prompt.targets if target >= 0] == expected
    assert prompt.predict_at == tuple(i for i, target in enumerate(prompt.targets) if target >= 0)
    written = iter(expected)
    tokens = [t for v, x in events for t in ((f"{v}=?", next(written)) if x == "?" else (f"{v}=", x))]
    assert list(prompt.tokens) == ["start", *(tokens[:-1] if events[-1][1] == "?" else tokens)]
    assert prompt.tokens == tuple(LABELS[i] for i in prompt.ids)
    assert prompt.omitted == 0 and bool(prompt.hint) == (not expected) and len(prompt.targets) == len(prompt.ids)


odd = st.characters(categories=["Cs", "Cc", "Nd", "Zs"])  # surrogates, control characters, digits and spaces


@given(st.text() | st.text(st.sampled_from("xyz12=?; \n")) | st.text(odd))
@example(";" * 10_000)
def test_any_text_is_read_or_refused(text: str):
    try:
        prompt = TASK.read(text)
    except InputError as error:
        assert 0 <= error.start <= error.stop <= len(text) and str(error)
    else:
        assert 1 < len(prompt.ids) == len(prompt.tokens) == len(prompt.targets) <= TASK.limit


CORPUS, METRIC = TASKS["assignment"].build().corpus, TASKS["assignment"].build().metric


def events_of(ids: list[int]) -> list[tuple[str, str]]:
    """Returns (variable, value or "?") of each event: two tokens after BOS, decoded by their labels."""
    names = [TASK.labels[i] for i in ids[1:]]
    return [(what[0], "?" if "?" in what else value) for what, value in zip(names[::2], names[1::2], strict=True)]


def check(ids: list[int], right: list[int]) -> None:
    """Asserts that `right` has exactly the questions' answers: the next token, equal to that of a dict."""
    events = events_of(ids)
    assert events[0][1] != "?" and len({variable for variable, _ in events}) <= VARIABLES
    asks = [i for i, token in enumerate(ids) if TASK.labels[token].endswith("?")]
    assert [i for i, answer in enumerate(right) if answer >= 0] == asks
    assert [TASK.labels[right[i]] for i in asks] == [TASK.labels[ids[i + 1]] for i in asks] == answers(events)


@pytest.mark.parametrize("events", [2, 24, 96])
def test_drawn_texts_have_the_right_answers(events: int):
    tokens, right = draw(200, events, generator(1))
    assert tokens.shape == right.shape == (200, 2 * events + 1) and (tokens[:, 0] == 0).all()
    for ids, answer in zip(tokens.tolist(), right.tolist(), strict=True):
        check(ids, answer)


def test_drawn_texts_differ_from_each_other():
    tokens, _ = draw(200, 24, generator(1))
    assert len({tuple(row) for row in tokens.tolist()}) == 200
    assert {label for label in TASK.labels if label != "unused"} == {TASK.labels[i] for i in tokens.unique()}


def test_about_half_of_the_events_are_questions():
    """Every event except the first is a question with probability 1/2, within five standard deviations."""
    events = 1000 * 24
    asked = int((draw(1000, 25, generator(1))[1] >= 0).sum()) / events
    assert abs(asked - 0.5) < 5 * (0.25 / events) ** 0.5


def test_overwrites_are_those_of_a_loop():
    tokens, _ = draw(50, 24, generator(2))
    expected = torch.full_like(tokens, -1)
    for row, ids in enumerate(tokens.tolist()):
        events = events_of(ids)
        for index, (variable, value) in enumerate(events):
            if value == "?":
                sets = [v for v, x in events[:index] if v == variable and x != "?"]
                expected[row, 2 * index + 1] = len(sets) - 1
    assert_close(assignment.overwrites(tokens), expected)
    assert expected.max() > 2


def test_batches_grow_and_are_decided_by_three_numbers():
    lengths = []
    for step in range(0, 100, 5):
        batch, again = CORPUS.batch(step, 100, seed=3), CORPUS.batch(step, 100, seed=3)
        assert_close((batch.tokens, batch.targets), (again.tokens, again.targets))
        assert batch.tokens.shape == batch.targets.shape and len(batch.tokens) == BATCH
        for ids, right in zip(batch.tokens.tolist()[:5], batch.targets.tolist()[:5], strict=True):
            end = next((i for i in range(1, len(ids)) if ids[i] == 0), len(ids))  # ids after this position are padding
            assert set(right[end:]) <= {-1} and set(ids[end:]) <= {0}
            check(ids[:end], right[:end])
        lengths.append(end)
    assert lengths[0] == 5 and max(lengths[10:]) > 2 * TRAINED_EVENTS * 0.8 and max(lengths) <= TASK.trained_length
    assert not torch.equal(CORPUS.batch(99, 100, 3).tokens[:, :5], CORPUS.batch(99, 100, 4).tokens[:, :5])


def test_validation_texts_are_their_own():
    """They differ from the test texts and from the training texts of the first seeds."""
    batches, again = CORPUS.validation(), CORPUS.validation()
    assert all(torch.equal(a.tokens, b.tokens) for a, b in zip(batches, again, strict=True))
    longest = batches[-1]
    assert longest.tokens.shape == longest.targets.shape and longest.tokens.shape[1] == TASK.trained_length
    check(longest.tokens[0].tolist(), longest.targets[0].tolist())
    texts = {tuple(row) for row in longest.tokens.tolist()}
    others = [draw(1000, TRAINED_EVENTS, generator(TEST_SEED, 0, TRAINED_EVENTS))[0],
              *(CORPUS.batch(step, 3000, seed).tokens for seed in range(3) for step in range(2900, 3000))]
    assert len(texts) == len(longest.tokens) and not texts & {tuple(row) for other in others for row in other.tolist()}
    assert len(CORPUS.validation(2)[0].tokens) == 2 * len(batches[0].tokens)


def test_random_streams_are_independent():
    """No two steps of neighbouring seeds share a random stream, and swapping seed and step gives another stream."""
    streams = [generator(seed, step) for seed in range(20) for step in range(50)]
    assert len({int(torch.randint(2**62, (), generator=stream)) for stream in streams}) == len(streams)


def test_typical_texts_fill_the_limit():
    texts = CORPUS.typical(7)
    assert texts.shape == (7, TASK.limit) and (texts[:, 0] == 0).all()
    assert_close(texts, CORPUS.typical(7))


class Guess:
    """A replacement of Transformer whose most probable tokens (B, N) are guess(tokens), with tokens (B, N)."""

    def __init__(self, guess: Callable[[Tensor], Tensor], longest: int | None = None) -> None:
        self.guess, self.longest = guess, longest

    def __call__(self, tokens: Tensor) -> Tensor:
        return functional.one_hot(self.guess(tokens), TASK.vocabulary).float()

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden


def first_values(tokens: Tensor) -> Tensor:
    """Returns guesses (B, N): at each question, the first value of its variable."""
    guesses = torch.zeros_like(tokens)
    for row, ids in enumerate(tokens.tolist()):
        values: dict[str, str] = {}
        for index, (variable, value) in enumerate(events_of(ids)):
            guesses[row, 2 * index + 1] = DIGIT + int(values.setdefault(variable, value))
    return guesses


@pytest.fixture
def few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assignment, "TEST_TEXTS", 200)


def deviation(questions: int) -> float:
    """Returns five standard deviations of a measured fraction whose expected value is 0.1."""
    return 5 * (0.1 * 0.9 / questions) ** 0.5


def test_measure_of_a_model_that_guesses(few_texts: None):
    metric = METRIC.evaluate(Guess(lambda tokens: torch.full_like(tokens, DIGIT + 7)))
    for events, accuracy in metric["accuracy_by_events"].items():
        assert abs(accuracy - 0.1) < deviation(200 * (int(events) - 1) // 2), events


def test_measure_of_a_model_that_remembers_first_values(few_texts: None):
    """It is right if the variable was not overwritten, and otherwise in one of ten cases."""
    metric = METRIC.evaluate(Guess(first_values))["accuracy_by_overwrites"]
    assert metric["0"] == 1.0
    asked = draw(200, TRAINED_EVENTS, generator(assignment.TEST_SEED, 0, TRAINED_EVENTS))[0]
    for name in ("1", "2 to 3"):
        questions = int(sum((assignment.overwrites(asked) == int(times)).sum() for times in name.split(" to ")))
        assert abs(metric[name] - 0.1) < deviation(questions), name


@pytest.mark.parametrize("longest, events", [(49, ["6", "12", "24"]), (48, ["6", "12"]),
                                             (193, ["6", "12", "24", "48", "96"])])
def test_what_a_model_cannot_read_is_not_measured(few_texts: None, longest: int, events: list[str]):
    """Texts longer than the model's limit are not measured. A text has BOS and two tokens per event."""
    def guess(tokens: Tensor) -> Tensor:
        assert tokens.shape[1] <= longest
        return tokens.roll(-1, 1)  # the answer to a question is the next token

    metric = METRIC.evaluate(Guess(guess, longest))
    assert metric["accuracy_by_events"] == dict.fromkeys(events, 1.0)
    assert set(metric["accuracy_by_overwrites"].values()) == ({1.0} if "24" in events else set())
