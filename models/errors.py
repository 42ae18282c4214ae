"""Errors that models raise and pages show."""


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
