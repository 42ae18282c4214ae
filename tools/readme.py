"""Renews what README repeats of cards and verdicts, its table of models and its count: `python -m tools.readme`.

Commit what it writes; a test fails while README is older (tests/test_docs.py).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import models
from app.panels.choice.card import card_of, headline
from models.studies.claims import FAILS, HOLDS, OPEN, PART, UNSURE, claims

README = Path(__file__).resolve().parents[1] / "README.md"
_ROWS = re.compile(r"(?<=\| --- \| --- \| --- \| --- \|\n)(?:\| `.*\n)+")
_COUNT = re.compile(r"^Of \d+ statements:.*\.$", re.MULTILINE)


def rows() -> str:
    """The lines of the table, a model each: name, attention, parameters, what it has on held-out texts."""
    cards: dict[str, Any] = {name: card_of(name) for name in models.names()}
    return "".join(f"| `{name}` | {card['attention']['title']} | {card['model']['parameters']:,} | {headline(card)} |\n"
                   for name, card in cards.items())


def count() -> str:
    """A sentence: how many statements there are, and how many have each verdict."""
    words = [statement.verdict.word for claim in claims() for statement in claim.statements]
    each = ", ".join(f"{word} {words.count(word)}" for word in (HOLDS, PART, FAILS, UNSURE, OPEN))
    return f"Of {len(words)} statements: {each}."


def renewed(text: str) -> str:
    """
    Raises:
        ValueError: the table or the sentence is missing, or there more than once.
    """
    for pattern, words in ((_ROWS, rows()), (_COUNT, count())):
        before, *after = pattern.split(text)
        if len(after) != 1:
            raise ValueError(f"{len(after)} places for {words.splitlines()[0]!r} in README, expected one")
        text = before + words + after[0]
    return text


def main() -> None:
    README.write_text(renewed(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
