"""Files for hosting: settings are documented and read; the balancer, the supervisor and the image's health check."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.request import urlopen

import pytest
import yaml
from streamlit import config, net_util
from streamlit.web import bootstrap

from app.server import gate, health
from deploy import replica, supervisor
from models.labs.foreign.opening import hub
from tests.browser import free_ports


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def test_the_image_has_a_user_and_a_health_check_and_the_page_every_setting(root: Path):
    text = read(root, "Dockerfile")
    assert text.index("USER lab") > text.index("pip install") and text.index("USER lab") < text.index("CMD [")
    assert health.HEALTH in text[text.index("HEALTHCHECK"):] and "app/host.py" in text
    text = read(root, "docs/hosting.md")
    for setting in (gate.HOSTS, gate.FRAMES, health.METRICS, hub.SETTING):
        assert f"`{setting}`" in text


@pytest.mark.parametrize("file", ["Procfile", "Dockerfile", "deploy/supervisor.py", "docs/hosting.md"])
def test_hosts_run_the_app_behind_its_gate(file: str, root: Path):
    text = read(root, file)
    assert "app/host.py" in text and "run app/main.py" not in text


def test_the_balancers_settings_are_set_wherever_it_is_started(root: Path):
    wanted = set(re.findall(r"\$\{(\w+)\}", read(root, "deploy/haproxy.cfg")))
    assert wanted == {"LISTEN", "CONTROL", "REPLICA_A", "REPLICA_B"}
    compose = yaml.safe_load(read(root, "deploy/compose.yaml"))
    assert set(compose["services"]["balancer"]["environment"]) == wanted
    settings = set(compose["services"]["a"]["environment"])
    assert settings <= {gate.HOSTS, gate.FRAMES, health.METRICS, hub.SETTING}
    for name in wanted - {"REPLICA_A", "REPLICA_B"}:
        assert f'"{name}"' in read(root, "deploy/__main__.py")


def test_the_page_on_hosting_says_how_large_hub_models_may_be(root: Path):
    """The largest model follows from the memory of the host, as the page says for two hosts."""
    text = " ".join(read(root, "docs/hosting.md").split())
    said = re.search(r"With (\d) GB, visitors can open Hub models of at most (\d+) MB, "
                     r"with (\d) GB of at most (\d+) MB", text)
    assert said is not None
    for memory, most in ((said[1], said[2]), (said[3], said[4])):
        assert hub.fitted(hub.HOSTED, int(memory) * 2**30).max_bytes == int(most) * 10**6


T = TypeVar("T")
BALANCER = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")  # the tests need no HAProxy


class Stand(ThreadingHTTPServer):
    """A fake replica: its health check takes `late` seconds, other responses last until the replica stops."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), self.Answer)
        self.late = 0.0
        self.asked = 0
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_: object) -> None:
        pass  # the client may close the connection early

    class Answer(BaseHTTPRequestHandler):
        server: Stand

        def do_GET(self) -> None:
            time.sleep(self.server.late if self.path == health.HEALTH else 0)
            self.send_response(200)
            self.end_headers()
            if self.path == health.HEALTH:
                self.server.asked += 1
                return
            with suppress(OSError):
                while True:
                    self.wfile.write(b".")
                    time.sleep(0.1)

        def log_message(self, *_: object) -> None:
            pass


def test_a_late_replica_keeps_its_visits_and_a_dead_one_is_left(root: Path, tmp_path: Path):
    """HAProxy keeps the sessions of a slow replica and removes a dead replica. Skipped without HAProxy."""
    if BALANCER is None:
        return
    one, (port, nobody) = Stand(), free_ports(2)
    process = balanced(root, tmp_path / "control", port, (one.server_port, nobody))
    try:
        states = until(lambda: replica.visits(tmp_path / "control"), lambda its: its["b"][0].startswith("DOWN"))
        assert states["a"][0].startswith("UP")
        with urlopen(f"http://127.0.0.1:{port}/visit", timeout=10) as visit:
            one.late, asked = 2.5, one.asked  # 2.5 s is longer than two health checks, one per second
            until(lambda: one.asked, lambda count: count >= asked + 2)
            assert visit.read(20) == b"." * 20
            assert replica.visits(tmp_path / "control")["a"][0] == "UP"
    finally:
        process.kill()
        process.wait()
        one.shutdown()


