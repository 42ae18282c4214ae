"""Measures the numbers that claims need and that are not in the cards, and prints all verdicts.

    python -m studies.claims            # the verdicts, from the stored measurements
    python -m studies.claims all        # measures everything again
    python -m studies.claims speed      # measures one part again
    python -m studies.claims --write    # writes verdicts.json, which pages and documents read
"""

import argparse
import json
import textwrap

from models.storage.checkpoint import CheckpointError, write_json
from models.storage.datasets import add_folder_options
from studies.claims import Claim, write
from studies.claims.evidence import CLAIMS
from studies.store import MEASUREMENTS


def main() -> None:
    """Runs the command of the module's docstring."""
    from studies.claims.judge import judge
    from studies.claims.measure import PARTS

    parser = argparse.ArgumentParser(prog="python -m studies.claims", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS, "all"], metavar="PART",
                        help=f"what is measured again: {', '.join(PARTS)}, or all")
    add_folder_options(parser)
    parser.add_argument("--write", action="store_true", help="write verdicts.json")
    arguments = parser.parse_args()
    parts = PARTS if "all" in arguments.parts else arguments.parts
    try:
        for part in parts:
            _keep(part, PARTS[part](arguments.data, arguments.runs))
        claims = judge()
    except (CheckpointError, FileNotFoundError) as error:
        parser.error(str(error))
    if arguments.write:
        write(claims)
    for claim in claims:
        print(described(claim))


def _keep(part: str, values: dict) -> None:
    """Writes one part of claims.json; the numbers of other parts and of models not in `values` are kept."""
    path = MEASUREMENTS / CLAIMS
    path.parent.mkdir(exist_ok=True)
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    by_model = all(isinstance(value, dict) for value in values.values())
    write_json(path, old | {part: (old.get(part, {}) | values) if by_model else values})


def described(claim: Claim) -> str:
    """Returns a claim as text for the terminal."""
    lines = [f"\n{claim.title} ({claim.source})"]
    for statement in claim.statements:
        lines += [f"\n  {statement.verdict.word.upper()}: {statement.text}",
                  *textwrap.wrap(statement.verdict.why, 110, initial_indent="    ", subsequent_indent="    "),
                  *textwrap.wrap(f"source: {statement.sourced}", 110, initial_indent="    ",
                                 subsequent_indent="      ")]
        lines += ["    " + " | ".join(row.values()) for row in statement.table]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
