"""The running app and a real Chromium, for the browser tests and the benchmarks."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Playwright

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


@contextlib.contextmanager
def serve(script: str = "app/main.py", root: Path = ROOT) -> Iterator[str]:
    """Runs a Streamlit script in a process of its own and yields its address.

    Raises:
        RuntimeError: it does not answer; the message holds what it printed.
    """
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = root / "runs" / f"server-{port}.log"
    log.parent.mkdir(exist_ok=True)
    with open(log, "w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port),
             "--server.address", "127.0.0.1"],
            cwd=root, stdout=output, stderr=subprocess.STDOUT, env=os.environ | {"OMP_NUM_THREADS": "1"})
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(process, f"{address}/_stcore/health", log)
        yield address
    finally:
        process.terminate()
        process.wait(10)


def _wait(process: subprocess.Popen, url: str, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the app did not start:\n{log.read_text()}")


def chromium(playwright: Playwright) -> Browser:
    """A headless Chromium: the machine's own."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if path is None:
        raise RuntimeError("no Chromium here: run tests/chromium.sh")
    return playwright.chromium.launch(executable_path=path, args=FLAGS)
