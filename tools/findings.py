"""Writes docs/findings.md, the table of all statements, from the stored verdicts: `python -m tools.findings`.

Run this command after `python -m studies.claims --write`, and commit the changes of both commands.
tests/test_docs.py compares every cell.
"""

from __future__ import annotations

from pathlib import Path

from studies import claims
from studies.claims import WORDS, Claim, Statement, Verdict

FINDINGS = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
COLUMNS = ("Statement", "Source", "Here", "Seeds", "Verdict", "Reason")
HEAD = """# What the models show

This table has every statement of the papers that can be checked on small models, with the source's number, our number
and a verdict. Fixed rules compute the verdicts. The models have 0.5 to 4.7 million parameters and were trained for
minutes to an hour and a half, so a verdict is about these models and not about the paper. ± is the standard deviation
over seeds or probes; † marks a number of the source that was not checked in the paper itself.

`python -m tools.findings` writes this file from `studies/claims/verdicts.json`.
[assets/method.md](../assets/method.md) describes how the models were trained, measured and judged. The Results page has
tables and charts of each statement.
"""


def rows(claim: Claim) -> list[tuple[str, ...]]:
    """Returns the cells of a claim's statements, in the order of COLUMNS."""
    return [(row.text, row.sourced, row.ours, seeds(row.verdict), f"**{row.verdict.word}**", reason(row))
            for row in claim.statements]


def seeds(verdict: Verdict) -> str:
    """Returns the numbers of seeds and training steps behind the verdict; a dash if no training was needed."""
    if not verdict.seeds:
        return "–"
    count = "one training" if verdict.seeds == 1 else f"{verdict.seeds} seeds"
    return f"{count}, {verdict.steps:,} steps" if verdict.steps else count


def reason(statement: Statement) -> str:
    """Returns the reason of the verdict as a sentence, or the rule if all parts of the claim hold."""
    why = statement.verdict.why or statement.rule
    return f"{why[:1].upper()}{why[1:]}."


def text() -> str:
    """Returns the whole page."""
    legend = [f"- **{word}**: {sentence}." for word, sentence in WORDS.items()]
    lines = [HEAD, *legend, "", f"| {' | '.join(COLUMNS)} |", f"|{' --- |' * len(COLUMNS)}"]
    for claim in claims.read():
        lines.append(f"| **{claim.title}** ({claim.source}) |{' |' * (len(COLUMNS) - 1)}")
        lines += [f"| {' | '.join(cell.replace('|', '/') for cell in row)} |" for row in rows(claim)]
    return "\n".join(lines) + "\n"


def main() -> None:
    FINDINGS.parent.mkdir(exist_ok=True)
    FINDINGS.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
