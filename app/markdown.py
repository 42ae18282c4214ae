"""Text as Markdown that shows it as it is."""

from __future__ import annotations

import re

from app.texts import _


def plain(text: str) -> str:
    """`text` with what Markdown would interpret made literal."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:<>|~&])", r"\\\1", text)


def literal(text: str) -> str:
    """A visitor's text as Markdown that shows it and nothing else: no link, no emoji, no formula."""
    # The parser makes links and emoji of finished text too, where escapes are gone: word joiners break them up.
    return plain(re.sub(r"(?=[:.@])", "\u2060", spaces(text)))


def blocks(markdown: str) -> list[str]:
    """A page's headings, paragraphs and items of lists, one line each: what is translated one by one."""
    found: list[str] = []
    ended = True
    for line in markdown.splitlines():
        if line.strip() and not ended and not line.startswith(("#", "- ")):
            found[-1] += f" {line.strip()}"
        elif line.strip():
            found.append(line.strip())
        ended = not line.strip() or line.startswith("#")
    return found


def translated(markdown: str) -> str:
    """A page of Markdown in this run's language, block by block: a file that stands in METHODS of app/extract.py."""
    lines = [_(block) for block in blocks(markdown)]
    return "\n".join(line if line.startswith("- ") else f"\n{line}\n" for line in lines)


def spaces(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return re.sub(r"\s+", " ", text)
