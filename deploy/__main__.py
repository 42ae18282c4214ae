"""Runs two replicas of the app behind HAProxy on one machine: `make hosted`, or `python -m deploy`.

    python -m deploy                 # runs until Ctrl-C or SIGTERM
    python -m deploy restart         # restarts a, then b; the other replica serves all sessions meanwhile
    python -m deploy restart a       # restarts only a
    python -m deploy space FOLDER    # writes the files of a Hugging Face Space, which docs/hosting.md explains

Needs `haproxy` in the PATH (Debian and Ubuntu: `apt install haproxy`). A replica that ends unexpectedly is started
again. Its visitors continue on the other replica, because a visitor's state is in the page's address.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from deploy.replica import CONTROL
from deploy.supervisor import NAMES, ROOT, RestartError, Supervisor, request_restart, start_replica

# The Hub refuses binary files outside Git LFS, so a Space has only this README and a Dockerfile that fetches the rest.
README = """---
title: Attention Lab
emoji: 🔎
colorFrom: indigo
colorTo: gray
sdk: docker
app_port: 8501
---

Interventions on the attention heads of small and imported Transformers: {source} at {commit}.
"""
# .dockerignore lists the files of the image, each after an exclamation mark
SOURCE = """FROM debian:bookworm-slim AS source
RUN apt-get update && apt-get install --yes --no-install-recommends ca-certificates git
RUN git init --quiet /source && cd /source && git fetch --quiet --depth 1 {source} {commit} && mkdir /context \\
    && git archive FETCH_HEAD $(git show FETCH_HEAD:.dockerignore | sed -n 's/^!//p') | tar -x -C /context

"""
OURS = (".git", ".gitattributes", "README.md", "Dockerfile")  # files of a new Space, and those of this module
FRAMES = "ENV ATTENTION_LAB_FRAMES=https://huggingface.co\n"  # this site shows the Space in a frame


def main() -> None:
    """Runs the site, or restarts replicas of the running site."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", nargs="?", choices=["restart", "space"])
    parser.add_argument("names", nargs="*", metavar="REPLICA", help="a or b; default: a, then b; FOLDER of a space")
    parser.add_argument("--source", metavar="URL", help="address that a space fetches this repository from; default: "
                        "the address that this clone came from")
    parser.add_argument("--port", type=int, default=8501, help="port of the site; default: %(default)s")
    parser.add_argument("--address", default="", help="address that the site listens on; default: all addresses")
    parser.add_argument("--replicas-from", type=int, default=8511, metavar="PORT",
                        help="port of the first replica, on 127.0.0.1; the second uses the next; default: %(default)s")
    parser.add_argument("--metrics-from", type=int, metavar="PORT",
                        help="port of the first replica's Prometheus metrics, on 127.0.0.1; the second uses the next; "
                             "default: no metrics")
    arguments = parser.parse_args()
    if arguments.action == "space":
        if len(arguments.names) != 1:
            parser.error("name one folder: python -m deploy space FOLDER")
        try:
            write_space(Path(arguments.names[0]), arguments.source or _git("remote", "get-url", "origin"))
        except (ValueError, OSError) as error:
            parser.error(str(error))
        return
    if not set(arguments.names) <= set(NAMES):
        parser.error(f"which replica? {' or '.join(NAMES)}")
    if arguments.action == "restart":
        _restart(arguments.names or NAMES, parser)
    else:
        _run(arguments, parser)


def _restart(names: list[str] | tuple[str, ...], parser: argparse.ArgumentParser) -> None:
    last = ""
    try:
        for last in request_restart(names):
            print(last, flush=True)
    except OSError as error:
        parser.error(f"`python -m deploy` does not run here ({error.strerror})")
    sys.exit(0 if last == "done" else 1)


def _run(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    balancer = shutil.which("haproxy", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if balancer is None:
        parser.error("haproxy is not installed. On Debian and Ubuntu: apt install haproxy")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ports = {name: arguments.replicas_from + number for number, name in enumerate(NAMES)}
    metrics = {name: arguments.metrics_from and arguments.metrics_from + number for number, name in enumerate(NAMES)}
    site = Supervisor(ports, lambda name: start_replica(ports[name], metrics[name]))
    settings = {"LISTEN": f"{arguments.address}:{arguments.port}", "CONTROL": str(CONTROL),
                **{f"REPLICA_{name.upper()}": f"127.0.0.1:{port}" for name, port in ports.items()}}
    try:
        site.begin(lambda: subprocess.Popen([balancer, "-db", "-f", str(ROOT / "deploy" / "haproxy.cfg")],
                                            env=os.environ | settings))
        print(f"Attention Lab: http://{arguments.address or 'localhost'}:{arguments.port}", flush=True)
        sys.exit(f"haproxy ended ({site.watch()})")
    except RestartError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass
    finally:
        site.stop()


def write_space(folder: Path, source: str) -> None:
    """Writes README.md and Dockerfile of a Space that runs the present commit of the repository at `source`.

    Raises ValueError if `source` is no address, the folder is not empty, or ROOT is no clone.
    """
    if not re.fullmatch(r"(https|file)://[\w.~:/@%+-]+", source):
        raise ValueError(f"expected the address https://… of a public repository, got {source!r}")
    if folder.exists() and any(path.name not in OURS for path in folder.iterdir()):
        raise ValueError(f"{folder} has other files; name an empty folder, or the clone of a new Space")
    commit = _git("rev-parse", "HEAD")
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    image = re.sub(r"^COPY (\S+) ", r"COPY --from=source /context/\1 ", dockerfile, flags=re.MULTILINE)
    image = image.replace("USER ", f"{FRAMES}USER ", 1)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "README.md").write_text(README.format(source=source, commit=commit), encoding="utf-8")
    (folder / "Dockerfile").write_text(SOURCE.format(source=source, commit=commit) + image, encoding="utf-8")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


if __name__ == "__main__":
    main()
