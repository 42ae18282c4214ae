"""What somebody typed, or wrote into a link, as part of a sentence of ours: short, and unable to change the rest."""

from __future__ import annotations

import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # general categories of what cannot be seen
JOINERS = "\u200c\u200d"  # parts of emoji and of Arabic and Indic words
LEFTWARDS = ("R", "AL", "AN")  # bidirectional classes that could turn their neighbours round


def cut(text: str, most: int = 40) -> str:
    """At most `most` characters of a text, a sign for each that cannot be seen (`⟨202e⟩`), and between marks that keep
    its direction to itself where it has one. As lab.visible and lab.isolated in components/core/text.js."""
    shown = "".join(map(_sign, text[:most])) + ("…" if len(text) > most else "")
    return f"\u2068{shown}\u2069" if any(unicodedata.bidirectional(sign) in LEFTWARDS for sign in shown) else shown


def _sign(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in UNSEEN:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "\ufffd" if 0xd800 <= code < 0xe000 else f"⟨{code:x}⟩"
