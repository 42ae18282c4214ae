"""Runs benchmarks, prints their tables and writes docs/speed.md: `make bench`, or `python -m benchmarks NAME ...`."""

import argparse
import json
import os
import platform
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from benchmarks.browser import actions, places, translation, words
from benchmarks.load import events
from tests.browser import chromium, serve
from tools import readme

Rows = list[dict[str, Any]]


def machine() -> str:
    """Returns the processor, the number of cores, and the load average of the last minute."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    load = f", load average {os.getloadavg()[0]:.1f} before the run" if hasattr(os, "getloadavg") else ""
    return f"{next(names, platform.processor())}, {os.cpu_count()} cores{load}."


def in_browser(measure: Callable[..., Rows], *arguments: Any) -> list[Rows]:
    """Runs a benchmark that needs Chromium; the benchmark starts its own servers."""
    with sync_playwright() as playwright:
        browser = chromium(playwright)
        try:
            return [measure(browser, *arguments)]
        finally:
            browser.close()


def interactions() -> list[Rows]:
    with serve() as address:
        return [table for measure in (actions, words) for table in in_browser(measure, address)]


def routed_visits() -> list[Rows]:
    """Measures events on one process, and behind HAProxy with more and more visitors until p95 is above 300 ms."""
    rows = [{"replicas": 1} | events.on_new_host(200, balanced=False)]
    if shutil.which("haproxy"):
        for count in range(400, 1001, 50):
            rows.append({"replicas": 2} | events.on_new_host(count, balanced=True))
            if rows[-1]["p95 ms"] > 300:
                break
    return [rows]


def benchmarks() -> dict[str, tuple[str, Callable[[], list[Rows]]]]:
    """Returns name of a benchmark -> (title, function that returns tables)."""
    return {
        "interaction": ("Interaction", interactions),
        "translation": ("A translation", partial(in_browser, translation)),
        "start": ("Start", partial(in_browser, places)),
        "events": ("Visitors over the events route, one event every 3 s", routed_visits),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(benchmarks())}; default: all")
    arguments = parser.parse_args()
    available = benchmarks()
    results = json.loads(readme.RESULTS.read_text("utf-8")) if readme.RESULTS.exists() else {}
    for name in arguments.names or available:
        title, run = available[name]
        where = machine()
        results[title] = {"machine": where, "tables": run()}
        print(f"\n## {title}\n\n{where}\n\n" + "\n".join(map(readme.table, results[title]["tables"])), flush=True)
        ordered = {title: results[title] for title, _run in available.values() if title in results}
        readme.RESULTS.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", "utf-8")
    readme.main()


if __name__ == "__main__":
    main()
