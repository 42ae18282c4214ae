"""Writes docs/findings.md, all statements, from the stored verdicts: `python -m tools.findings`.

Run this command after `python -m studies.claims --write`, and commit the changes of both commands.
tests/test_docs.py compares the text.
"""

from pathlib import Path

from studies import claims
from studies.claims import WORDS, Statement, Verdict

FINDINGS = Path(__file__).resolve().parents[1] / "docs" / "findings.md"
WIDTH = 41  # characters of a bar
HEAD = """# What the models show

Every statement of the papers that can be checked on small models, with a word that a fixed rule gives. The models have
0.5 to 5.1 million parameters and were trained for minutes to an hour and a half, so a word is about these models and
not about the paper. † marks a number of the source that was not checked in the paper itself.

The third line of a statement is its primary contrast: the value, its 90% interval, and the margin or the limit. In the
bar `o` is the value, `[` and `]` the interval, `|` zero, and `:` the margin or the limit. ± is the half-width of
the 90% interval of a mean.

`python -m tools.findings` writes this file from `studies/claims/verdicts.json`. The rule is in
`studies/claims/rules.md`; [method.md](method.md) describes trainings and measurements. The page
Findings has tables and charts of each statement.
"""


def bar(verdict: Verdict) -> str:
    """Returns the interval of a contrast as a line of text; empty if it is not measured."""
    if verdict.value is None or verdict.low is None or verdict.high is None or verdict.bound is None:
        return ""
    known = [0.0, verdict.low, verdict.high, *verdict.bounds]
    low, high = min(known), max(known)

    def place(number: float) -> int:
        return round((number - low) / (high - low) * (WIDTH - 1))

    line = ["·"] * WIDTH
    for position in range(place(verdict.low), place(verdict.high) + 1):
        line[position] = "="
    for number, mark in ((0.0, "|"), *((bound, ":") for bound in verdict.bounds), (verdict.low, "["),
                         (verdict.high, "]"), (verdict.value, "o")):
        line[place(number)] = mark
    return "".join(line)


def lines_of(statement: Statement) -> list[str]:
    """Returns the three lines of a statement."""
    verdict = statement.verdict
    notes = [str(part) for part in (verdict.interval, seeds(verdict), verdict.why) if part]
    return [f"**{statement.text}** *{verdict.word}*  ",
            f"Source: {statement.sourced}. Here: {statement.ours}.  ",
            f"{statement.contrast}: {'; '.join(notes)}." + (f" `{bar(verdict)}`" if bar(verdict) else ""), ""]


def seeds(verdict: Verdict) -> str:
    """Returns the numbers of trainings and steps behind the verdict; empty if no training is involved."""
    if not verdict.seeds:
        return ""
    count = "one training" if verdict.seeds == 1 else f"{verdict.seeds} seeds"
    return f"{count}, {verdict.steps:,} steps" if verdict.steps else count


def text() -> str:
    """Returns the whole page."""
    lines = [HEAD, *(f"- *{word}*: {sentence}." for word, sentence in WORDS.items()), ""]
    for claim in claims.read():
        lines += [f"## {claim.title}", "", f"{claim.source}", ""]
        for statement in claim.statements:
            lines += lines_of(statement)
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    FINDINGS.parent.mkdir(exist_ok=True)
    FINDINGS.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
