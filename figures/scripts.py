"""The script of Vega for the browser, which tools/vega.py writes to app/static."""

from __future__ import annotations

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "app" / "static"


def path(version: str) -> Path:
    """Returns the path of the script of a version of Vega."""
    return FOLDER / f"vega-{version}.js"


@cache
def vega() -> Path:
    """Returns the path of the script.

    Raises:
        FileNotFoundError: it is missing; the message has the command that writes it.
    """
    found = sorted(FOLDER.glob("vega-*.js"))
    if not found:
        raise FileNotFoundError("app/static has no vega-*.js: run python -m tools.vega")
    return found[-1]
