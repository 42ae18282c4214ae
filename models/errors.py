"""Errors that models raise and pages show."""

from __future__ import annotations


class InputError(ValueError):
    """The task cannot read this text; the message is for the visitor.

    Attributes:
        start, stop: the characters of the text that the message is about.
    """

    def __init__(self, message: str, start: int = 0, stop: int | None = None) -> None:
        super().__init__(message)
        self.start = start
        self.stop = start + 1 if stop is None else stop


class CancelledError(Exception):
    """A computation was cancelled before it was complete; no partial result is kept."""


class StructureError(ValueError):
    """The structure of this model does not allow a measure; the message gives the reason."""
