"""Variable assignment, input texts: a text gives the right tokens and answers, or an error that names the position."""

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from oracles import answers

from models.errors import InputError
from models.tasks.assignment import LETTERS, AssignmentReader

TASK = AssignmentReader()
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
    """Only 16,384 of 100,000 characters are read: 4,096 events of two tokens. The answer to the last question is not in
    the text, so it is no token."""
    prompt = TASK.read(text)
    assert TASK.limit - 2 < len(prompt.ids) <= TASK.limit  # an event is read completely or not at all
    assert len(prompt.ids) + prompt.omitted == tokens


def test_after_the_cut_nothing_is_read():
    """After the cut nothing is read. At 127 tokens an event of two tokens does not fit, and a question needs both of
    its tokens."""
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
