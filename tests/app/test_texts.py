"""Languages: what is said in which one, and that the catalogues have everything.

    pytest tests/app/test_texts.py
"""

from __future__ import annotations

import copy
import threading
from dataclasses import replace

import pytest

from app import caches, extract, texts
from app.state.history import History
from app.state.lab_state import LabState
from app.state.link import query_of, read_query
from app.texts import ENGLISH, LANGUAGES, _, ngettext
from models.tasks.base import InputError
from models.words import N_, listed, told, told_n


@pytest.fixture
def chinese():
    """Says everything in Chinese for one test."""
    texts.speak("zh")
    yield
    texts.speak(ENGLISH)


def test_a_sentence_of_the_models_is_said_in_the_readers_language(monkeypatch):
    class Some:
        def gettext(self, text):
            return {"{name} is no {what}.": "{what}: {name}!", "name": "NAME"}.get(text, text)

        def ngettext(self, one, several, n):
            return "{n}×" if one == "{n} word" else one

    sentence = told("{name} is no {what}.", name="x", what=told(N_("name")))
    assert sentence == "x is no name." == _(sentence)
    assert (told_n("{n} word", "{n} words", 1), told_n("{n} word", "{n} words", 2)) == ("1 word", "2 words")
    monkeypatch.setattr(texts, "_translations", lambda language: Some())
    assert _(sentence) == "NAME: x!"
    assert _(str(InputError(sentence))) == "NAME: x!"
    assert _(copy.deepcopy(sentence)) == "NAME: x!"
    assert _(told_n("{n} word", "{n} words", 3)) == "3×"
    assert _("{name} is no {what}.", name="{what}", what="y") == "y: {what}!"
    assert _(listed([sentence, "z"], "; ")) == "NAME: x!; z"


def test_each_thread_has_its_own_language(chinese):
    found = []
    thread = threading.Thread(target=lambda: found.append(_("Undo")))
    thread.start()
    thread.join()
    assert [*found, _("Undo")] == ["Undo", "撤销"]


def test_what_holds_texts_is_remembered_by_language(chinese):
    calls = []

    @caches.remembered(worded=True)
    def said(text):
        calls.append(text)
        return _(text)

    try:
        assert [said("Undo"), said("Undo")] == ["撤销", "撤销"]
        texts.speak(ENGLISH)
        assert said("Undo") == "Undo"
        assert len(calls) == 2
    finally:
        caches.kept.popitem()


def test_the_language_is_part_of_the_link_and_no_step_of_undo():
    assert "lang" not in query_of(LabState())
    assert query_of(replace(LabState(), language="zh")) == "page=explore&lang=zh"
    assert read_query({"lang": "zh", "page": "about"})[0].language == "zh"
    state, problems = read_query({"lang": "<b>"})
    assert state.language == ENGLISH
    assert len(problems) == 1
    past = History()
    past.do(replace(past.present, text="one"))
    past.speak("zh")
    past.undo()
    assert past.present == replace(LabState(), language="zh")
    past.redo()
    assert (past.present.text, past.present.language) == ("one", "zh")


@pytest.mark.parametrize(("locale", "language"), [("zh-CN", "zh"), ("zh_TW", "zh"), ("ZH", "zh"), ("en-GB", "en"),
                                                  ("de", "en"), ("zha", "en"), ("", "en"), (None, "en")])
def test_a_browsers_locale_says_the_language(locale, language):
    assert texts.preferred(locale) == language


@pytest.mark.parametrize("language", [key for key in LANGUAGES if key != ENGLISH])
def test_the_catalogues_are_what_extraction_writes(language):
    """`python -m app.extract` was run after the last text was changed."""
    template = extract.template()
    assert extract.as_file(template) == extract.TEMPLATE.read_bytes()
    assert extract.as_file(extract.renewed(texts.catalogue(language), template)) == \
        (texts.FOLDER / language / "LC_MESSAGES" / "app.po").read_bytes()


def test_plural_forms(chinese):
    texts.speak(ENGLISH)
    assert [ngettext("{n} token", "{n} tokens", n) for n in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]
