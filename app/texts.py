"""Translates interface texts with gettext. The English text in the code is the key of the translation catalogues.

The catalogues are in assets/texts and also contain the texts of JavaScript (components/core/texts.js).

    from app.texts import N_, _, ngettext

    _("Undo"); _("The text has {n:,} characters.", n=len(text)); ngettext("{n} token", "{n} tokens", count)
    PAGES = {"length": N_("Length")}        # marks a constant; `_(PAGES[page])` translates it later

A text is a string literal of whole sentences with {names} for values. A text is never an f-string and never composed
of fragments. `python -m tools.extract` collects all texts and updates the catalogues. This module imports no other
module of the repository.
"""

from __future__ import annotations

import gettext
import io
import json
import re
import string
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

FOLDER = Path(__file__).parents[1] / "assets" / "texts"
# code -> the language's own name; the texts in the code are in the first language
LANGUAGES = {"en": "English", "zh": "中文"}
GLOSSARY = FOLDER.parent / "glossary.json"
ENGLISH = next(iter(LANGUAGES))
# name of the cookie in which the browser stores the language chosen in the header (runtime/visitor.js)
COOKIE = "attention-lab-language"


# the language of the current thread, because each visitor has a thread
_spoken: ContextVar[str] = ContextVar("language", default=ENGLISH)


def speak(language: str) -> None:
    """Sets the language of the current thread. Call it before anything is drawn."""
    _spoken.set(language)


def language() -> str:
    """Returns the language of the current thread."""
    return _spoken.get()


def preferred(locale: str | None) -> str:
    """Returns the language for a browser's locale."""
    spoken = (locale or "").replace("_", "-").split("-")[0].lower()
    return spoken if spoken in LANGUAGES else ENGLISH


def N_(text: str) -> str:  # noqa: N802  # the name that gettext uses
    """Marks a text for extraction and returns it unchanged; `_` translates it later."""
    return text


def _(text: str, /, **values: Any) -> str:
    """Returns the translation of a text with its values filled in; a text in no catalogue is returned as it is."""
    if hasattr(text, "template"):
        return _translated(text)
    return _NUMBERS.vformat(_lookup(text), (), values) if values else _lookup(text)


def sentence(text: str) -> str:
    """Returns the translation of an error as a sentence: errors of Python begin in lower case and have no full stop."""
    text = _(text)
    if re.match(r"(a|[a-z]{2,}) ", text):  # a file's name stays as it is
        text = text[0].upper() + text[1:]
    if text and (text[-1].isalnum() or text[-1] in "”’»)"):
        text += "。" if ord(text[-1]) > 0x2E80 else "."
    return text


def translated(value: Any) -> Any:
    """Returns a copy of a JSON value in which each message of models.messages is translated, but no key."""
    if isinstance(value, dict):
        return {key: translated(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [translated(item) for item in value]
    return _(value) if hasattr(value, "template") else value


def number(value: float, form: str) -> str:
    """Returns a formatted number with a minus sign instead of a hyphen, like −0.3%."""
    return format(value, form).replace("-", "−")


class _Numbers(string.Formatter):
    """A string formatter that writes numbers with `number`."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Real):
            return number(value, format_spec)  # type: ignore[arg-type]  # numpy's numbers are accepted too
        return super().format_field(value, format_spec)


_NUMBERS = _Numbers()


def spelt(tokens: Iterable[str]) -> list[str]:
    """Returns tokens for display: special tokens, which are messages of models.messages.message, are translated."""
    return [_(token) if hasattr(token, "template") else token for token in tokens]


def ngettext(one: str, several: str, n: int, /, **values: Any) -> str:
    """Returns the translation with the plural form for `n`."""
    return _NUMBERS.vformat(_translations(language()).ngettext(one, several, n), (), {"n": n, **values})


def _translated(text: Any) -> str:
    """Returns the translation of a models.messages.Message; messages among its values are translated as well."""
    parts = {name: _(value) if hasattr(value, "template") else value for name, value in text.values.items()}
    if text.separator:
        return _lookup(text.separator).join(map(str, parts.values()))
    translation = _translations(language()).ngettext(text.template, text.plural, text.n) if text.plural \
        else _lookup(text.template)
    return _NUMBERS.vformat(translation, (), parts) if parts else translation


def _lookup(text: str) -> str:
    # an empty text is not looked up, because gettext stores the catalogue's header under ""
    return _translations(language()).gettext(text) if text else ""


@cache
def catalogue(spoken: str) -> Catalog:
    """Returns the catalogue of a language, from its .po file."""
    from babel.messages.pofile import read_po  # Babel is imported for another language only

    with (FOLDER / spoken / "LC_MESSAGES" / "app.po").open("rb") as file:
        return read_po(file, locale=spoken)


@cache
def _translations(spoken: str) -> gettext.NullTranslations:
    if spoken == ENGLISH:
        return gettext.NullTranslations()
    from babel.messages.mofile import write_mo

    file = io.BytesIO()
    write_mo(file, catalogue(spoken))
    file.seek(0)
    return gettext.GNUTranslations(file)


@cache
def glossary() -> dict[str, tuple[str, str]]:
    """Returns the glossary: key -> (term, definition), both in English; `_` translates them."""
    return {key: (term, text) for key, (term, text) in json.loads(GLOSSARY.read_text("utf-8")).items()}


@cache
def for_browser() -> str:
    """Returns JSON with the translations of the texts in JavaScript: language -> English text -> translation."""
    return json.dumps({spoken: dict(_of_scripts(catalogue(spoken))) for spoken in LANGUAGES if spoken != ENGLISH},
                      ensure_ascii=False, sort_keys=True)


def _of_scripts(texts: Catalog) -> Iterable[tuple[str, str]]:
    for message in texts:
        if any(area in ("browser", GLOSSARY.stem) for area, _line in message.locations) and \
                isinstance(message.id, str) and isinstance(message.string, str) and message.string:
            yield message.id, message.string
