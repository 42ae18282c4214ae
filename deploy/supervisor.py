"""Starts replicas and HAProxy, restarts replicas that ended, and restarts single replicas without an interruption."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from deploy import replica

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("a", "b")
PATIENCE = 90.0  # seconds within which a replica must be ready
PAUSE = 1.0  # seconds between two checks for processes that ended
SOCKET = "deploy.sock"  # name of the socket for `python -m deploy restart`, in the folder of HAProxy's control socket

Start = Callable[[str], "subprocess.Popen[bytes]"]  # a function that starts the replica with a given name


class RestartError(Exception):
    """A replica was not restarted; the message gives the reason."""


class Supervisor:
    """Replicas behind HAProxy, each with a port on 127.0.0.1."""

    def __init__(self, ports: dict[str, int], start: Start, control: Path = replica.CONTROL) -> None:
        self.ports, self.control = ports, control
        self._start = start
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.balancer: subprocess.Popen[bytes] | None = None

    def begin(self, balance: Callable[[], subprocess.Popen[bytes]]) -> None:
        """Starts the replicas, waits until all of them are ready, and calls `balance`, which starts HAProxy."""
        for name in self.ports:
            self.running[name] = self._start(name)
        for name in self.ports:
            self._wait(name)
        self.control.parent.mkdir(parents=True, exist_ok=True)
        self.balancer = balance()

    def watch(self) -> int:
        """Starts replicas that ended and serves `python -m deploy restart`; returns HAProxy's status when it ends."""
        assert self.balancer is not None
        with listening(self.control.parent / SOCKET) as server:
            while self.balancer.poll() is None:
                self._revive()
                with suppress(TimeoutError):
                    line, _ = server.accept()
                    with line:
                        self._serve(line)
        return self.balancer.returncode

    def stop(self) -> None:
        """Ends all processes."""
        processes = [*self.running.values(), *([self.balancer] if self.balancer else [])]
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)

    def restart(self, name: str) -> Iterator[str]:
        """Restarts one replica while the other replica serves all sessions, and yields a line of text per step.

        Raises RestartError if no other replica is up, or if the replica does not become ready again.
        """
        states = replica.visits(self.control)
        others = [other for other, (state, _) in states.items() if other != name and state.startswith("UP")]
        if not others:
            raise RestartError(f"only {name} is up: its visits could go nowhere")
        replica.set_state(name, "stop", self.control)
        yield f"{name}: its {states[name][1]} connections go on at {', '.join(others)}"
        self.running[name].terminate()
        try:
            self.running[name].wait(20)
        except subprocess.TimeoutExpired:
            self.running[name].kill()
            self.running[name].wait()
        self.running[name] = self._start(name)
        self._wait(name)
        replica.set_state(name, "ready", self.control)
        until = time.monotonic() + PATIENCE
        while not replica.visits(self.control)[name][0].startswith("UP"):
            if time.monotonic() > until:
                raise RestartError(f"HAProxy does not take {name} back")
            time.sleep(0.1)
        yield f"{name}: restarted"

    def _serve(self, line: socket.socket) -> None:
        """Handles one request (a line with names of replicas): sends lines of text, the last of which is `done`."""
        line.settimeout(10)
        with suppress(OSError):
            names = line.recv(1000).decode(errors="replace").split()
            try:
                for name in names:
                    if name not in self.ports:
                        raise RestartError("there is no such replica")
                    for done in self.restart(name):
                        line.sendall(f"{done}\n".encode())
                line.sendall(b"done\n")
            except RestartError as error:
                line.sendall(f"stopped: {error}\n".encode())

    def _revive(self) -> None:
        for name, process in self.running.items():
            if process.poll() is not None:
                print(f"replica {name} ended ({process.returncode}) and is started again", flush=True)
                self.running[name] = self._start(name)

    def _wait(self, name: str) -> None:
        """Returns when the replica is ready; raises RestartError if it is not ready within PATIENCE."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.running[name].poll() is None:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.ports[name]}/healthz", timeout=2):
                    return
            except OSError:
                time.sleep(0.2)
        raise RestartError(f"replica {name} did not get ready; its log is in the output of `python -m deploy`")


@contextmanager
def listening(path: Path) -> Iterator[socket.socket]:
    """Opens a Unix socket that only this user can access, in place of any file; `accept` waits for at most PAUSE."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(new))
        new.chmod(0o600)
        server.listen(1)
        new.replace(path)  # whoever finds the socket is answered
        server.settimeout(PAUSE)
        try:
            yield server
        finally:
            path.unlink(missing_ok=True)


def request_restart(names: Sequence[str], control: Path = replica.CONTROL) -> Iterator[str]:
    """Asks the running `python -m deploy` for restarts, yields lines of text, the last `done`; OSError if none runs."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(control.parent / SOCKET))
        line.sendall(" ".join(names).encode() + b"\n")
        with line.makefile(encoding="utf-8") as answer:
            yield from (each.strip() for each in answer)


def start_replica(port: int, metrics: int | None) -> subprocess.Popen[bytes]:
    """Starts one replica in hosted mode, on 127.0.0.1; `metrics` is the port of its Prometheus metrics, if any."""
    return subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app/host.py", "--server.port", str(port),
         "--server.address", "127.0.0.1"], cwd=ROOT,
        env={"OMP_NUM_THREADS": "1"} | os.environ | ({"ATTENTION_LAB_METRICS": str(metrics)} if metrics else {}))
