"""What the balancer does with a replica, while it runs:

    python -m deploy.replica                # what each one is, and how many visits it has
    python -m deploy.replica drain a        # no new visits; those that are there stay
    python -m deploy.replica stop a         # those go over to the other one, each with its state
    python -m deploy.replica ready a        # all as before

To put a new version in place: drain, stop, restart that replica, ready; then the same with the other one.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import socket
from pathlib import Path

CONTROL = Path(os.environ.get("ATTENTION_LAB_CONTROL", Path(__file__).resolve().parents[1] / "runs" / "balancer.sock"))
STATES = {"drain": "drain", "stop": "maint", "ready": "ready"}  # ours -> HAProxy's


def say(command: str, control: Path = CONTROL) -> str:
    """HAProxy's answer to a command of its management guide; raises OSError if it is not there."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(control))
        line.sendall(f"{command}\n".encode())
        return b"".join(iter(lambda: line.recv(65536), b"")).decode()


def visits(control: Path = CONTROL) -> dict[str, tuple[str, int]]:
    """Replica -> its state and how many connections it has, websockets and others."""
    rows = csv.DictReader(io.StringIO(say("show stat", control).removeprefix("# ")))
    return {row["svname"]: (row["status"], int(row["scur"])) for row in rows
            if row["pxname"] == "replicas" and row["svname"] != "BACKEND"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=STATES)
    parser.add_argument("name", nargs="?", choices=("a", "b"))
    asked = parser.parse_args()
    if asked.action and not asked.name:
        parser.error("which one, a or b?")
    try:
        if asked.action:
            answer = say(f"set server replicas/{asked.name} state {STATES[asked.action]}").strip()
            if asked.action == "stop":
                answer += say(f"shutdown sessions server replicas/{asked.name}").strip()
            if answer:
                parser.error(answer)
        for name, (state, count) in visits().items():
            print(f"{name}: {state}, {count} connections")
    except OSError as error:
        parser.error(f"no balancer answers at {CONTROL} ({error.strerror})")


if __name__ == "__main__":
    main()
