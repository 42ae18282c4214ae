"""The app on a host: security headers, frames of other sites, hostile texts, and a base path."""

import json
import re
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import free_ports, serve
from tests.e2e.app_page import text_box, tile

pytestmark = pytest.mark.browser

PAGES = ("lab", "training", "lessons", "yours", "results", "about")
BLOCKED = """addEventListener('securitypolicyviolation',
    event => (window.blocked ??= []).push([event.effectiveDirective, event.blockedURI, event.sourceFile]))"""


class School(BaseHTTPRequestHandler):
    """A page of another site that embeds the app in a frame: without the app's header, or under /whole with it."""

    app = ""

    def do_GET(self) -> None:  # noqa: N802  # the name that the base class calls
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        source = f"{self.app}/?model=stories-selective" + ("" if self.path == "/whole" else "&amp;embed=true")
        self.wfile.write(f'<iframe src="{source}" width="1200" height="800"></iframe>'.encode())

    def log_message(self, *_: object) -> None:
        """Prints nothing, to keep the test's output short."""


@pytest.fixture(scope="module")
def schools() -> Iterator[list[str]]:
    """Yields the addresses of two other sites, which have the app in a frame."""
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), School) for _ in range(2)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    yield [f"http://127.0.0.1:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()


@pytest.fixture(scope="module")
def numbers() -> int:
    """Returns a free port, for the metrics."""
    return free_ports(1)[0]


@pytest.fixture(scope="module")
def host(schools: list[str], numbers: int) -> Iterator[str]:
    """Yields the address of the app in hosted mode. Only the first of the two sites may embed it."""
    with serve(ATTENTION_LAB_FRAMES=schools[0], ATTENTION_LAB_METRICS=str(numbers), ATTENTION_LAB_HOSTS="127.0.0.1",
               ATTENTION_LAB_HOSTED="1") as School.app:
        yield School.app


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
        page.goto(f"{host}/?model=stories-selective&page={name}&with=stories-softmax&lab=all.second&text=The+{name}+cat+sat.")
        page.locator(".st-key-bar").wait_for(timeout=30_000)
        expect(page.locator('[data-testid="stApp"]')).to_have_attribute("data-test-script-state", "notRunning",
                                                                        timeout=30_000)
        page.wait_for_timeout(500)
        assert page.evaluate("window.blocked ?? []") == [], name
        expect(page.locator('[data-testid="stException"]')).to_have_count(0)
    assert not [problem for problem in problems if "Content Security Policy" in problem]
    assert not outside


def test_clicks_charts_and_downloads_live_with_the_headers(host: str, page: Page):
    page.goto(f"{host}/?model=assignment-selective&lab=head.get")
    for name, start in (("Numbers (CSV)", b"# "), ("Picture (SVG)", b"<?xml"), ("All heads (NPZ)", b"PK")):
        with page.expect_download() as found:
            page.get_by_role("button", name=name).click(timeout=30_000)
        assert found.value.path().read_bytes().startswith(start)
    assert page.evaluate("window.blocked ?? []") == []


def test_health_and_numbers(host: str, numbers: int):
    expect_ready = status(f"{host}/healthz")
    assert expect_ready[0] in (200, 503)
    code, text = status(f"http://127.0.0.1:{numbers}/metrics")
    assert code == 200 and "attention_lab_sessions" in text and "process_resident_memory_bytes" in text
    assert status(f"{host}/_stcore/metrics")[0] == 404
    assert status(f"{host}/metrics")[1].lstrip().startswith("<!")  # the page of the app, without metrics


def test_who_may_embed_it(host: str, schools: list[str], page: Page):
    page.goto(schools[0])
    frame = page.frame_locator("iframe")
    cell = frame.locator('.tile[data-layer="0"][data-head="3"]')
    expect(cell).to_be_visible(timeout=30_000)
    with page.expect_response(lambda answer: ROUTE.search(answer.url) is not None) as found:
        cell.click()  # in this frame the browser stores no cookies for the app
    assert found.value.status == 200
    expect(cell).to_have_attribute("aria-pressed", "true")
    refused: list[str] = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(schools[1])
    page.wait_for_timeout(3000)
    assert any("frame-ancestors" in text for text in refused)
    assert frame.locator(".tile").count() == 0


def test_an_upload_belongs_to_a_visit(host: str):
    request = urllib.request.Request(f"{host}/_stcore/upload_file/nobody/x", method="PUT", data=json.dumps({}).encode())
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=10)
    assert error.value.code in (400, 403)


