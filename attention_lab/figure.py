"""Writes the chart of a statement of the Results page to a file.

Examples:
    attention-lab figure                                    # lists the statements that have a chart
    attention-lab figure synthesizer-fixed chart.svg        # .svg, .png, .html, .csv or .json
"""

from __future__ import annotations

import argparse
from typing import Any, cast

import figures
from figures.theme import Theme
from models.storage.damage import CheckpointError
from models.studies import claims, series
from models.studies.claims.statement import Statement

THEMES = ("print", "light", "dark")


def statements() -> dict[str, Statement]:
    """Returns key -> statement, of the stored verdicts that have a chart; raises CheckpointError as claims.read."""
    return {its.key: its for claim in claims.read() for its in claim.statements if its.chart is not None}


def chart_of(statement: Statement, theme: Theme = "print") -> Any:
    """Returns the statement's altair chart.

    Args:
        statement: one of `statements`.
        theme: see figures.theme.
    """
    its = statement.chart
    assert its is not None
    percent = its.form.endswith("%")
    if its.kind == "dots":
        return figures.dots(its.points, its.title, its.rule, percent, theme=theme)
    styles = {name: series.style(name) for name in {point["name"] for point in its.points}}
    return figures.seed_lines(its.points, its.title, its.across, styles, its.rule, percent, its.kind == "scatter",
                              theme=theme)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("statement", nargs="?", metavar="KEY")
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--theme", choices=THEMES, default=THEMES[0], help="default: %(default)s")
    asked = parser.parse_args()
    try:
        found = statements()
        if asked.statement is None:
            print("\n".join(f"{key}: {its.text}" for key, its in found.items()))
        elif asked.statement not in found:
            parser.error(f"no statement with a chart is called {asked.statement!r}; there are {', '.join(found)}")
        elif asked.file is None:
            parser.error("name the FILE to write, like chart.svg")
        else:
            its = found[asked.statement]
            chart = chart_of(its, cast(Theme, asked.theme))
            print(figures.save(chart, asked.file, title=its.text, caption=[f"Ours: {its.ours}"]))
    except (CheckpointError, ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
