"""Tests of hiding words: brackets are added and removed, and all other text is unchanged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.lab.tools.hide import MOST_WORDS, new_prediction, with_hidden, words
from app.state.lab_state import LAST
from models.catalogue import find

TEXTS = st.text(alphabet=" abz.'\"[]MASK\n-é", max_size=60)


def bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def test_choosing_and_taking_back():
    text = "The cat [sat] on the [MASK]."
    assert [(word, hidden) for *_, word, hidden in words(text)] == [
        ("The", False), ("cat", False), ("sat", True), ("on", False), ("the", False)]
    assert with_hidden(text, {1}) == "The [cat] sat on the [MASK]."
    assert with_hidden(with_hidden(text, {1}), {2}) == text


@pytest.mark.parametrize("word", ["cafe\u0301", "हिन्दी", "می\u200cخواهم", "שָׁלוֹם"])
def test_marks_stay_with_their_letters(word: str):
    assert [its[2] for its in words(f"a {word} b")] == ["a", word, "b"]


@given(TEXTS, st.sets(st.integers(0, 20)))
def test_only_brackets_change(text: str, chosen: set[int]):
    changed = with_hidden(text, chosen)
    assert bare(changed) == bare(text)
    assert with_hidden(changed, {i for i, (*_, hidden) in enumerate(words(changed)) if hidden}) == changed


@given(TEXTS)
def test_hidden_words_stay_as_typed(text: str):
    assert with_hidden(text, {i for i, (*_, hidden) in enumerate(words(text)) if hidden}) == text


def test_a_long_text_offers_some_of_its_words():
    assert len(words("word " * 500)) == MOST_WORDS
    assert with_hidden("word " * 500, {0}).count("[") == 1


@pytest.mark.parametrize(("text", "word", "asked"), [
    ("There was a time in the house.", "house", 0), ("There was a time in the [house].", "time", 0),
    ("There was a [time] in the house.", "house", 1), ("[There] was a time in the [house].", "time", 1),
    ("A [MASK] was in the house.", "house", 1), ("The house was old.", "The", 0)])
def test_the_word_hidden_last_is_predicted(text: str, word: str, asked: int):
    task = find("masked-softmax").task
    chosen = [i for i, (_start, _stop, its, hidden) in enumerate(words(text)) if hidden or its == word]
    assert new_prediction(task, text, chosen) == asked
    prompt = task.read(with_hidden(text, set(chosen)))
    assert task.token_at(prompt, prompt.predict_at[asked]).strip() == word


def test_a_word_that_is_shown_again_leaves_the_last_prediction():
    text = "There was a [time] in the [house]."
    assert new_prediction(find("masked-softmax").task, text, [6]) == LAST
