"""Hiding words by choosing them: brackets come and go, and nothing else of the text changes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.markdown import literal
from app.panels.hiding import MOST_WORDS, with_hidden, words

TEXTS = st.text(alphabet=" abz.'\"[]MASK\n-é", max_size=60)


def bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def test_choosing_and_taking_back():
    text = "The cat [sat] on the [MASK]."
    assert [(word, hidden) for *_, word, hidden in words(text)] == [
        ("The", False), ("cat", False), ("sat", True), ("on", False), ("the", False)]
    assert with_hidden(text, {1}) == "The [cat] sat on the [MASK]."
    assert with_hidden(with_hidden(text, {1}), {2}) == text


@given(TEXTS, st.sets(st.integers(0, 20)))
def test_only_brackets_change(text: str, chosen: set[int]):
    changed = with_hidden(text, chosen)
    assert bare(changed) == bare(text)
    assert with_hidden(changed, {i for i, (*_, hidden) in enumerate(words(changed)) if hidden}) == changed


@given(TEXTS)
def test_what_is_hidden_already_stays_as_it_is(text: str):
    assert with_hidden(text, {i for i, (*_, hidden) in enumerate(words(text)) if hidden}) == text


def test_a_long_text_offers_some_of_its_words():
    assert len(words("word " * 500)) == MOST_WORDS
    assert with_hidden("word " * 500, {0}).count("[") == 1


@pytest.mark.parametrize("word", ["**bold**", "$x^2$", ":smile:", "https://example.org", "<b>a</b>", "a_b_c"])
def test_words_are_shown_as_they_are(word: str):
    """The labels of buttons are Markdown: nothing in a visitor's text may be."""
    shown = literal(word)
    assert bare(shown.replace("\\", "").replace("\u2060", "")) == word
    assert not re.search(r"(?<!\\)[*_$<>`]", shown)
    assert not re.search("https://|:smile:", shown.replace("\\", ""))
