"""Messages for visitors: English sentences and their values, which app/texts.py translates before they are shown.

`N_` marks a string without values for translation, `message` makes a sentence with values.

    title = N_("Selective")
    raise InputError(message("{name} was never set", name=name))
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # general categories of invisible characters
JOINERS = "\u200c\u200d"  # parts of emoji and of Arabic and Indic words
LEFTWARDS = ("R", "AL", "AN")  # bidirectional classes that could reverse the order of the characters around them


def N_(text: str) -> str:  # noqa: N802  # gettext's own name for it
    """Returns the string unchanged; tools/extract.py adds each string that is marked by `N_` to the catalogues."""
    return text


class Message(str):
    """An English sentence that keeps its template and values, so that it can be translated."""

    template: str  # the key in the catalogues, with {names} for values
    plural: str  # the template of the plural form; empty if the sentence has only one form
    n: int  # the number that selects the singular or the plural form
    values: Mapping[str, Any]  # name -> value; values that are messages are translated too
    separator: str = ""  # the text between the values, for a list of values, which has no template; else empty

    def __new__(cls, english: str, template: str = "", plural: str = "", n: int = 1,
                values: Mapping[str, Any] | None = None) -> Message:
        """Makes the sentence `english` from its parts."""
        self = super().__new__(cls, english)
        self.template, self.plural, self.n, self.values = template or english, plural, n, dict(values or {})
        return self

    def __str__(self) -> str:
        return self  # so that str(error) remains a Message


def message(template: str, /, **values: Any) -> Message:
    """Returns a sentence with values: `message("{n:,} tokens are too many", n=5000)`.

    The template is the key in the catalogues, so it must be a string literal that contains whole sentences. A template
    that is already a Message is returned unchanged.
    """
    if isinstance(template, Message) and not values:
        return template
    return Message(template.format(**values), template, values=values)


def plural_message(singular: str, plural: str, n: int, /, **values: Any) -> Message:
    """Returns a sentence in its singular or plural form; `n` selects the form and is also a value."""
    values = {"n": n, **values}
    return Message((singular if n == 1 else plural).format(**values), singular, plural, n, values)


def listed(parts: Iterable[str], separator: str = N_(", ")) -> Message:
    """Returns the parts joined by a separator; each part may be a Message."""
    values = {f"part{i}": part for i, part in enumerate(parts)}
    row = Message(separator.join(values.values()), values=values)
    row.separator = separator
    return row


def cut(text: str, most: int = 40) -> str:
    """Returns the first `most` characters of a text, in a form that is safe inside a sentence.

    Each invisible character becomes a visible code (`⟨202e⟩`). A text with right-to-left characters is put between
    isolation marks, so that the sentence around it keeps its order. `visibleText` and `isolateDirection` in
    components/core/format.js do the same.
    """
    excerpt = "".join(map(_sign, text[:most])) + ("…" if len(text) > most else "")
    is_leftward = any(unicodedata.bidirectional(sign) in LEFTWARDS for sign in excerpt)
    return f"\u2068{excerpt}\u2069" if is_leftward else excerpt


def _sign(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\ufffd" if 0xd800 <= code < 0xe000 else f"⟨{code:x}⟩"