HOSTILE = ("<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "</style><svg onload=alert(1)>",
           "javascript:alert(1)", "[x](javascript:alert(1)) <b>bold</b> $x$ :red[no]",
           "🐉 漢字 שלום \u202eback a\x00b")
ROUTE = re.compile(r"/lab/visits/[\w-]+/events$")


def test_a_typed_text_is_text_when_the_route_answers(host: str, page: Page):
    """The events route returns a text that contains HTML. No part of it becomes an element, runs, or loads a file."""
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.goto(f"{host}/?model=stories-softmax&text=The+cat+sat.")
    expect(page.locator(".tile")).to_have_count(32, timeout=30_000)
    elements = page.evaluate(COUNT)
    for text in HOSTILE:
        text_box(page).fill(text)
        page.wait_for_function("text => new URLSearchParams(location.search).get('text') === text", arg=text)
        for number in (3, 9):  # selects other heads, whose maps contain all tokens
            with page.expect_response(lambda answer: ROUTE.search(answer.url) is not None) as found:
                page.locator(".tile").nth(number).click()
            assert found.value.status == 200
            expect(page.locator(".tile").nth(number)).to_have_attribute("aria-pressed", "true")
        expect(text_box(page)).to_have_value(text)
        page.wait_for_timeout(300)  # time for injected elements to act
        assert page.evaluate(COUNT) == elements
        assert not dialogs and page.evaluate("window.blocked ?? []") == []
        page.reload()  # now the text comes from the address
        expect(text_box(page)).to_have_value(text, timeout=30_000)
        assert page.evaluate(COUNT) == elements and not dialogs and page.evaluate("window.blocked ?? []") == []


# Elements that could run code or load a file, in the page and in the shadow trees of the components.
COUNT = """() => {
    const found = {img: 0, script: 0, iframe: 0, object: 0, javascript: 0, handlers: 0};
    const look = root => { for (const element of root.querySelectorAll('*')) {
        const name = element.localName;
        if (name in found && !(name === 'img' && /^(blob|data):/.test(element.src))) found[name]++;
        if (/^\\s*javascript:/i.test(element.getAttribute('href') ?? '')) found.javascript++;
        if ([...element.attributes].some(attribute => /^on/.test(attribute.name))) found.handlers++;
        if (element.shadowRoot) look(element.shadowRoot); } };
    look(document); return found; }"""


def test_the_content_security_policy_stops_injected_scripts(host: str, page: Page):
    """The content security policy stops injected scripts and event handlers, and loads nothing from other sites."""
    page.goto(f"{host}/?model=stories-selective")
    expect(page.locator(".tile").first).to_be_visible(timeout=30_000)
    page.evaluate("""() => { document.body.insertAdjacentHTML('beforeend',
        '<img src="data:," onerror="window.ran = 1"><a id="a" href="javascript:window.ran = 2">x</a>');
        const script = document.createElement('script'); script.textContent = 'window.ran = 3';
        document.body.append(script); document.getElementById('a').click();
        const image = new Image(); image.src = 'http://evil.example/pixel'; document.body.append(image); }""")
    page.wait_for_function("new Set((window.blocked ?? []).map(each => each[0])).size >= 2")
    page.wait_for_timeout(300)
    assert page.evaluate("window.ran") is None
    kinds = {kind.split("-")[0] for kind, *_ in page.evaluate("window.blocked")}
    assert {"script", "img"} <= kinds


