"""User text in messages and tables: short and visible, it neither reverses a sentence nor becomes a formula."""

import csv
import io
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.state.link import read_query
from models import HeadPlan
from models.csv_table import safe, to_csv
from models.errors import InputError
from models.messages import cut
from models.tasks.assignment import AssignmentReader

TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u200e\u200f\u061c"


@pytest.mark.parametrize(("text", "shown"), [
    ("cat", "cat"), ("a\u202eb", "a⟨202e⟩b"), ("a\x00b\n", "a␀b␊"), ("\ud800", "\ufffd"), ("x" * 50, "x" * 40 + "…"),
    ("שלום", "\u2068שלום\u2069"), ("a\u2069\u202eb", "a⟨2069⟩⟨202e⟩b"), ("👩\u200d👧", "👩\u200d👧"), ("", "")])
def test_a_quotation(text: str, shown: str):
    assert cut(text) == shown


@given(st.text(st.characters() | st.sampled_from(TURNING + "\u2068\u2069א")))
def test_nothing_in_it_acts_on_what_follows(text: str):
    shown = cut(text)
    inside = shown[1:-1] if shown.startswith("\u2068") else shown
    assert not any(unicodedata.category(sign) in ("Cc", "Cs") or sign in TURNING + "\u2068\u2069" for sign in inside)
    assert shown.startswith("\u2068") == shown.endswith("\u2069")


@pytest.mark.parametrize("key", ["page", "model", "with", "plan", "at", "view", "ask", "n", "keep", "open", "claim"])
@pytest.mark.parametrize("value", ["a\u202eb", "hf:a\u202eb/c", "folder:\u202e", "self-0.0\u202ec", "\u202e" * 5000,
                                   "hf:" + "x" * 100_000])
def test_a_link_cannot_turn_our_sentences_around(key: str, value: str):
    problems = read_query({key: value})[1]
    assert not any(sign in problem for problem in problems for sign in TURNING)
    assert all(len(problem) < 700 for problem in problems)
    if key not in ("text", "open"):
        assert problems


@pytest.mark.parametrize("text", ["\u202e=1", "x\u202e1", "x=\u202e", "x=1\u202e"])
def test_nor_can_a_text(text: str):
    with pytest.raises(InputError) as error:
        AssignmentReader().read(text)
    assert "\u202e" not in str(error.value) and "202" in str(error.value)


def test_nor_can_a_plan():
    assert "\u202e" not in "".join(HeadPlan.read("\u202e_self-\u202e_scale-\u202e")[1])


@given(st.lists(st.lists(st.sampled_from("=+-@\t\r\n\",1a") | st.text(max_size=4), min_size=1, max_size=4)
                .map("".join), min_size=1, max_size=4))
def test_no_field_is_a_formula_and_each_can_be_read(row: list[str]):
    (read,) = csv.reader(io.StringIO(to_csv([row]), newline=""))
    for field, text in zip(read, row, strict=True):
        assert field in (text, f"'{text}")
        assert len(field) < 2 or field[0] not in "=+-@\t\r" or float(field) is not None


@pytest.mark.parametrize(("value", "field"), [
    ("=1+1", "'=1+1"), ("-x", "'-x"), ("@a", "'@a"), ("-", "-"), ("=", "="), ("-1.5e-3", "-1.5e-3"), ("+.5", "+.5"),
    (-1.5, -1.5), (float("nan"), ""), ("a=1", "a=1"), (None, None)])
def test_fields(value: object, field: object):
    """The same rule as components/core/csv.js."""
    assert safe(value) == field
