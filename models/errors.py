"""Errors that models raise and pages show; the error of a damaged file names the command that restores it."""

from pathlib import Path

from models.messages import message


class InputError(ValueError):
    """The task cannot tokenise this text; the message is shown to the visitor.

    Attributes:
        start, stop: the range of characters of the text that the message is about; `stop` is excluded.
    """

    def __init__(self, message: str, start: int = 0, stop: int | None = None) -> None:
        super().__init__(message)
        self.start = start
        self.stop = start + 1 if stop is None else stop


class CancelledError(Exception):
    """A computation was cancelled before it was complete; no partial result is kept."""


class StructureError(ValueError):
    """A measure cannot be computed for the structure of this model; the message gives the reason."""


class CheckpointError(Exception):
    """A required file cannot be read."""


def in_repository(path: Path) -> Path:
    """Returns a file's path in the repository, for `broken`."""
    start = max((i for i, part in enumerate(path.parts) if part in ("models", "studies")), default=-3)
    return Path(*path.parts[start:])


def broken(place: Path, what: str, command: str = "") -> CheckpointError:
    """Returns the error about a file at `place` in the repository, with the commands that restore it."""
    if not command:
        return CheckpointError(message("{place} {what}. Restore it: git checkout -- {place}", place=place, what=what))
    return CheckpointError(message("{place} {what}. Restore it: git checkout -- {place}; or make it again: {command}",
                                   place=place, what=what, command=command))