FORM = """target => { const form = document.createElement('form');
    Object.assign(form, {method: 'post', enctype: 'text/plain', action: target});
    form.innerHTML = `<input name='{"seen":0,"x":"' value='"}'>`; document.body.append(form); form.submit(); }"""


def test_another_site_cannot_send_events(host: str, schools: list[str], browser: Browser, page: Page):
    """Neither by fetch nor by a form, even if it knows the id of a session and may embed the app."""
    page.goto(f"{host}/?model=stories-softmax&text=The+cat+sat.")
    expect(page.locator(".tile")).to_have_count(32, timeout=30_000)
    with page.expect_request(lambda request: ROUTE.search(request.url) is not None) as found:
        tile(page, 0, 3).click()
    target = found.value.url
    other = browser.new_context().new_page()
    for school in schools:
        other.goto(school)
        with other.expect_response(target) as blind:  # in this mode the response cannot be read
            other.evaluate("target => fetch(target, {method: 'POST', body: '{}', mode: 'no-cors'})", target)
        assert blind.value.status == 403
        read = "target => fetch(target, {method: 'POST', body: '{}'}).then(() => 'read', () => 'refused')"
        assert other.evaluate(read, target) == "refused"
        with other.expect_response(target) as answer:
            other.evaluate(FORM, target)
        other.wait_for_url(target)
        assert answer.value.status == 403
    other.context.close()


def test_a_frame_offers_a_window_of_its_own_with_the_state(host: str, schools: list[str], page: Page):
    """Browsers can block uploads and downloads in a frame of another site."""
    page.goto(f"{schools[0]}/whole")
    frame = page.frame_locator("iframe")
    cell = frame.locator('.tile[data-layer="0"][data-head="3"]')
    expect(cell).to_be_visible(timeout=30_000)
    link = frame.get_by_role("link", name="Open in a window")
    expect(link).to_be_visible()
    cell.click()
    cell.press("p")
    expect(link).to_have_attribute("href", re.compile(r"/\?.*plan=self-0\.3g0"))
    with page.expect_popup() as popup:
        link.click()
    expect(popup.value.get_by_role("button", name="Layer 1, head 4, pruned")).to_be_visible(timeout=30_000)
    expect(popup.value.get_by_role("link", name="Open in a window")).to_have_count(0)


@pytest.fixture(scope="module")
def below() -> Iterator[str]:
    with serve(STREAMLIT_SERVER_BASE_URL_PATH="lab") as its:
        yield f"{its}/lab"


@pytest.fixture
def plain(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(bypass_csp=True, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def type_letter(page: Page, address: str) -> None:
    page.goto(f"{address}/?model=assignment-selective&text=a%3D1%3B+a%3D%3F")
    page.locator(".tile").first.wait_for(timeout=60_000)
    text_box(page).press("End")
    page.keyboard.press(";")
    page.wait_for_function("new URLSearchParams(location.search).get('text') === 'a=1; a=?;'")


def test_a_letter_is_answered_by_the_route_below_the_path(plain: Page, below: str):
    asked: list[tuple[str, int]] = []
    plain.on("response", lambda answer: asked.append((answer.url.removeprefix(below), answer.status)))
    type_letter(plain, below)
    assert plain.url.startswith(f"{below}/?")
    assert [status for url, status in asked if url.startswith("/lab/visits/") and url.endswith("/events")] == [200]
    assert [status for url, status in asked if url.startswith("/lab/library/")] == [200]  # preload and import share it
    with urllib.request.urlopen(f"{below}/healthz") as answer:
        assert answer.read() == b"ready\n"


def test_a_page_that_cannot_import_the_library_receives_it_from_streamlit(plain: Page, below: str):
    plain.route("**/lab/library/*", lambda route: route.abort())
    type_letter(plain, below)
    expect(plain.locator(".tile")).to_have_count(12)
