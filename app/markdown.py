"""Functions for Markdown: escape text so that it is shown literally, split a page."""

import re

# Bidirectional control characters, except the first-strong isolates that models.messages.cut puts around a quotation.
_TURNING = re.compile("[\u202a-\u202e\u2066\u2067]")


def plain(text: str) -> str:
    """Returns the text with a backslash before every character that Markdown could interpret."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:<>|~&])", r"\\\1", text)


def literal(text: str) -> str:
    """Returns one line of Markdown that shows a visitor's text literally, bidirectional controls as `⟨202e⟩`."""
    text = _TURNING.sub(lambda match: f"⟨{ord(match[0]):x}⟩", text)
    # The parser looks for links and emoji after it has removed the escapes; word joiners (U+2060) prevent both.
    return plain(re.sub(r"(?=[:.@])", "\u2060", spaces(text)))


def blocks(markdown: str) -> list[str]:
    """Returns headings, paragraphs and list items of a page, each translated by itself, as one line each."""
    result: list[str] = []
    ended = True
    for line in markdown.splitlines():
        if line.strip() and not ended and not line.startswith(("#", "- ")):
            result[-1] += f" {line.strip()}"
        elif line.strip():
            result.append(line.strip())
        ended = not line.strip() or line.startswith("#")
    return result


def spaces(text: str) -> str:
    """Returns the text with each run of white space replaced by one blank."""
    return re.sub(r"\s+", " ", text)