def balanced(root: Path, control: Path, port: int, replicas: Iterable[int]) -> subprocess.Popen[bytes]:
    """Starts HAProxy with the configuration, or a substitute where HAProxy is not installed."""
    settings = {"LISTEN": f"127.0.0.1:{port}", "CONTROL": str(control),
                **{f"REPLICA_{name}": f"127.0.0.1:{its}" for name, its in zip("AB", replicas, strict=True)}}
    command = [BALANCER, "-db", "-f", str(root / "deploy" / "haproxy.cfg")] if BALANCER else \
        [sys.executable, "-c", STATES, str(control)]
    return subprocess.Popen(command, env=os.environ | settings, stderr=subprocess.DEVNULL)


def until(look: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """Calls `look` until its value satisfies `wanted`, and returns this value. Fails after 30 s."""
    stop = time.monotonic() + 30
    while True:
        with suppress(OSError):
            found = look()
            if wanted(found):
                return found
        assert time.monotonic() < stop
        time.sleep(0.1)


def test_nothing_is_looked_up_at_the_start(root: Path, monkeypatch: pytest.MonkeyPatch):
    """At the start Streamlit must not look up the public address of this machine, which it would print."""
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, lambda: pytest.fail("an address was looked up"))
    monkeypatch.chdir(root)
    config.get_config_options(force_reparse=True)
    assert config.get_option("server.headless") and not config.get_option("browser.gatherUsageStats")
    bootstrap._print_url(False)


def test_uploads_are_as_small_as_the_features_need(root: Path, monkeypatch: pytest.MonkeyPatch):
    from app.state.visit import MOST_PICTURE
    from app.views.yours import MOST_BYTES

    monkeypatch.chdir(root)
    config.get_config_options(force_reparse=True)
    assert config.get_option("server.maxUploadSize") * 2**20 == max(MOST_PICTURE, MOST_BYTES)


def test_the_balancer_is_spoken_to(tmp_path: Path):
    """Commands to the balancer and its responses have the format of HAProxy's control socket."""
    asked: list[str] = []

    def answer(server: socket.socket) -> None:
        with server.accept()[0] as line:
            asked.append(line.recv(1000).decode())
            line.sendall(b"# pxname,svname,scur,status,\nsite,FRONTEND,5,OPEN,\nreplicas,a,3,UP,\nreplicas,b,2,DRAIN,\n"
                         b"replicas,BACKEND,5,UP,\n\n")

    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "control"))
        server.listen()
        thread = threading.Thread(target=answer, args=(server,))
        thread.start()
        assert replica.visits(tmp_path / "control") == {"a": ("UP", 3), "b": ("DRAIN", 2)}
        thread.join()
    assert asked == ["show stat\n"]
    with pytest.raises(OSError):
        replica.say("show stat", tmp_path / "nothing")


STAND = """
import http.server, sys
class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"%s"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""


class Site:
    """A supervisor of fake replicas that answer with their generation; without HAProxy a substitute."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.port, *ports = free_ports(3)
        self.control, self.starts = folder / "control", {"a": 0, "b": 0}
        self.healthy = True
        self.supervisor = supervisor.Supervisor(dict(zip("ab", ports, strict=True)), self.start, self.control)
        self.supervisor.begin(lambda: balanced(root, self.control, self.port, ports))
        until(lambda: replica.visits(self.control), lambda its: all(state == "UP" for state, _ in its.values()))
        self.thread = threading.Thread(target=self.supervisor.watch)
        self.thread.start()
        until((folder / supervisor.SOCKET).exists, bool)

    def start(self, name: str) -> subprocess.Popen[bytes]:
        self.starts[name] += 1
        code = STAND % f"{name}{self.starts[name]}" if self.healthy else "raise SystemExit(3)"
        return subprocess.Popen([sys.executable, "-c", code, str(self.supervisor.ports[name])])

    def stop(self) -> None:
        assert self.supervisor.balancer is not None
        self.supervisor.balancer.terminate()
        self.thread.join()
        self.supervisor.stop()


# Simulates HAProxy where it is not installed: responds to the supervisor's commands, with every replica up.
STATES = """
import os, re, socket, sys
states = {"a": "UP", "b": "UP"}
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
while True:
    line, _ = server.accept()
    command = line.recv(1000).decode()
    found = re.match(r"set server replicas/(\\w) state (\\w+)", command)
    if found:
        states[found[1]] = {"ready": "UP", "maint": "MAINT", "drain": "DRAIN"}[found[2]]
    if command.startswith("show stat"):
        rows = "".join(f"replicas,{name},0,{state},\\n" for name, state in states.items())
        line.sendall(("# pxname,svname,scur,status,\\n" + rows).encode())
    line.close()
"""


