"""Tests of translations: every string is in the visitor's language, and the catalogues are complete."""

import copy
import io
import re
import string
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy
import pytest
from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po
from markdown_it import MarkdownIt

import models
from app import texts
from app.server import caches
from app.state.history import History
from app.state.lab_state import PAGES, LabState
from app.state.link import query_of, read_query
from app.texts import ENGLISH, LANGUAGES, _, ngettext, number, spelt
from components.payload import unpack
from models.errors import InputError
from models.messages import N_, listed, message, plural_message
from tests.app import literals
from tests.app.test_pages import opened, sent
from tools import extract
from tools.extract import forms


@pytest.fixture
def chinese():
    texts.speak("zh")
    yield
    texts.speak(ENGLISH)


def test_a_message_of_models_is_translated_by_the_reader(monkeypatch):
    class Some:
        def gettext(self, text):
            return {"{name} is no {what}.": "{what}: {name}!", "name": "NAME"}.get(text, text)

        def ngettext(self, one, several, n):
            return "{n}×" if one == "{n} text" else one

    sentence = message("{name} is no {what}.", name="x", what=message(N_("name")))
    assert sentence == "x is no name." == _(sentence)
    assert (plural_message("{n} text", "{n} texts", 1), plural_message("{n} text", "{n} texts", 2)) == ("1 text",
                           "2 texts")
    monkeypatch.setattr(texts, "_translations", lambda language: Some())
    assert _(sentence) == "NAME: x!"
    assert _(str(InputError(sentence))) == "NAME: x!"
    assert _(copy.deepcopy(sentence)) == "NAME: x!"
    assert _(plural_message("{n} text", "{n} texts", 3)) == "3×"
    assert _("{name} is no {what}.", name="{what}", what="y") == "y: {what}!"
    assert _(listed([sentence, "z"], "; ")) == "NAME: x!; z"


def test_each_thread_has_its_own_language(chinese):
    with ThreadPoolExecutor(1) as pool:
        assert [pool.submit(_, "Undo").result(), _("Undo")] == ["Undo", "撤销"]


def test_what_holds_texts_is_remembered_by_language(chinese):
    calls = []

    @caches.remembered(worded=True)
    def lookup(text):
        calls.append(text)
        return _(text)

    try:
        assert [lookup("Undo"), lookup("Undo")] == ["撤销", "撤销"]
        texts.speak(ENGLISH)
        assert lookup("Undo") == "Undo"
        assert len(calls) == 2
    finally:
        caches.kept.popitem()


def test_the_language_is_part_of_the_link_and_no_step_of_undo():
    assert "lang" not in query_of(LabState())
    assert query_of(replace(LabState(), language="zh")) == "model=stories-selective&lang=zh"
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
    assert extract.as_file(extract.renewed(extract.template(), texts.catalogue(language))) == \
        (texts.FOLDER / language / "LC_MESSAGES" / "app.po").read_bytes()


def catalogue_of(*messages):
    """Returns a catalogue with these (text, translation) pairs."""
    made = Catalog(locale="zh")
    for text, translation in messages:
        made.add(text, translation, [("app", 1)])
    return made


def test_texts_keep_their_translations_and_new_ones_have_none():
    old = catalogue_of(("Press {n}.", "剪{n}"), ("Undo", "撤销"), (("{n} head", "{n} heads"), ("{n} 个头",)))
    now = catalogue_of(("Click {n}.", None), ("Undo", None), (("{n} head", "{n} heads"), None))
    new = extract.renewed(now, old)
    assert {entry.id: entry.string for entry in new if entry.id} == {
        "Click {n}.": "", "Undo": "撤销", ("{n} head", "{n} heads"): ("{n} 个头",)}
    written = extract.as_file(new)
    assert extract.as_file(extract.renewed(now, read_po(io.BytesIO(written), locale="zh"))) == written


def test_a_missing_translation_is_english(monkeypatch):
    known = catalogue_of(("Undo", "撤销"), ("Redo", ""))
    monkeypatch.setattr(texts, "catalogue", lambda language: known)
    monkeypatch.setattr(texts, "language", lambda: "zh")
    texts._translations.cache_clear()
    try:
        assert [_("Undo"), _("Redo"), _("Not in it")] == ["撤销", "Redo", "Not in it"]
        assert ngettext("{n} lost token", "{n} lost tokens", 2) == "2 lost tokens"
    finally:
        texts._translations.cache_clear()


def test_a_text_among_the_values_of_another_is_extracted():
    script = b"_('{word} \\'{n}\\'', { word: _(\"itself\"), n: N_('old') })"
    found = [(line, text) for line, _name, text, _comments in extract.javascript(io.BytesIO(script), (), (), {})]
    assert found == [(1, "{word} '{n}'"), (1, "itself"), (1, "old")]


def test_plural_forms(chinese):
    texts.speak(ENGLISH)
    assert [ngettext("{n} token", "{n} tokens", n) for n in (0, 1, 2)] == ["0 tokens", "1 token", "2 tokens"]


