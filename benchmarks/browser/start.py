"""Time to the first maps after the start of the process and after a page load; memory per visitor and of models."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser

from benchmarks.load.visitors import measure as visit
from tests.browser import ROOT, serve

LOADS = 7


def first_picture(browser: Browser) -> dict[str, Any]:
    """Returns the seconds to the first maps: after the start of the process, and after later page loads (median)."""
    began = time.perf_counter()
    with serve() as address:
        _load(browser, address)
        start = time.perf_counter() - began
        loads = sorted(_load(browser, address) for _ in range(LOADS))
    return {"process start to picture s": start, "page load to picture s": loads[len(loads) // 2]}


def memory_of_visitors(visitors: int = 100) -> dict[str, Any]:
    """Returns the resident memory per session in MB, measured after models and caches are warm."""
    with serve() as address:
        visit(address, visitors=8, every=0.3, seconds=10)
        before = _resident(address)
        visit(address, visitors=visitors, every=3, seconds=12)
        after = _resident(address)
    return {"visitors": visitors, "MB before": before, "MB a visitor": (after - before) / visitors}


def memory_of_models() -> dict[str, Any]:
    """Returns the memory in MB of a process that has loaded all models, and of the models that are still cached."""
    code = ("import models, models.loading; from app.server import serving; serving.tune(); names = models.names();"
            "labs = [serving.load(name) for name in names];"
            "[models.run(lab, lab.task.examples[0][1]) for lab in labs];"
            "held = models.loading._held.values();"
            "status = open('/proc/self/status').read();"
            "print(len(names), len(held), sum(lab.nbytes for lab in held) / 1e6,"
            "      int(status.split('VmRSS:')[1].split()[0]) / 1000)")
    printed = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    names, cached, weights, resident = printed.stdout.split()
    return {"models": int(names), "held at once": int(cached), "MB of weights held": float(weights),
            "MB of the process": float(resident)}


def _load(browser: Browser, address: str) -> float:
    context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900})
    page = context.new_page()
    began = time.perf_counter()
    page.goto(f"{address}/?model=stories-selective")
    page.locator('[data-part="lab"][data-drawn]').wait_for(state="attached")
    taken = time.perf_counter() - began
    context.close()
    return taken


def _resident(address: str) -> float:
    """Returns the memory in MB of the process that listens at the address."""
    port = address.rsplit(":", 1)[1]
    process = subprocess.run(["pgrep", "-f", f"server.port {port}"], capture_output=True, text=True, check=True)
    status = Path(f"/proc/{process.stdout.split()[0]}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1000
