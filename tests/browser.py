"""The running app and a real Chromium, for the browser tests and the benchmarks."""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Playwright

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 60
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


def free_ports(count: int) -> list[int]:
    """Returns ports of the loopback on which nothing listens."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


class Server:
    """A Streamlit script in a separate process, which can be killed and restarted at the same address."""

    def __init__(self, script: str = "app/host.py", root: Path = ROOT, **environment: str) -> None:
        """Prepares the process without starting it."""
        (self._port,) = free_ports(1)
        self.address = f"http://127.0.0.1:{self._port}"
        self._script, self._root, self._environment = script, root, environment
        self.log = root / "runs" / f"server-{self._port}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, health: str = "_stcore/health") -> None:
        """Starts the process and returns when it answers its health check."""
        self.log.parent.mkdir(exist_ok=True)
        with open(self.log, "w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", self._script, "--server.port", str(self._port),
                 "--server.address", "127.0.0.1"], cwd=self._root, stdout=output, stderr=subprocess.STDOUT,
                env=os.environ | {"OMP_NUM_THREADS": "1", "ATTENTION_LAB_HOSTED": ""} | self._environment)
        base = self._environment.get("STREAMLIT_SERVER_BASE_URL_PATH")
        wait(self.process, f"{self.address}{f'/{base}' if base else ''}/{health}", self.log)

    def stop(self, kill: bool = False) -> None:
        """Stops the process; `kill` sends SIGKILL instead of SIGTERM."""
        if self.process is not None:
            self.process.kill() if kill else self.process.terminate()
            self.process.wait(10)


@contextlib.contextmanager
def running(server: Server, health: str = "_stcore/health", kill: bool = False) -> Iterator[Server]:
    """Starts a server, yields it, and stops it at the end."""
    try:
        server.start(health)
        yield server
    finally:
        server.stop(kill)


@contextlib.contextmanager
def serve(script: str = "app/host.py", root: Path = ROOT, **environment: str) -> Iterator[str]:
    """Runs a Streamlit script in a separate process and yields its address."""
    with running(Server(script, root, **environment)) as server:
        yield server.address


def serve_hosted(root: Path = ROOT) -> contextlib.AbstractContextManager[Server]:
    """Returns a context with the app in hosted mode, which has loaded its models."""
    return running(Server("app/host.py", root, ATTENTION_LAB_HOSTED="1"), "healthz", kill=True)


@contextlib.contextmanager
def serve_marimo(notebook: Path, log: Path) -> Iterator[str]:
    """Runs a marimo notebook as an app in a separate process and yields its address."""
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "marimo", "run", str(notebook), "--headless", "--no-token", "--port", str(port)]
    address = f"http://127.0.0.1:{port}"
    with answering(command, f"{address}/health", log, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}):
        yield address


@contextlib.contextmanager
def answering(command: Sequence[str], url: str, log: Path, **options: Any) -> Iterator[None]:
    """Runs a command that serves an address; the context begins when it answers there."""
    with open(log, "w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, **options)
    try:
        wait(process, url, log)
        yield
    finally:
        process.terminate()
        process.wait(20)


def wait(process: subprocess.Popen, url: str, log: Path, seconds: float = START_SECONDS) -> None:
    """Returns when a process answers at an address, and raises RuntimeError with its log if it ends or is late."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and process.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.05)
    raise RuntimeError(f"the app did not start:\n{log.read_text()}")


def chromium(playwright: Playwright) -> Browser:
    """Returns a headless Chromium; Debian's shell comes first, which draws no window at half of the time."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    path = next(filter(None, map(shutil.which, names)), None)
    if path is None:
        raise RuntimeError("no Chromium here: run tests/chromium.sh")
    return playwright.chromium.launch(executable_path=path, args=FLAGS)
