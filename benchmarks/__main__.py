"""All benchmarks, as Markdown tables: `make bench`, or `python -m benchmarks forward memory ...`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks import constant, foreign, forward, interaction, minilm, neighbour, start, translation, visitors
from tests.browser import chromium, serve

NAMES = ("forward", "foreign", "interaction", "constant", "translation", "minilm", "start", "visitors", "neighbour",
         "memory")


def table(rows: list[dict[str, Any]]) -> str:
    """Rows of one shape as a Markdown table."""
    def text(value: Any) -> str:
        return f"{value:.2f}" if isinstance(value, float) else str(value)

    head = "| " + " | ".join(rows[0]) + " |\n|" + " --- |" * len(rows[0])
    return "\n".join([head, *("| " + " | ".join(map(text, row.values())) + " |" for row in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}; default: all")
    parser.add_argument("--bertviz", type=Path, metavar="FOLDER", default=os.environ.get("BERTVIZ"),
                        help="what benchmarks/bertviz.sh made, for minilm; default: $BERTVIZ")
    asked = parser.parse_args()
    names = asked.names or NAMES
    if "forward" in names:
        print("\n### Forward pass\n\n" + table(forward.measure()), flush=True)
    if "foreign" in names:
        print("\n### Foreign models\n\n" + table(foreign.measure()), flush=True)
        print("\n" + table(foreign.memory()), flush=True)
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        if "interaction" in names:
            with serve() as address:
                print("\n### Interaction\n\n" + table(interaction.measure(browser, address)), flush=True)
                print("\n" + table(interaction.words(browser, address)), flush=True)
        if "constant" in names:
            print("\n### The Constant page\n\n" + table(constant.measure(browser)), flush=True)
        if "translation" in names:
            print("\n### A translation\n\n" + table(translation.measure(browser)), flush=True)
        if "minilm" in names:
            print("\n### MiniLM, 64 tokens, 72 heads\n\n" + table(minilm.measure(browser, asked.bertviz)), flush=True)
        if "start" in names:
            print("\n### Start\n\n" + table([start.first_picture(browser)]), flush=True)
        browser.close()
    if "visitors" in names:  # without a browser, which would take a core
        rows = []
        for count, states in ((200, 20), (100, 2000), (200, 2000)):
            with serve() as address:
                visitors.measure(address, visitors=8, every=0.3, seconds=10)  # loads the models
                rows.append(visitors.measure(address, count, 3.0, 40.0, states))
        print("\n### Visitors, one action every 3 s\n\n" + table(rows), flush=True)
        print("\n" + table([start.memory_of_visitors()]), flush=True)
    if "neighbour" in names:
        with serve() as address:
            visitors.measure(address, visitors=8, every=0.3, seconds=10)
            print("\n### Ten visitors beside one who opens slow pages\n\n" + table([neighbour.measure(address)]),
                  flush=True)
    if "memory" in names:
        print("\n### Memory of all models\n\n" + table([start.memory_of_models()]), flush=True)


if __name__ == "__main__":
    main()