def test_numbers_have_a_minus():
    assert _("{drop:.1%} of {name}", drop=-0.003, name="GPT-2") == "−0.3% of GPT-2"
    assert _(message("{drop:.1%} of {name}", drop=numpy.float32(-0.003), name="GPT-2")) == "−0.3% of GPT-2"
    assert ngettext("{n} token, {loss:+.2f}", "{n} tokens, {loss:+.2f}", 2, loss=-1.5) == "2 tokens, −1.50"
    assert number(-0.003, ".1%") == "−0.3%"


def test_tokens_that_stand_for_no_text_are_translated(chinese):
    """Special tokens are translated. A typed word with the same characters as a special token is not."""
    tokens = models.load("assignment-softmax").read("x=1; x=?").tokens
    assert spelt(tokens) == ["起始", "x=", "1", "x=?"] and list(tokens)[0] == "start"
    assert spelt(["start", *tokens[1:]]) == ["start", "x=", "1", "x=?"]


OTHERS = [language for language in LANGUAGES if language != ENGLISH]
# strings that are the same in every language: names, formulas, units, and strings without words
NAMES = {"BLEU", "ROUGE-L", "KL", "softmax", "random", "dense", "log n", "CSV", "random + dense", "dense + softmax",
         "random + softmax", "{title} / softmax", "ln Z", "GAU softmax", "GAU log n", "GAU relu²/n", "GAU relu²/c"}


# language -> smallest fraction of translated texts; a language that is not listed has no limit
COMPLETE = {"zh": 0.97}


def texts_of(language: str):
    """Returns (entry, English text) for each text with a translation. For texts with a plural it is the plural form."""
    return [(entry, extract.english(entry)) for entry in texts.catalogue(language)
            if entry.id and extract.translated(entry)]


@pytest.mark.parametrize("language", OTHERS)
def test_translations_are_translations(language):
    assert len(texts_of(language)) >= COMPLETE.get(language, 0) * len(texts.catalogue(language)), "tools.extract --list"
    same = {english for entry, english in texts_of(language) if english in forms(entry)
            if literals.LETTERS.search(re.sub(r"\{[^}]*\}|`[^`]*`", "", english))}
    assert same <= NAMES


def values(text: str) -> set[tuple[str, str]]:
    """Returns the {names} of a text, each with its format specification."""
    return {(name, form or "") for _, name, form, _ in string.Formatter().parse(text) if name is not None}


def test_values_of_a_text_are_found_and_a_plural_has_its_languages_forms():
    assert values("{n:,} of {all}") == {("n", ","), ("all", "")}
    for language in OTHERS:
        count = texts.catalogue(language).num_plurals
        assert count <= 2  # components/core/texts.js supports at most two plural forms
        for entry, _english in texts_of(language):
            assert isinstance(entry.id, str) or len(forms(entry)) == count


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_has_the_values_of_its_text(language):
    for entry, english in texts_of(language):
        for form in forms(entry):
            if "{" in english or "{" in form:
                assert values(form) == values(english), english
            # a translation has the same code and the same links as the English Markdown
            assert sorted(re.findall(r"`[^`]+`|https?://\S+", form)) == \
                sorted(re.findall(r"`[^`]+`|https?://\S+", english)), english


STATES = [{}, {"page": "compare", "with": "stories-softmax"}, {"page": "length", "model": "masked-gau-relu2"},
          {"page": "yours"}, {"page": "results"}, {"page": "results", "claim": "normalisation"}, {"page": "about"},
          {"model": "assignment-selective", "view": "mask", "plan": "self-0.0cg0.5"},
          {"model": "masked-softmax", "open": "entropy", "text": "The cat sat"},
          {"model": "stories-selective", "open": "memory", "text": "今天天气很好。"},
          {"model": "assignment-softmax", "text": "x=?"}, {"model": "no-such", "plan": "zz", "at": "9", "n": "x"}]


@pytest.mark.parametrize("state", STATES, ids=str)
def test_every_page_opens_in_chinese(state):
    app = opened(lang="zh", **state)
    assert not app.exception
    shown = "\n".join(str(element.value) for kind in ("markdown", "caption", "warning", "error", "info")
                      for element in app.get(kind))
    headers = [unpack(component.proto.bytes)[0] for component in app.get("bidi_component") if component.proto.bytes]
    languages = [header["language"] for header in headers if "language" in header]
    # the browser uses the language of the last component, so all components must have the same one
    assert languages and set(languages) == {"zh"}
    (places,) = [header.get("pages") or header["places"] for header in headers if {"pages", "places"} & set(header)]
    assert dict(places)["lessons"] == "课程"
    for line in shown.splitlines():  # a line with only English words was not looked up in the catalogue
        prose = re.sub(r"`[^`]*`|\[[^\]]*\]\([^)]*\)|\*\*", "", line)
        assert len(re.findall(r"\b[a-z]{3,}\b", prose)) < 6 or re.search(r"[\u4e00-\u9fff]", prose) \
            or any(name in line for name in CITED), line


