"""CheckpointError: a file of the repository cannot be read; the message names a command that restores it."""

from pathlib import Path

from models.messages import message


class CheckpointError(Exception):
    """A required file cannot be read."""


def in_repository(path: Path) -> Path:
    """Returns a file's path in the repository, for `broken`."""
    start = max((i for i, part in enumerate(path.parts) if part in ("models", "studies")), default=-3)
    return Path(*path.parts[start:])


def broken(place: Path, what: str, command: str = "") -> CheckpointError:
    """Returns the error about a file, with the command that creates it again; empty if the file must be checked out.

    `place` is relative to the repository's root, never an absolute path of the server.
    """
    if not command:
        return CheckpointError(message("{place} {what}. Restore it: git checkout -- {place}", place=place,
                                       what=what))
    return CheckpointError(message("{place} {what}. Restore it: git "
                                   "checkout -- {place}; or make it again: "
                                   "{command}", place=place, what=what, command=command))
