"""Writes docs/findings.md, and the generated parts of README.md and docs/: `python -m tools.readme`.

Two comments enclose a generated part: `<!-- tools.readme: NAME -->` and `<!-- end -->`. Commit the result.
tests/test_docs.py fails if a page does not match the present cards, verdicts, attention types or benchmark results.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import models
from app.panels.choosing import card_of, headline
from models.nets.attention import TYPES
from studies import claims
from studies.claims import WORDS, Statement, Verdict

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "docs/models.md", "docs/speed.md")
RESULTS = ROOT / "benchmarks" / "results.json"
FINDINGS = ROOT / "docs" / "findings.md"
WIDTH = 41  # characters of a bar
HEAD = """# What the models show

Every statement of the papers that can be checked on small models, with a word that a fixed rule gives. The models have
0.5 to 5.1 million parameters and were trained for minutes to an hour and a half, so a word is about these models and
not about the paper. † marks a number of the source that was not checked in the paper itself.

The third line of a statement is its primary contrast: the value, its 90% interval, and the margin or the limit. In the
bar `o` is the value, `[` and `]` the interval, `|` zero, and `:` the margin or the limit. ± is the half-width of
the 90% interval of a mean.

`python -m tools.readme` writes this file from `studies/claims/verdicts.json`. The rule is in
`studies/claims/rules.md`; [method.md](method.md) describes trainings and measurements. The page
Findings has tables and charts of each statement.
"""
_PART = re.compile(r"(?<=<!-- tools\.readme: )(\w+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def types() -> str:
    """Returns the table of attention types: title, one sentence, source."""
    families: dict[str, list[str]] = {}
    for name in models.names():
        families.setdefault(card_of(name)["attention"]["title"], []).append(card_of(name)["task"])
    return table([{"attention": attention.title, "what it does": attention.line, "source": source(attention.published),
                   "models": ", ".join(sorted({*families.get(attention.title, [])}))} for attention in TYPES.values()])


def source(published: str) -> str:
    """Returns the publication of an attention type with a link to the paper."""
    text = re.sub(r"arXiv (\d{4}\.\d{5})", r"[arXiv](https://arxiv.org/abs/\1)", published)
    return re.sub(r"kexue\.fm/archives/(\d+)", r"[kexue](https://kexue.fm/archives/\1)", text)


def released() -> str:
    """Returns the table of released models: name, attention type, parameters, score on held-out texts."""
    cards: dict[str, Any] = {name: card_of(name) for name in models.names()}
    return table([{"model": f"`{name}`", "attention": card["attention"]["title"],
                   "parameters": f"{card['model']['parameters']:,}", "held out": headline(card)}
                  for name, card in cards.items()])


def verdicts() -> str:
    """Returns a sentence with the number of statements per verdict."""
    words = [statement.verdict.word for claim in claims.read() for statement in claim.statements]
    each = ", ".join(f"{word} {words.count(word)}" for word in WORDS)
    return f"Verdicts of the {len(words)} statements: {each}.\n"


def speed() -> str:
    """Returns the tables of the last run of each benchmark, with the machine and its load."""
    runs = json.loads(RESULTS.read_text("utf-8"))
    return "\n".join(f"## {title}\n\n{run['machine']}\n\n" + "\n".join(map(table, run["tables"]))
                     for title, run in runs.items())


def table(rows: list[dict[str, Any]]) -> str:
    """Returns rows with the same keys as a Markdown table; floats have two decimals."""
    def cell(value: Any) -> str:
        return f"{value:.2f}" if isinstance(value, float) else str(value)

    lines = [list(rows[0]), ["---"] * len(rows[0]), *(map(cell, row.values()) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


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


def findings() -> str:
    """Returns docs/findings.md, all statements, from the stored verdicts."""
    lines = [HEAD, *(f"- *{word}*: {sentence}." for word, sentence in WORDS.items()), ""]
    for claim in claims.read():
        lines += [f"## {claim.title}", "", f"{claim.source}", ""]
        for statement in claim.statements:
            lines += lines_of(statement)
    return "\n".join(lines).rstrip("\n") + "\n"


PARTS: dict[str, Callable[[], str]] = {"types": types, "models": released, "verdicts": verdicts, "speed": speed}


def renewed(text: str) -> str:
    """Returns the text of a page with current generated parts."""
    return _PART.sub(lambda part: f"{part[1]}{part[2]}{PARTS[part[1]]()}", text)


def main() -> None:
    FINDINGS.write_text(findings(), encoding="utf-8")
    for page in PAGES:
        path = ROOT / page
        path.write_text(renewed(path.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
