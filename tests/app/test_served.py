"""The served app with a base path: gate, limits, health check, compressed files, and the style inserted in its page."""

import asyncio
import contextlib
import gzip
import http.client
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import streamlit
import websockets
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.testclient import TestClient
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

from app.server import incoming, limits, sent
from app.server.sent import FirstPaint, head
from components.library import address as library_address
from components.library import source
from tests.browser import serve
from tests.own_loop import run

EVIL = "http://evil.example"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Yields the address of the app as `make app` starts it, with the base path /lab."""
    with serve(STREAMLIT_SERVER_BASE_URL_PATH="lab") as its:
        yield its


def status(address: str, path: str, method: str = "GET", body: bytes = b"",
           **headers: str) -> tuple[int, dict[str, str]]:
    """Sends one request and returns the status and the headers of the response."""
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    with contextlib.closing(connection):
        connection.request(method, path, body or None, {key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}


def socket(address: str, host: str | None = None, origin: str | None = None, message: bytes = b"") -> str:
    """Opens a websocket, sends a message, and returns the server's reaction within two seconds."""
    async def opened() -> str:
        name = host or urlsplit(address).netloc
        try:
            async with websockets.connect(
                    f"ws://{name}/lab/_stcore/stream", host="127.0.0.1", port=urlsplit(address).port,
                    subprotocols=[Subprotocol("streamlit")], origin=Origin(origin or f"http://{name}")) as found:
                await found.send(message)
                answer = await asyncio.wait_for(found.recv(), 2)
                return str(ForwardMsg.FromString(bytes(answer)).WhichOneof("type"))
        except TimeoutError:
            return "silence"
        except websockets.ConnectionClosed:
            return "closed"
        except websockets.WebSocketException:
            return "refused"
    return run(opened())


def files(count: int) -> bytes:
    """Returns a request for upload addresses, to which Streamlit responds at once."""
    message = BackMsg()
    message.file_urls_request.file_names.extend(f"{number}.png" for number in range(count))
    return message.SerializeToString()


def test_pages_and_health_are_below_the_base_path(address: str):
    code, headers = status(address, "/lab/")
    assert code == 200 and "frame-ancestors 'self'" in headers["content-security-policy"]
    assert status(address, "/lab/_stcore/health")[0] == 200
    # the health check accepts any host name, because a balancer addresses a replica by IP address
    for path in ("/healthz", "/lab/healthz"):
        assert status(address, path, Host="10.0.0.9")[0] in (200, 503)
        assert status(address, path, Host="evil.example")[0] in (200, 503)


def test_the_library_is_kept_by_browsers_and_compressed(address: str):
    link = status(address, "/lab/")[1]["link"]
    path = link.removeprefix("<").removesuffix(">; rel=modulepreload")
    assert path == f"/lab/{library_address()}"
    code, headers = status(address, path, Accept_Encoding="gzip")
    assert code == 200 and headers["content-encoding"] == "gzip"
    assert headers["content-type"].startswith("text/javascript")
    assert "immutable" in headers["cache-control"] and int(headers["content-length"]) < len(source()) / 3
    assert int(status(address, path)[1]["content-length"]) == len(source().encode())
    assert status(address, "/lab/lab/library/0123456789ab.js")[0] == 404


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/_stcore/script-health-check", "/auth/login"])
def test_closed_routes_are_closed_below_the_base_path(path: str, address: str):
    assert status(address, f"/lab{path}")[0] == status(address, path)[0] == 404


def test_other_hosts_and_origins_are_refused(address: str):
    """After DNS rebinding a page of another site sends its own name in both headers."""
    name = urlsplit(address).netloc
    for path in ("/lab/", "/lab/lab/visits/x/events", "/lab/_stcore/host-config"):
        assert status(address, path, Host="evil.example")[0] == 400
    assert status(address, "/lab/lab/visits/x/events", "POST", b"{}", Host="evil.example", Origin=EVIL)[0] == 400
    assert status(address, "/lab/lab/visits/x/events", "POST", b"{}", Host=name, Origin=EVIL)[0] == 403
    assert status(address, "/lab/_stcore/upload_file/a/b", "PUT", b"x", Host=name, Origin=EVIL)[0] == 403
    assert status(address, "/lab/lab/visits/x/events", "POST", b"{}", Host=name, Origin=address)[0] == 410
    assert socket(address, "evil.example", EVIL, files(1)) == "refused"
    assert socket(address, None, EVIL, files(1)) == "refused"
    assert socket(address, message=files(1)) == "file_urls_response"


def test_the_limits_hold_below_the_base_path(address: str):
    size = str(int(limits.UPLOADS.visit) + 1)
    assert status(address, "/lab/_stcore/upload_file/a/b", "PUT", b"x", Content_Length=size)[0] == 413
    assert socket(address, message=b"x" * (incoming.LARGEST_MESSAGE + 1)) == "closed"
    assert socket(address, message=files(incoming.MOST_FILES + 1)) == "silence"
    assert socket(address, message=files(incoming.MOST_FILES)) == "file_urls_response"


