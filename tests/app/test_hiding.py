"""Tests of hiding words: brackets are added and removed, and the rest of the text does not change."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.markdown import literal
from app.panels.page.hiding import MOST_WORDS, carried, labels, newly_asked, with_hidden, words
from app.state.lab_state import LAST
from models.catalogue import find
from tests.app.test_pages import opened, sent

TEXTS = st.text(alphabet=" abz.'\"[]MASK\n-é", max_size=60)


def bare(text: str) -> str:
    return text.replace("[", "").replace("]", "")


def test_choosing_and_taking_back():
    text = "The cat [sat] on the [MASK]."
    assert [(word, hidden) for *_, word, hidden in words(text)] == [
        ("The", False), ("cat", False), ("sat", True), ("on", False), ("the", False)]
    assert with_hidden(text, {1}) == "The [cat] sat on the [MASK]."
    assert with_hidden(with_hidden(text, {1}), {2}) == text


@given(TEXTS | st.lists(st.sampled_from(["cat", "the", "[cat]", "a.b", "x"])).map(" ".join))
def test_no_two_buttons_have_one_label(text: str):
    """Labels are unique: for equal labels Streamlit reports the last one, and the wrong word would be hidden."""
    found = [its[2] for its in words(text)]
    assert len(set(labels(found))) == len(labels(found)) == len(found)


@pytest.mark.parametrize("word", ["cafe\u0301", "हिन्दी", "می\u200cخواهم", "שָׁלוֹם"])
def test_marks_stay_with_their_letters(word: str):
    assert [its[2] for its in words(f"a {word} b")] == ["a", word, "b"]


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
    """Nothing in a visitor's text is read as Markdown, although the labels of buttons are Markdown."""
    shown = literal(word)
    assert bare(shown.replace("\\", "").replace("\u2060", "")) == word
    assert not re.search(r"(?<!\\)[*_$<>`]", shown)
    assert not re.search("https://|:smile:", shown.replace("\\", ""))


@pytest.mark.parametrize(("text", "word", "asked"), [
    ("There was a time in the house.", "house", 0), ("There was a time in the [house].", "time", 0),
    ("There was a [time] in the house.", "house", 1), ("[There] was a time in the [house].", "time", 1),
    ("A [MASK] was in the house.", "house", 1), ("The house was old.", "The", 0)])
def test_the_word_that_was_hidden_last_is_asked_for(text: str, word: str, asked: int):
    task = find("masked-softmax").task
    chosen = [i for i, (_start, _stop, its, hidden) in enumerate(words(text)) if hidden or its == word]
    assert newly_asked(task, text, chosen) == asked
    prompt = task.read(with_hidden(text, set(chosen)))
    assert task.token_at(prompt, prompt.asked[asked]).strip() == word


def test_a_word_that_is_shown_again_leaves_the_last_prediction():
    text = "There was a [time] in the [house]."
    assert newly_asked(find("masked-softmax").task, text, [6]) == LAST


def test_hiding_a_second_word_before_the_first_shows_the_second():
    app = opened(model="masked-softmax", text="There was a time in the house.")
    pills = app.button_group(key="hidden")
    for word in ("house", "time"):
        pills = app.button_group(key="hidden")
        pills.set_value([*pills.value, pills.options.index(word)]).run()
        effect = sent(app, "effect")[0]
        assert effect["predictions"][effect["index"]]["title"] == f"Hidden: {word}"


def test_what_was_typed_since_the_buttons_were_drawn_stays():
    """A press keeps words typed after the buttons were drawn: the box reports its text only every 200 ms."""
    assert carried("The cat sat.", "The cat sat on a [mat].", [1]) == [1, 5]
    assert with_hidden("The cat sat on a [mat].", carried("The cat sa", "The cat sat on a [mat].", [1])) == \
        "The [cat] sat on a [mat]."
    assert carried("The cat sat.", "A dog sat.", [1]) is None
    app = opened(model="masked-softmax", text="The cat sat.")
    pills = app.button_group(key="hidden")
    history = app.session_state["visit"].history
    history.do(replace(history.present, text="The cat sat on the mat."))
    pills.set_value([pills.options.index("cat")]).run()
    assert app.session_state["visit"].history.present.text == "The [cat] sat on the mat."
