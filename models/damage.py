"""Files of the repository that cannot be read: one error, which names the file and how to get it back."""

from __future__ import annotations

from pathlib import Path


class CheckpointError(Exception):
    """A file that models or pages need and that cannot be read; the message names it and what makes it again."""


def broken(place: Path, what: str, again: str = "") -> CheckpointError:
    """The error about a file.

    Args:
        place: from the repository's root: no path of the server.
        what: is wrong with it, like `is missing`.
        again: the command that makes it anew, where there is one beside the repository's own copy.
    """
    return CheckpointError(f"{place} {what}. Restore it with: git checkout -- {place}"
                           + (f"; or {again}" if again else ""))
