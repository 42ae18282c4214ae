"""The error and the address prefixes of foreign models."""

from __future__ import annotations

HUB, FOLDER = "hf:", "folder:"  # what addresses of foreign models begin with


class ForeignError(ValueError):
    """A model that cannot be opened; the message says why, and names no path of the machine."""