# names of data sets whose credits must stay in the original wording
CITED = ("Standard Ebooks", "TinyStories", "Tatoeba", "tatoeba")


def test_another_script_gets_a_note():
    for text, is_told in (("今天天气很好。", True), ("Жил-был маленький дракон", True), ("Once upon a time", False),
                       ("Café naïve, the “Kōan” 3 × 4", False), ("12 34", False)):
        notice = sent(opened(lang="zh", text=text), "lab")[0]["notice"]
        assert ("这个模型只用英文文本训练过" in str(notice)) is is_told, text
    notice = sent(opened(text="今天天气很好。"), "lab")[0]["notice"]
    assert "This model was trained on English only" in notice["message"]


@pytest.mark.parametrize("language", OTHERS)
def test_stars_of_markdown_are_never_displayed(language):
    """CommonMark does not end bold text between a full-width punctuation mark and a letter."""
    shown = [(english, re.sub(r"<code>.*?</code>|<[^>]+>", "", MarkdownIt().render(form)))
             for entry, english in texts_of(language) for form in forms(entry) if "**" in form]
    assert len(shown) > 14 and not [english for english, text in shown if "*" in text]


# each term has one translation: pattern of the English term -> pattern that the translation must contain
SAME_WORDS = {"zh": {
    r"\bentrop(y|ies)\b": "熵", r"\bnats\b": "奈特", r"\btokens?\b": "词元", r"\bperplexit(y|ies)\b": "困惑度",
    r"\bquer(y|ies)\b": "查询", r"\bprun(e|ed|es|ing)\b": "剪", r"\bseeds?\b": "种子", r"\bmask F\b": "掩码 F",
    r"\bconstant (heads?|matrices)\b": "常数", r"\b[Ll]ive weights\b": "动态",
    r"\bcomputed weights\b": "计算所得", r"\bsoftmax\b": "[sS]oftmax",
    r"\b[Ll]earned gates?\b": "学得的门", r"\brelevance\b": "相关度", r"\bthis claim\b": "论断",
    r"\bverdict that\b": "判定"}}


@pytest.mark.parametrize("language", OTHERS)
def test_a_term_has_one_translation(language):
    wrong = [(english, forms(entry)) for entry, english in texts_of(language)
             for word, its in SAME_WORDS.get(language, {}).items()
             if re.search(word, re.sub(r"`[^`]*`|\{[^}]*\}", "", english)) and not re.search(its, forms(entry)[-1])]
    assert not wrong


@pytest.mark.parametrize("language", OTHERS)
def test_a_translation_names_controls_as_they_are(language):
    """If a text names a control between stars, such as *Prune*, its translation names the translated label so."""
    labels = {english: forms(entry)[-1] for entry, english in texts_of(language)}
    wrong = [(name, labels[name], forms(entry)[-1]) for entry, english in texts_of(language)
             for name in re.findall(r"(?<!\*)\*([A-Z][^*]*)\*(?!\*)", english)
             if name in labels and labels[name] not in forms(entry)[-1]]
    assert not wrong


def test_a_page_named_in_a_text_is_marked_as_a_control():
    """Between stars, the name is checked against the translated title of the page."""
    names = "|".join(PAGES.values())
    named = re.compile(rf"\bpages? (\*?)({names})\b(?!')|(\*?)\b({names})(?:\*)? page\b")
    found = [(match, english) for _entry, english in texts_of("zh") for match in named.finditer(english)]
    assert found
    assert not [english for match, english in found if not (match[1] or match[3])]


def test_a_new_language_needs_no_translation(monkeypatch):
    """A new catalogue contains every text. Texts without a translation are displayed in English."""
    empty = extract.renewed(extract.template(), Catalog(locale="de"))
    assert len(empty) == len(texts.catalogue("zh")) and not any(map(extract.translated, [m for m in empty if m.id]))
    monkeypatch.setattr(texts, "catalogue", lambda language: empty)
    monkeypatch.setattr(texts, "language", lambda: "de")
    texts._translations.cache_clear()
    try:
        assert [_("Undo"), ngettext("{n} head", "{n} heads", 2)] == ["Undo", "2 heads"]
    finally:
        texts._translations.cache_clear()


@pytest.mark.parametrize(("text", "shown"), [
    ("this head has no key", "This head has no key."), ("a model needs two heads.", "A model needs two heads."),
    ("config.json names no heads", "config.json names no heads."), ("“no” is no variable", "“no” is no variable."),
    ("x=? is missing: “x”", "x=? is missing: “x”."), ("", ""), ("该模型没有词", "该模型没有词。"), ("Why?", "Why?")])
def test_an_error_is_shown_as_a_sentence(text: str, shown: str):
    assert texts.sentence(text) == shown
