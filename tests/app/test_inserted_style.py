"""The theme's background and the style sheet are inserted into Streamlit's page, and into nothing else."""

import gzip
from pathlib import Path

import pytest
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.testclient import TestClient

from app.server.requests.first_paint import FirstPaint, head

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
