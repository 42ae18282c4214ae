"""Reads the statements, studies/statements/KEY.toml: text, source and its number, contrast, margin, and
its place in the Lab: model, tool, and models beside it."""

import functools
import string
import tomllib
from pathlib import Path
from typing import Any

from models.messages import message
from studies.claims.statement import Chart, Statement, Verdict
from studies.claims.stored_text import Table

STATEMENTS = Path(__file__).parents[1] / "statements"
TEXTS = ("text", "source", "basis", "contrast")


def keys() -> list[str]:
    """Returns the keys of all statements, sorted."""
    return sorted(path.stem for path in STATEMENTS.glob("*.toml"))


@functools.cache
def entry(key: str) -> dict[str, Any]:
    """Returns the content of a statement's file."""
    return tomllib.loads((STATEMENTS / f"{key}.toml").read_text(encoding="utf-8"))


def stated(key: str, ours: str, verdict: Verdict, table: Table, chart: Chart | None, command: str,
           **values: Any) -> Statement:
    """Returns the statement with the texts of its file, into which `values` are put."""
    own = entry(key)
    texts = {name: message(own[name], **{field: values[field] for _, field, _, _ in
                                         string.Formatter().parse(own[name]) if field})
             for name in TEXTS if name in own}
    return Statement(key, ours=ours, verdict=verdict, table=table, chart=chart, command=command,
                     verified=own.get("verified", True), **texts)
