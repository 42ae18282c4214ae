"""Tables as CSV (RFC 4180), as in components/core/csv.js."""

import csv
import io
import re
from collections.abc import Iterable
from typing import Any

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)


def to_csv(rows: Iterable[Iterable[Any]]) -> str:
    """Returns the rows as text."""
    file = io.StringIO()
    csv.writer(file).writerows([safe(value) for value in row] for row in rows)
    return file.getvalue()


def safe(value: Any) -> Any:
    """Returns a field that no spreadsheet reads as a formula: with an apostrophe in front; NaN is an empty field."""
    if isinstance(value, float) and value != value:
        return ""
    # a text of a single sign is a common token, and harmless
    is_formula = isinstance(value, str) and len(value) > 1 and value[0] in "=+-@\t\r" and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_formula else value