TEXT = "let a = 1;\n" * 500


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    file = tmp_path / "a.js"
    file.write_text(TEXT, encoding="utf-8")
    return TestClient(sent.StaticFiles(PlainTextResponse("passed on"), "/lab", {"/static/a.js": file}))


def test_a_file_is_compressed_and_kept_by_the_browser(client):
    answer = client.get("/lab/static/a.js", headers={"Accept-Encoding": "gzip"})
    assert answer.text == TEXT
    assert answer.headers["content-encoding"] == "gzip"
    assert int(answer.headers["content-length"]) == len(gzip.compress(TEXT.encode(), 6, mtime=0)) < len(TEXT) / 10
    assert answer.headers["content-type"].startswith("text/javascript")
    assert "immutable" in answer.headers["cache-control"]
    assert answer.headers["vary"] == "Accept-Encoding"


@pytest.mark.parametrize("path, headers", [
    ("/lab/static/a.js", {"Accept-Encoding": "identity"}), ("/lab/static/a.js", {"Range": "bytes=0-9"}),
    ("/static/a.js", {}), ("/lab/static/b.js", {}), ("/lab/static//a.js", {}), ("/lab", {}),
])
def test_all_other_requests_are_passed_on(client, path, headers):
    assert client.get(path, headers={"Accept-Encoding": "gzip"} | headers).text == "passed on"
    assert client.post("/lab/static/a.js").text == "passed on"


def test_the_name_of_each_file_changes_with_its_content():
    """Browsers keep the files for a year, so each name must contain a hash or a version."""
    files = sent.served_files()
    assert len(files) > 100
    assert "/app/static/vega-6.2.0.js" in files
    hashed = re.compile(r"^/static/.*\.[\w-]{8}\.\w+$")
    versioned = re.compile(r"^/app/static/.*-\d+\.\d+\.\d+\.(js|woff2)$")
    assert not [path for path in files if not hashed.match(path) and not versioned.match(path)]


def test_the_fonts_of_the_page_are_served_and_small():
    fonts = [sent.served_files()[f"/{face['url']}"] for face in streamlit.get_option("theme.fontFaces")]
    assert len(set(fonts)) == 3
    assert sum(font.stat().st_size for font in fonts) < 250_000
    assert all(font.read_bytes()[:4] == b"wOF2" for font in fonts)
    assert {file.name for file in sent.OWN.glob("*.woff2")} == {font.name for font in fonts}


PAGE, STYLE = "<html><head></head><body></body></html>", "<style>b {}</style>"
CHANGED = f"<html><head>{head()}</head><body>{STYLE}</body></html>"


def answer(response: Response) -> TestClient:
    return TestClient(FirstPaint(response, STYLE))


@pytest.mark.parametrize("is_compressed", [False, True])
def test_a_page_gets_background_and_style(is_compressed: bool):
    body = gzip.compress(PAGE.encode()) if is_compressed else PAGE
    headers = {"Content-Encoding": "gzip"} if is_compressed else {}
    found = answer(Response(body, media_type="text/html", headers=headers)).get("/")
    assert found.text == CHANGED
    if not is_compressed:
        assert found.headers["content-length"] == str(len(CHANGED.encode()))


@pytest.mark.parametrize(("kind", "status", "headers"), [
    ("text/javascript", 200, {}), ("text/html", 404, {}), ("text/html", 200, {"Content-Disposition": "attachment"}),
    ("text/html", 200, {"Content-Encoding": "zstd?"})])
def test_every_other_response_is_unchanged(kind: str, status: int, headers: dict[str, str]):
    found = answer(Response(PAGE, status, headers, kind)).get("/")
    assert found.text == PAGE
    assert found.headers["content-length"] == str(len(PAGE))


def test_the_sentence_about_a_missing_connection_is_in_each_language():
    for sentence in ("No connection to the server", "没有连接到服务器"):
        assert sentence in head()


def test_the_headers_of_a_page_have_no_body():
    assert answer(Response(media_type="text/html")).head("/").content == b""


def test_a_browser_never_takes_its_stored_page_for_the_present_page(tmp_path: Path):
    """Streamlit's file is the same after an update of the app, so Streamlit alone would answer 304."""
    (tmp_path / "index.html").write_text(PAGE)
    unchanged = FileResponse(tmp_path / "index.html", stat_result=(tmp_path / "index.html").stat()).headers["etag"]
    streamlit = StaticFiles(directory=tmp_path, html=True)
    asked = {"Accept": "text/html,*/*;q=0.8", "If-None-Match": unchanged}
    assert TestClient(streamlit).get("/", headers=asked).status_code == 304
    found = TestClient(FirstPaint(streamlit, STYLE)).get("/", headers=asked)
    assert found.text == CHANGED
    assert "etag" not in found.headers and "last-modified" not in found.headers
