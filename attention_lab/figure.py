"""Writes the chart of a statement of Findings to a file.

Examples:
    attention-lab figure                                    # lists the statements that have a chart
    attention-lab figure synthesizer-fixed chart.svg        # .svg, .png, .html, .csv or .json
"""

import argparse
from typing import Any, cast

import figures
from figures.theme import Theme
from models.errors import CheckpointError
from studies import claims, series
from studies.claims import Statement

THEMES = ("print", "light", "dark")


def statements() -> dict[str, Statement]:
    """Returns key -> statement for the stored statements that have a chart; raises CheckpointError like claims.read."""
    return {statement.key: statement for claim in claims.read() for statement in claim.statements
            if statement.chart is not None}


def chart_of(statement: Statement, theme: Theme = "print") -> Any:
    """Returns the altair chart of a statement that has one."""
    chart = statement.chart
    assert chart is not None
    percent = chart.form.endswith("%")
    if chart.kind == "dots":
        return figures.dots(chart.points, chart.title, chart.rule, percent, theme=theme)
    styles = {name: series.style(name) for name in {point["name"] for point in chart.points}}
    return figures.seed_lines(chart.points, chart.title, chart.across, styles, chart.rule, percent,
                              chart.kind == "scatter", theme=theme)


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("statement", nargs="?", metavar="KEY")
    parser.add_argument("file", nargs="?", metavar="FILE")
    parser.add_argument("--theme", choices=THEMES, default=THEMES[0], help="default: %(default)s")
    arguments = parser.parse_args()
    try:
        by_key = statements()
        if arguments.statement is None:
            print("\n".join(f"{key}: {statement.text}" for key, statement in by_key.items()))
        elif arguments.statement not in by_key:
            parser.error(f"no statement with a chart is called {arguments.statement!r}; there are {', '.join(by_key)}")
        elif arguments.file is None:
            parser.error("name the FILE to write, like chart.svg")
        else:
            statement = by_key[arguments.statement]
            chart = chart_of(statement, cast(Theme, arguments.theme))
            print(figures.save(chart, arguments.file, title=statement.text, caption=[f"Ours: {statement.ours}"]))
    except (CheckpointError, ValueError, OSError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
