"""Stores the judged claims in verdicts.json, and reads them with validation."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from models.errors import broken, in_repository
from models.messages import message
from studies.claims.statement import Claim

VERDICTS = Path(__file__).with_name("verdicts.json")
COMMAND = "python -m studies.claims --write"
_CLAIMS = TypeAdapter(list[Claim])


def as_json(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Returns the content of verdicts.json for these claims."""
    return _CLAIMS.dump_python(list(claims), mode="json")


def write(claims: Sequence[Claim], path: Path | None = None) -> None:
    """Writes verdicts.json, one line per statement, so that a change of a verdict is a change of one line."""
    parts = []
    for claim in as_json(claims):
        statements = ",\n".join(f"    {_line(statement)}" for statement in claim.pop("statements"))
        fields = "".join(f'  "{name}": {_line(value)},\n' for name, value in claim.items())
        parts.append(f'{{\n{fields}  "statements": [\n{statements}\n  ]\n}}')
    (path or VERDICTS).write_text("[" + ", ".join(parts) + "]\n", encoding="utf-8")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: Path | None = None) -> list[Claim]:
    """Returns the stored claims."""
    path = path or VERDICTS
    try:
        return _CLAIMS.validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise broken(in_repository(path), message("is missing"), COMMAND) from error
    except (OSError, ValidationError) as error:
        raise broken(in_repository(path), message("is damaged"), COMMAND) from error
