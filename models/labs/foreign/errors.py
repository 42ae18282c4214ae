"""The error and the address prefixes of foreign models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HUB, FOLDER = "hf:", "folder:"  # what addresses of foreign models begin with


class ForeignError(ValueError):
    """A model that cannot be opened; the message says why, and names no path of the machine.

    Attributes:
        cause: key of REFUSALS in models/labs/foreign/refusals.py; empty for an error that is no refusal.
        values: values of the names in the refusal's sentences.
    """

    cause: str = ""
    values: Mapping[str, Any] = {}
