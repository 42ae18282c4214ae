"""Tests of hiding words: brackets are added and removed, and all other text is unchanged."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.panels.page.hiding import MOST_WORDS, new_prediction, with_hidden, words
from app.state import visit
from app.state.lab_state import LAST
from app.state.visit import Visit
from models.catalogue import find
from tests.app.test_pages import opened, sent
from tests.app.test_route import post

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


def hide(now: Visit, word: str, hidden: Any = True, index: Any = None) -> None:
    """Sends the event of a click on the button of a word."""
    found = [its for *_at, its, _hidden in words(now.history.present.text)]
    with visit.use(now):
        now.channel.receive([("hiding", {"type": "hide", "index": found.index(word) if index is None else index,
                                         "word": word, "hidden": hidden, "sequence": now.channel.newest + 1})])


def test_hiding_a_second_word_before_the_first_shows_the_second():
    app = opened(model="masked-softmax", text="There was a time in the house.")
    for word in ("house", "time"):
        hide(app.session_state["visit"], word)
        app.run()
        effect = sent(app, "effect")[0]
        assert effect["predictions"][effect["index"]]["title"] == f"Hidden: “{word}”"
    assert [word for word, hidden in sent(app, "hiding")[0]["words"] if hidden] == ["time", "house"]
    hide(app.session_state["visit"], "time", hidden=False)
    assert app.session_state["visit"].history.present.text == "There was a time in the [house]."


def test_the_text_may_have_changed_since_the_buttons_were_drawn():
    """If the text changed after the buttons were drawn, a click applies to the word that the clicked word has become.

    A click on a word that no longer exists changes nothing.
    """
    now = opened(model="masked-softmax", text="The cat sat.").session_state["visit"]
    now.history.do(replace(now.history.present, text="The cats sat on a [mat]."))
    hide(now, "cat", index=1)
    assert now.history.present.text == "The [cats] sat on a [mat]."
    hide(now, "dog", index=0)
    assert now.history.present.text == "The [cats] sat on a [mat]."


@pytest.mark.parametrize("change", [{"index": -1}, {"index": 9}, {"index": True}, {"index": "1"}, {"word": ""},
                                    {"word": None}, {"type": "text"}, {"index": None}])
def test_a_forged_click_changes_nothing(change: dict[str, Any]):
    now = opened(model="masked-softmax", text="The cat sat.").session_state["visit"]
    event = {"type": "hide", "index": 1, "word": "cat", "hidden": True, "sequence": 1} | change
    with visit.use(now):
        now.channel.receive([("hiding", event)])
    assert now.history.present.text == "The cat sat."


def test_a_letter_and_a_hidden_word_are_answered_by_the_route():
    now = opened(model="masked-softmax", text="There was a time in the [house].").session_state["visit"]
    typed = {"key": "text", "type": "text", "sequence": 1}
    about, parts = post(now, [typed | {"text": "There was a time in the [house]. So"}])
    assert not about["layout"] and parts["hiding"][0]["words"][-1] == ["So", False]
    click = {"key": "hiding", "type": "hide", "sequence": 2}
    about, parts = post(now, [click | {"index": 3, "word": "time", "hidden": True}])
    assert not about["layout"] and parts["text"][0]["text"] == "There was a [time] in the [house]. So"
    about, parts = post(now, [typed | {"text": "", "sequence": 3}])  # an empty text
    assert not about["layout"] and parts["hiding"][0]["words"] == []
