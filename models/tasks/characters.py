"""Labels of tokens that are only a part of a character: `ש 1/2` and `ש 2/2` in place of their bytes."""

import re
from collections.abc import Iterable, Sequence

PART = "\u2009"  # the thin space in a label such as `ש 1/2`, part 1 of the two tokens of a character
_PART = re.compile(PART + r"(\d+)/\d+$")
_BYTES = re.compile(r"(\\x[0-9a-f]{2})+")


def decoded(raw: bytes) -> str | None:
    """Returns the text of bytes in UTF-8; None if they are not UTF-8."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def bytes_in(label: str) -> bytes | None:
    r"""Returns the bytes of a label such as `\xe1\x88`; None for any other label."""
    return bytes.fromhex(label.replace("\\x", "")) if _BYTES.fullmatch(label) else None


def with_characters(labels: Sequence[str], raw: Sequence[bytes | None]) -> list[str]:
    """Returns the labels with characters in place of bytes; `raw` has the bytes of each token that needs them."""
    result = list(labels)
    start = 0
    while start < len(raw):
        stop = start + 1
        while raw[start] is not None and stop < len(raw) and raw[stop] is not None and \
                decoded(_joined(raw[start:stop])) is None:
            stop += 1
        text = None if raw[start] is None else decoded(_joined(raw[start:stop]))
        if text is not None and text.isprintable() and stop - start > 1:
            # a space before the character belongs to its first part alone
            result[start:stop] = [f"{text if part == 1 else text.lstrip(' ')}{PART}{part}/{stop - start}"
                                  for part in range(1, stop - start + 1)]
            start = stop
        else:
            start += 1
    return result


def whole_characters(tokens: Iterable[str]) -> list[str]:
    """Returns the tokens with the whole character at its first part, and nothing at the others."""
    return [token if (part := _PART.search(token)) is None else token[:part.start()] if part[1] == "1" else ""
            for token in tokens]


def _joined(parts: Sequence[bytes | None]) -> bytes:
    return b"".join(part or b"" for part in parts)
