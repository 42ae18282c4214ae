"""The app in hosted mode: pages work with the security headers, closed routes are closed, allowed sites can embed it.

    pytest tests/e2e/test_host.py
"""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import Server

pytestmark = pytest.mark.browser

PAGES = ("explore", "compare", "length", "yours", "results", "about")
BLOCKED = """addEventListener('securitypolicyviolation',
    event => (window.blocked ??= []).push([event.effectiveDirective, event.blockedURI, event.sourceFile]))"""


class School(BaseHTTPRequestHandler):
    """A page of another site that has the app in a frame."""

    app = ""

    def do_GET(self) -> None:  # noqa: N802  # the name that the base class calls
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        source = f"{self.app}/?page=explore&amp;embed=true"
        self.wfile.write(f'<iframe src="{source}" width="1200" height="800"></iframe>'.encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing, to keep the test's output short."""


@pytest.fixture(scope="module")
def schools() -> Iterator[list[str]]:
    """Yields the addresses of two other sites."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), School) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [f"http://127.0.0.1:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="module")
def numbers() -> int:
    """Returns a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def host(schools: list[str], numbers: int) -> Iterator[str]:
    """Yields the address of the app behind its gate; only the first of the schools may embed it."""
    server = Server("app/host.py", ATTENTION_LAB_FRAMES=schools[0], ATTENTION_LAB_METRICS=str(numbers),
                    ATTENTION_LAB_HOSTS="127.0.0.1")
    try:
        server.start()
        School.app = server.address
        yield server.address
    finally:
        server.stop()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    context.add_init_script(BLOCKED)
    yield context.new_page()
    context.close()


def status(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as found:
            return found.status, found.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_every_page_lives_with_the_headers(host: str, page: Page):
    problems: list[str] = []
    outside: list[str] = []
    page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    own = (host, "data:", "blob:", host.replace("http", "ws"))
    page.on("request", lambda request: None if request.url.startswith(own) else outside.append(request.url))
    for name in PAGES:
        page.goto(f"{host}/?model=stories-selective&page={name}&with=stories-softmax&open=memory&text=The+{name}+cat+sat.")
        expect(page.get_by_role("link", name="About", exact=True)).to_be_visible(timeout=30_000)
        expect(page.locator('[data-testid="stApp"]')).to_have_attribute("data-test-script-state", "notRunning",
                                                                        timeout=30_000)
        page.wait_for_timeout(500)
        assert page.evaluate("window.blocked ?? []") == [], name
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    assert not [problem for problem in problems if "Content Security Policy" in problem]
    assert not outside


def test_clicks_charts_and_downloads_live_with_the_headers(host: str, page: Page):
    page.goto(f"{host}/?model=assignment-selective&page=compare&with=assignment-softmax&part=entropy")
    expect(page.get_by_role("gridcell")).to_have_count(24, timeout=30_000)
    page.locator('[data-part="chart"]').get_by_role("button", name="Download").click()
    with page.expect_download() as found:
        page.get_by_role("menuitem", name="CSV").click()
    assert "softmax" in found.value.path().read_text()
    assert page.evaluate("window.blocked ?? []") == []


def test_health_and_numbers(host: str, numbers: int):
    expect_ready = status(f"{host}/healthz")
    assert expect_ready[0] in (200, 503)
    code, text = status(f"http://127.0.0.1:{numbers}/metrics")
    assert code == 200 and "attention_lab_sessions" in text and "process_resident_memory_bytes" in text
    assert status(f"{host}/_stcore/metrics")[0] == 404
    assert status(f"{host}/metrics")[1].lstrip().startswith("<!")  # the answer is the app's page, without any metrics


def test_a_forged_host_gets_nothing(host: str):
    code, text = status(host, Host="evil.test")
    assert code == 400 and text.startswith("This name is not known here.")


def test_who_may_embed_it(host: str, schools: list[str], page: Page):
    page.goto(schools[0])
    frame = page.frame_locator("iframe")
    expect(frame.get_by_role("gridcell").first).to_be_visible(timeout=30_000)
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(schools[1])
    page.wait_for_timeout(3000)
    assert any("frame-ancestors" in text for text in refused)
    assert frame.get_by_role("gridcell").count() == 0


def test_an_upload_belongs_to_a_visit(host: str):
    request = urllib.request.Request(f"{host}/_stcore/upload_file/nobody/x", method="PUT", data=json.dumps({}).encode())
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=10)
    assert error.value.code in (400, 403)
