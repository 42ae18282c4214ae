"""Removes a replica from HAProxy's rotation and adds it again, while `python -m deploy` runs.

    python -m deploy.replica                # prints the state and the number of connections of each replica
    python -m deploy.replica drain a        # sends no new sessions to a; the current sessions stay
    python -m deploy.replica stop a         # moves the sessions of a to b, each with its state
    python -m deploy.replica ready a        # sends sessions to a again

`python -m deploy restart` restarts replicas without an interruption.
"""

import argparse
import csv
import io
import os
import socket
import time
from pathlib import Path

CONTROL = Path(os.environ.get("ATTENTION_LAB_CONTROL", Path(__file__).resolve().parents[1] / "runs" / "balancer.sock"))
GRACE = 3.0  # seconds between the last new session of a replica and the end of its connections
STATES = {"drain": "drain", "stop": "maint", "ready": "ready"}  # command of this module -> HAProxy's server state


def say(command: str, control: Path = CONTROL) -> str:
    """Sends a command of HAProxy's Runtime API (section 9.3) and returns the response; OSError if nothing listens."""
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(str(control))
        line.sendall(f"{command}\n".encode())
        return b"".join(iter(lambda: line.recv(65536), b"")).decode()


def visits(control: Path = CONTROL) -> dict[str, tuple[str, int]]:
    """Returns name of a replica -> (HAProxy's state, number of open connections, websockets and others)."""
    rows = csv.DictReader(io.StringIO(say("show stat", control).removeprefix("# ")))
    return {row["svname"]: (row["status"], int(row["scur"])) for row in rows
            if row["pxname"] == "replicas" and row["svname"] != "BACKEND"}


def set_state(name: str, action: str, control: Path = CONTROL, grace: float = GRACE) -> str:
    """Changes the state of a replica by an action of STATES; returns HAProxy's response, empty after a success.

    `stop` directs new sessions to the other replica, waits for `grace` seconds so that running requests can end, and
    then ends the connections.
    """
    if action == "stop":  # `maint` ends all connections at once: on-marked-down in deploy/haproxy.cfg
        say(f"set server replicas/{name} state {STATES['drain']}", control)
        time.sleep(grace)
    return say(f"set server replicas/{name} state {STATES[action]}", control).strip()


def main() -> None:
    """Runs one command and prints the state of both replicas."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=STATES)
    parser.add_argument("name", nargs="?", choices=("a", "b"))
    arguments = parser.parse_args()
    if arguments.action and not arguments.name:
        parser.error("which one, a or b?")
    try:
        if arguments.action and (answer := set_state(arguments.name, arguments.action)):
            parser.error(answer)
        for name, (state, count) in visits().items():
            print(f"{name}: {state}, {count} connections")
    except OSError as error:
        parser.error(f"no balancer answers at {CONTROL} ({error.strerror})")


if __name__ == "__main__":
    main()
