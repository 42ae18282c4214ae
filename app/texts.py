"""What people read, in their language. English stands in the code and is the key of the catalogues, which gettext reads
from assets/texts; JavaScript's texts are in the same ones (components/core/texts.js).

    from app.texts import N_, _, ngettext

    _("Undo"); _("The text has {n:,} characters.", n=len(text)); ngettext("{n} token", "{n} tokens", count)
    PAGES = {"length": N_("Length")}        # a module's constant: marked here, `_(PAGES[page])` where it is shown

A text is a literal and holds whole sentences, with {names} for values: never an f-string, nor built from pieces.
`python -m tools.extract` finds all texts and renews the catalogues. This module imports nothing of ours.
"""

from __future__ import annotations

import gettext
import io
import json
import string
from collections.abc import Iterable
from contextvars import ContextVar
from functools import cache
from numbers import Real
from pathlib import Path
from typing import Any

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

FOLDER = Path(__file__).parents[1] / "assets" / "texts"
LANGUAGES = {"en": "English", "zh": "中文"}  # each by its own name; the first one is that of the code
GLOSSARY = FOLDER.parent / "glossary.json"
ENGLISH = next(iter(LANGUAGES))
COOKIE = "attention-lab-language"  # in the browser: the language that was chosen in the header (toolbar.js)


_spoken: ContextVar[str] = ContextVar("language", default=ENGLISH)  # each visitor's thread has its own


def speak(language: str) -> None:
    """Says which language this run is in, one of LANGUAGES; call it before anything is drawn."""
    _spoken.set(language)


def language() -> str:
    """The language of this run."""
    return _spoken.get()


def preferred(locale: str | None) -> str:
    """The language for a browser's locale, like `zh-CN`."""
    spoken = (locale or "").replace("_", "-").split("-")[0].lower()
    return spoken if spoken in LANGUAGES else ENGLISH


def N_(text: str) -> str:  # noqa: N802  # gettext's own name for it
    """Marks a text that is looked up later."""
    return text


def _(text: str, /, **values: Any) -> str:
    """The text in this run's language, with its values; also of what `models.messages` told. A text that is in no
    catalogue, like what a model of the Hub says of itself, stays as it is."""
    if hasattr(text, "template"):
        return _told(text)
    return _NUMBERS.vformat(_found(text), (), values) if values else _found(text)


def number(value: float, form: str) -> str:
    """A number as people write it, with a minus and not a hyphen: `number(-0.003, ".1%")` is −0.3%."""
    return format(value, form).replace("-", "−")


class _Numbers(string.Formatter):
    """What fills texts in: numbers as `number` writes them."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Real):
            return number(value, format_spec)  # type: ignore[arg-type]  # of numpy, too
        return super().format_field(value, format_spec)


_NUMBERS = _Numbers()


def spelt(tokens: Iterable[str]) -> list[str]:
    """Tokens as people read them: those that stand for no text, which models.messages told, in this run's language."""
    return [_(token) if hasattr(token, "template") else token for token in tokens]


def ngettext(one: str, several: str, n: int, /, **values: Any) -> str:
    """The form for `n` things, which is a value too: `{n}`."""
    return _NUMBERS.vformat(_translations(language()).ngettext(one, several, n), (), {"n": n, **values})


def _told(text: Any) -> str:
    """What a models.messages.Told says; its parts are looked up too."""
    parts = {name: _(value) if hasattr(value, "template") else value for name, value in text.values.items()}
    if text.separator:
        return _found(text.separator).join(map(str, parts.values()))
    found = _translations(language()).ngettext(text.template, text.plural, text.n) if text.plural \
        else _found(text.template)
    return _NUMBERS.vformat(found, (), parts) if parts else found


def _found(text: str) -> str:
    return _translations(language()).gettext(text) if text else ""  # gettext keeps the catalogue's header under ""


@cache
def catalogue(spoken: str) -> Catalog:
    """A language's texts, as its file has them."""
    with (FOLDER / spoken / "LC_MESSAGES" / "app.po").open("rb") as file:
        return read_po(file, locale=spoken)


@cache
def _translations(spoken: str) -> gettext.NullTranslations:
    if spoken == ENGLISH:
        return gettext.NullTranslations()
    file = io.BytesIO()
    write_mo(file, catalogue(spoken), use_fuzzy=True)
    file.seek(0)
    return gettext.GNUTranslations(file)


@cache
def glossary() -> dict[str, tuple[str, str]]:
    """Key of a term -> the term and what it means, both to be looked up."""
    return {key: (term, text) for key, (term, text) in json.loads(GLOSSARY.read_text("utf-8")).items()}


def tip(key: str) -> str:
    """What a term of the glossary means, for the `help` of a widget."""
    return _(glossary()[key][1])


@cache
def for_browser() -> str:
    """JSON: language -> text -> its translation, of the texts in JavaScript."""
    return json.dumps({spoken: dict(_of_scripts(catalogue(spoken))) for spoken in LANGUAGES if spoken != ENGLISH},
                      ensure_ascii=False, sort_keys=True)


def _of_scripts(texts: Catalog) -> Iterable[tuple[str, str]]:
    for message in texts:
        if any(area in ("browser", GLOSSARY.stem) for area, _line in message.locations) and \
                isinstance(message.id, str) and isinstance(message.string, str) and message.string:
            yield message.id, message.string
