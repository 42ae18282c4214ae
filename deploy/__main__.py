"""Runs two replicas of the app behind HAProxy on one machine: `make hosted`, or `python -m deploy`.

Needs `haproxy` in the PATH (Debian and Ubuntu: `apt install haproxy`). A replica that dies is started again. Its
visitors continue on the other replica, because a visitor's state is in the page's address. Ends with Ctrl-C or SIGTERM.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import FrameType

from deploy.replica import CONTROL

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("a", "b")
PATIENCE = 90.0  # seconds within which a replica must be ready
PAUSE = 1.0  # seconds between two checks for processes that ended


def main() -> None:
    """Starts the replicas and HAProxy, and restarts replicas until HAProxy ends or a signal arrives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=8501, help="port of the site; default: %(default)s")
    parser.add_argument("--address", default="", help="address that the site listens on; default: all addresses")
    parser.add_argument("--replicas-from", type=int, default=8511, metavar="PORT",
                        help="port of the first replica, on 127.0.0.1; the second uses the next; default: %(default)s")
    parser.add_argument("--metrics-from", type=int, metavar="PORT",
                        help="port of the first replica's Prometheus metrics, on 127.0.0.1; the second uses the next; "
                             "default: no metrics")
    asked = parser.parse_args()
    balancer = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if balancer is None:
        parser.error("haproxy is not installed. On Debian and Ubuntu: apt install haproxy")
    signal.signal(signal.SIGTERM, _interrupt)
    ports = {name: asked.replicas_from + number for number, name in enumerate(NAMES)}
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for number, name in enumerate(NAMES):
            running[name] = _replica(ports[name], asked.metrics_from and asked.metrics_from + number)
        for name in NAMES:
            _wait(running[name], ports[name])
        CONTROL.parent.mkdir(parents=True, exist_ok=True)
        running["balancer"] = subprocess.Popen(
            [balancer, "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")],
            env=os.environ | {"LISTEN": f"{asked.address}:{asked.port}", "CONTROL": str(CONTROL),
                              **{f"REPLICA_{name.upper()}": f"127.0.0.1:{port}" for name, port in ports.items()}})
        print(f"Attention Lab: http://{asked.address or 'localhost'}:{asked.port}", flush=True)
        while running["balancer"].poll() is None:
            time.sleep(PAUSE)
            for number, name in enumerate(NAMES):
                if running[name].poll() is not None:
                    print(f"replica {name} ended ({running[name].returncode}) and is started again", flush=True)
                    running[name] = _replica(ports[name], asked.metrics_from and asked.metrics_from + number)
        sys.exit(f"haproxy ended ({running['balancer'].returncode})")
    except KeyboardInterrupt:
        pass
    finally:
        for process in running.values():
            process.terminate()
        for process in running.values():
            process.wait(20)


def _replica(port: int, metrics: int | None) -> subprocess.Popen[bytes]:
    """Starts one replica in hosted mode, on 127.0.0.1."""
    return subprocess.Popen(
        [sys.executable, "-m", "streamlit", "run", "app/host.py", "--server.port", str(port),
         "--server.address", "127.0.0.1"], cwd=ROOT,
        env={"OMP_NUM_THREADS": "1"} | os.environ | ({"ATTENTION_LAB_METRICS": str(metrics)} if metrics else {}))


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Returns when the replica is ready; ends the program with a message if it is not ready within PATIENCE."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2):
                return
        except OSError:
            time.sleep(0.2)
    sys.exit(f"the replica on port {port} did not get ready; see above")


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