@pytest.fixture
def site(root: Path, tmp_path: Path) -> Iterator[Site]:
    made = Site(root, tmp_path)
    yield made
    made.stop()


def test_replicas_are_restarted_one_after_the_other(site: Site):
    """After a restart both replicas are new processes. With HAProxy no request failed meanwhile."""
    before = {name: process.pid for name, process in site.supervisor.running.items()}
    answers: list[str] = []
    problems: list[str] = []
    done = threading.Event()

    def visit() -> None:
        while not done.is_set():
            try:
                with urlopen(f"http://127.0.0.1:{site.port}/x", timeout=10) as answer:
                    answers.append(answer.read().decode())
            except (OSError, HTTPException) as error:
                problems.append(f"{error!r} {answers[-1:]}")
    visitor = threading.Thread(target=visit)
    visitor.start()
    if BALANCER:  # before the restart begins, both replicas have answered
        until(lambda: set(answers), lambda its: its >= {"a1", "b1"})
    lines = list(supervisor.request_restart(["a", "b"], site.control))
    done.set()
    visitor.join()
    assert [line.split(":")[0] for line in lines] == ["a", "a", "b", "b", "done"]
    assert "go on at b" in lines[0] and "go on at a" in lines[2]
    after = {name: process.pid for name, process in site.supervisor.running.items()}
    assert not set(before.values()) & set(after.values()) and site.starts == {"a": 2, "b": 2}
    if BALANCER:  # without HAProxy nothing listens on the port of the site
        assert {"a1", "b1", "a2"} <= set(answers) <= {"a1", "b1", "a2", "b2"} and not problems


def test_a_version_that_does_not_start_stops_the_restart(site: Site, monkeypatch: pytest.MonkeyPatch):
    """If a new version does not start, the restart stops. Replica b keeps the old version and receives all sessions."""
    monkeypatch.setattr(supervisor, "PATIENCE", 3)
    kept, site.healthy = site.supervisor.running["b"], False
    lines = list(supervisor.request_restart(["a", "b"], site.control))
    assert lines[-1].startswith("stopped: replica a did not get ready") and "b: restarted" not in lines
    assert site.supervisor.running["b"] is kept and kept.poll() is None
    assert replica.visits(site.control)["a"][0].startswith("MAINT")
    only, = supervisor.request_restart(["b"], site.control)
    assert only == "stopped: only b is up: its visits could go nowhere"
    unknown, = supervisor.request_restart(["c"], site.control)
    assert unknown == "stopped: there is no such replica"


def test_a_replica_that_died_is_started_again_and_only_the_owner_restarts(site: Site):
    site.supervisor.running["a"].kill()
    until(lambda: site.starts["a"], lambda count: count == 2)
    path = until(lambda: site.control.parent / supervisor.SOCKET, Path.exists)
    assert path.stat().st_mode & 0o077 == 0


def test_the_image_installs_wheels_by_their_digests(root: Path):
    """The lock file has the versions of requirements.txt, a digest for each of them, and no other package index."""
    from tools import lock

    text = read(root, "requirements-image.txt")
    digest = r"    --hash=sha256:[0-9a-f]{64}(?: \\)?\n"
    entries = dict(re.findall(rf"^([\w.-]+==[^\n]*?) \\\n((?:{digest})+)", text, re.MULTILINE))
    wanted = [line for line in read(root, "requirements.txt").splitlines() if line and line[0] not in "#-"]
    assert list(entries) == wanted
    options = [line for line in text.splitlines() if line.startswith("--")]
    assert options == [line for line in read(root, "requirements.txt").splitlines() if line.startswith("--")]
    digests = {line.split("==")[0].lower(): set(re.findall("sha256:([0-9a-f]+)", found))
               for line, found in entries.items()}
    machines = re.findall(r"Linux on ([\w ]+), Python", text)[0].split(" and ")
    assert lock.text(read(root, "requirements.txt"), machines, digests) == text
    assert all(1 <= len(found) <= len(machines) for found in digests.values())
    assert "--require-hashes --requirement /srv/requirements.txt" in read(root, "Dockerfile")
    assert "COPY requirements-image.txt /srv/requirements.txt" in read(root, "Dockerfile")
