"""Tests of the middleware that compresses static files."""

import gzip
import re
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from app.server.requests import static_files
from components.mounting import page_style

TEXT = "let a = 1;\n" * 500


@pytest.fixture
def client(tmp_path: Path) -> TestClient:
    file = tmp_path / "a.js"
    file.write_text(TEXT, encoding="utf-8")
    return TestClient(static_files.StaticFiles(PlainTextResponse("passed on"), "/lab", {"/static/a.js": file}))


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
    files = static_files.served_files()
    assert len(files) > 100
    assert "/app/static/vega-6.2.0.js" in files
    hashed = re.compile(r"^/static/.*\.[\w-]{8}\.\w+$")
    versioned = re.compile(r"^/app/static/.*-\d+\.\d+\.\d+\.(js|woff2)$")
    assert not [path for path in files if not hashed.match(path) and not versioned.match(path)]


def test_the_fonts_of_the_page_are_served_and_small():
    named = re.findall(r"url\('([^']+\.woff2)'\)", page_style())
    fonts = [static_files.served_files()[f"/{path}"] for path in named]
    assert len(set(fonts)) == 3
    assert sum(font.stat().st_size for font in fonts) < 250_000
    assert all(font.read_bytes()[:4] == b"wOF2" for font in fonts)
    assert {file.name for file in static_files.OWN.glob("*.woff2")} == {font.name for font in fonts}
