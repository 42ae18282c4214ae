"""The error and the address prefixes of foreign models."""

from collections.abc import Mapping
from typing import Any

HUB, FOLDER = "hf:", "folder:"  # prefixes of the addresses of foreign models


class ForeignError(ValueError):
    """A model that cannot be opened; the message gives the reason and contains no path of the machine."""

    cause: str = ""  # key of REFUSALS in models/labs/foreign/refusals.py; empty for an error that is not a refusal
    values: Mapping[str, Any] = {}  # values of the names in the refusal's sentences
