"""Files of the repository that cannot be read: one error, which names the file and how to get it back."""

from __future__ import annotations

from pathlib import Path

from models.messages import told


class CheckpointError(Exception):
    """A file that models or pages need and that cannot be read; the message names it and what makes it again."""


def broken(place: Path, what: str, command: str = "") -> CheckpointError:
    """The error about a file.

    Args:
        place: from the repository's root: no path of the server.
        what: is wrong with it, like `is missing`, marked for the catalogues.
        command: makes it anew, where there is one beside the repository's own copy.
    """
    if not command:
        return CheckpointError(told("{place} {what}. Restore it with: git checkout -- {place}", place=place, what=what))
    return CheckpointError(told("{place} {what}. Restore it with: git checkout -- {place}; or make it again with: "
                                "{command}", place=place, what=what, command=command))
