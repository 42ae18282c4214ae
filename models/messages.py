"""Messages for people: English sentences with their values, which app/texts.py translates when it shows them.

`N_` marks a text without values, `told` makes a sentence with values.

    title = N_("Selective")
    raise InputError(told("{name} was never set", name=name))
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # general categories of what cannot be seen
JOINERS = "\u200c\u200d"  # parts of emoji and of Arabic and Indic words
LEFTWARDS = ("R", "AL", "AN")  # bidirectional classes that could turn their neighbours round


def N_(text: str) -> str:  # noqa: N802  # gettext's own name for it
    """The text itself; the catalogues are made of what is marked so."""
    return text


class Told(str):
    """An English sentence that still knows its parts, so that it can be said in another language.

    Attributes:
        template: the text of the catalogues, with {names} for values.
        plural: its form for several, empty if there is but one.
        n: what decides between the two.
        values: name -> value; those that are Told are looked up too.
        separator: of a row of values, which has no template.
    """

    template: str
    plural: str
    n: int
    values: Mapping[str, Any]
    separator: str = ""

    def __new__(cls, english: str, template: str = "", plural: str = "", n: int = 1,
                values: Mapping[str, Any] | None = None) -> Told:
        """Makes the sentence `english` from its parts."""
        self = super().__new__(cls, english)
        self.template, self.plural, self.n, self.values = template or english, plural, n, dict(values or {})
        return self

    def __str__(self) -> str:
        return self  # what str() says of an error stays Told


def told(template: str, /, **values: Any) -> Told:
    """A sentence with values: `told("{n:,} tokens are too many", n=5000)`. The template is looked up, so it must be a
    literal, and hold whole sentences. What is told already stays as it is.
    """
    if isinstance(template, Told) and not values:
        return template
    return Told(template.format(**values), template, values=values)


def told_n(one: str, several: str, n: int, /, **values: Any) -> Told:
    """As `told`, in one of two forms; `n` is a value too."""
    values = {"n": n, **values}
    return Told((one if n == 1 else several).format(**values), one, several, n, values)


def listed(parts: Iterable[str], separator: str = N_(", ")) -> Told:
    """The parts in a row, each of which may be Told."""
    values = {f"part{i}": part for i, part in enumerate(parts)}
    row = Told(separator.join(values.values()), values=values)
    row.separator = separator
    return row


def cut(text: str, most: int = 40) -> str:
    """At most `most` characters of a text, a sign for each that cannot be seen (`⟨202e⟩`), and between marks that keep
    its direction to itself where it has one. As lab.visible and lab.isolated in components/core/text.js.
    """
    shown = "".join(map(_sign, text[:most])) + ("…" if len(text) > most else "")
    return f"\u2068{shown}\u2069" if any(unicodedata.bidirectional(sign) in LEFTWARDS for sign in shown) else shown


def _sign(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\ufffd" if 0xd800 <= code < 0xe000 else f"⟨{code:x}⟩"
