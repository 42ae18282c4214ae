"""Text as Markdown that shows it as it is."""

from __future__ import annotations

import re

from app.texts import _

# Bidirectional controls but for the isolates that models.messages.cut puts around a quotation.
_TURNING = re.compile("[\u202a-\u202e\u2066\u2067]")


def plain(text: str) -> str:
    """`text` with what Markdown would interpret made literal."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:<>|~&])", r"\\\1", text)


def literal(text: str) -> str:
    """A visitor's text as Markdown that shows it and nothing else: no link, no emoji, no formula; and what would turn
    the text after it around is a sign."""
    text = _TURNING.sub(lambda found: f"⟨{ord(found[0]):x}⟩", text)
    # The parser makes links and emoji of finished text too, where escapes are gone: word joiners break them up.
    return plain(re.sub(r"(?=[:.@])", "\u2060", spaces(text)))


def linked(markdown: str) -> str:
    """Finished Markdown with every paper's number as a link: `arXiv 2005.00743`, `kexue 8823`."""
    markdown = re.sub(r"arXiv (\d{4})\\?\.(\d{4,5})", r"[arXiv \1.\2](https://arxiv.org/abs/\1.\2)", markdown)
    return re.sub(r"kexue(?:\\?\.fm)?(?:/archives/| )(\d{4,5})", r"[kexue \1](https://kexue.fm/archives/\1)", markdown)


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
    """A page of Markdown in this run's language, block by block: a file that stands in METHODS of tools/extract.py."""
    lines = [_(block) for block in blocks(markdown)]
    return "\n".join(line if line.startswith("- ") else f"\n{line}\n" for line in lines)


def spaces(text: str) -> str:
    """`text` with every run of white space as one blank."""
    return re.sub(r"\s+", " ", text)
