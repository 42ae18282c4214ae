"""The served app with a base path, on the visitor's own machine: gate, limits and health check work."""

import asyncio
import contextlib
import http.client
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.typing import Origin, Subprotocol

from app.server import limits
from app.server.requests import messages
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
    assert socket(address, message=b"x" * (messages.LARGEST + 1)) == "closed"
    assert socket(address, message=files(messages.MOST_FILES + 1)) == "silence"
    assert socket(address, message=files(messages.MOST_FILES)) == "file_urls_response"
