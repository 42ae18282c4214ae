"""Files for hosting: every copied file exists, and every documented variable is read.

    pytest tests/test_deploy.py
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar
from urllib.request import urlopen

import pytest
import yaml
from streamlit import config, net_util
from streamlit.web import bootstrap

from app.server import gate, health
from deploy import replica
from models.labs.foreign.opening import hub


def read(root: Path, name: str) -> str:
    return (root / name).read_text(encoding="utf-8")


def test_the_image_copies_what_is_there_and_what_the_app_needs(root: Path):
    copied = re.findall(r"^COPY (\S+) (\S+)", read(root, "Dockerfile"), re.MULTILINE)
    needed = {"requirements.txt", ".streamlit", "app", "assets", "components", "models"}
    assert {source for source, _ in copied} == needed
    kept = {line[1:] for line in read(root, ".dockerignore").splitlines() if line.startswith("!")}
    for source, _ in copied:
        assert (root / source).exists() and source in kept, source


def test_the_image_runs_as_a_user_and_says_how_it_is(root: Path):
    text = read(root, "Dockerfile")
    assert text.index("USER lab") > text.index("pip install") and text.index("USER lab") < text.index("CMD [")
    assert health.HEALTH in text[text.index("HEALTHCHECK"):] and "app/host.py" in text


@pytest.mark.parametrize("file", ["Procfile", "Dockerfile", "deploy/__main__.py", "docs/hosting.md"])
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


def test_the_page_on_hosting_has_every_setting(root: Path):
    text = read(root, "docs/hosting.md")
    for setting in (gate.HOSTS, gate.FRAMES, health.METRICS, hub.SETTING):
        assert f"`{setting}`" in text


def test_haproxy_takes_its_configuration(root: Path, tmp_path: Path):
    """Checks the configuration with HAProxy where it is installed. The other tests here do not need it."""
    balancer = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if balancer is not None:
        settings = {"LISTEN": "127.0.0.1:1", "CONTROL": str(tmp_path / "control"), "REPLICA_A": "127.0.0.1:2",
                    "REPLICA_B": "127.0.0.1:3"}
        found = subprocess.run([balancer, "-c", "-f", str(root / "deploy" / "haproxy.cfg")], capture_output=True,
                               text=True, env=settings)
        assert found.returncode == 0, found.stderr
        assert "ALERT" not in found.stderr


T = TypeVar("T")


class Stand(ThreadingHTTPServer):
    """A fake replica: answers the health check after `late` seconds; every other answer goes on until the replica
    stops.
    """

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
    """Where HAProxy is installed, it keeps a slow replica and removes a dead one."""
    balancer = shutil.which("haproxy", path=f"{os.environ['PATH']}:/usr/sbin")
    if balancer is None:
        return
    one, (port, nobody) = Stand(), free_ports(2)
    settings = {"LISTEN": f"127.0.0.1:{port}", "CONTROL": str(tmp_path / "control"),
                "REPLICA_A": f"127.0.0.1:{one.server_port}", "REPLICA_B": f"127.0.0.1:{nobody}"}
    process = subprocess.Popen([balancer, "-db", "-f", str(root / "deploy" / "haproxy.cfg")], env=settings,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for its in sockets:
            its.bind(("127.0.0.1", 0))
        return [int(its.getsockname()[1]) for its in sockets]


def until(look: Callable[[], T], wanted: Callable[[T], bool]) -> T:
    """Calls `look` until its value satisfies `wanted`, and returns the value; fails after 30 s."""
    stop = time.monotonic() + 30
    while True:
        with suppress(OSError):
            found = look()
            if wanted(found):
                return found
        assert time.monotonic() < stop
        time.sleep(0.1)


def test_nothing_is_looked_up_at_the_start(root: Path, monkeypatch: pytest.MonkeyPatch):
    """At the start Streamlit must not request this machine's public address, which it would print."""
    for name in ("get_external_ip", "get_internal_ip"):
        monkeypatch.setattr(net_util, name, lambda: pytest.fail("an address was looked up"))
    monkeypatch.chdir(root)
    config.get_config_options(force_reparse=True)
    assert config.get_option("server.headless") and not config.get_option("browser.gatherUsageStats")
    bootstrap._print_url(False)


def test_uploads_are_as_small_as_the_features_need(root: Path, monkeypatch: pytest.MonkeyPatch):
    from app.panels.measured.constants import MOST_BYTES
    from app.state.visitor_models import MOST_PICTURE

    monkeypatch.chdir(root)
    config.get_config_options(force_reparse=True)
    assert config.get_option("server.maxUploadSize") * 2**20 == max(MOST_PICTURE, MOST_BYTES)


def test_the_balancer_is_spoken_to(tmp_path: Path):
    """Commands to the balancer are answered in the form that HAProxy uses on its control socket."""
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
