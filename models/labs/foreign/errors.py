"""What goes wrong with a foreign model, told in words for the person who asked for it."""

from __future__ import annotations


class ForeignError(ValueError):
    """A model that cannot be opened; the message says why, and names no path of the machine."""
