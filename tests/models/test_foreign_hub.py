"""Tests of the Hugging Face Hub with replaced functions and no network, and of the cache of foreign models."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx2 as httpx
import huggingface_hub
import pytest
from foreign_tiny import TEXT, folder_of
from huggingface_hub import errors

import models
from models import catalogue
from models.errors import CancelledError
from models.labs.foreign import model_cache
from models.labs.foreign.opening import hub
from models.labs.foreign.opening.hub import HOSTED, LOCAL, Access
from models.labs.foreign.refusals import ForeignError

FILES = {"config.json": 700, "tokenizer.json": 5000, "model.safetensors": 400_000, "pytorch_model.bin": 400_000,
         "onnx/model.onnx": 900_000, "README.md": 100}


class Hub:
    """Replaces the functions of the Hub's library; its one model is in a local folder."""

    def __init__(self, patch: pytest.MonkeyPatch, folder: Path, files: dict[str, int] | None = None) -> None:
        self.folder, self.files, self.fetched, self.error = folder, files or FILES, [], None
        self.total: int | None = 100_000
        self.tokens: set[Any] = set()
        self.revisions: list[str | None] = []
        patch.setattr(huggingface_hub, "model_info", self.model_info)
        patch.setattr(huggingface_hub, "hf_hub_download", self.download)
        patch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repo, file, revision: None)
        patch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: LOCAL.held_bytes))

    def model_info(self, repo: str, *, revision: str | None, files_metadata: bool, timeout: float, token: Any) -> Any:
        assert repo == "org/tiny"
        self.tokens.add(token)
        self.revisions.append(revision)
        if self.error:
            raise self.error
        assert files_metadata and timeout
        return SimpleNamespace(sha="c0ffee", safetensors=SimpleNamespace(total=self.total) if self.total else None,
                               siblings=[SimpleNamespace(rfilename=n, size=s) for n, s in self.files.items()])

    def download(self, repo: str, file: str, *, revision: str, token: Any, tqdm_class: Any = None) -> str:
        self.tokens.add(token)
        assert revision == "c0ffee"
        self.fetched.append(file)
        if tqdm_class is not None:
            bar = tqdm_class(total=self.files[file])
            for _ in range(4):
                bar.update(self.files[file] // 4)
        return str(self.folder / file)


@pytest.fixture
def net(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Hub:
    snapshot = tmp_path / "models--org--tiny" / "snapshots" / "c0ffee"
    shutil.copytree(folder_of("bert"), snapshot)
    # the Hub's cache stores contents in blobs, to which file names link
    blobs = tmp_path / "models--org--tiny" / "blobs"
    blobs.mkdir()
    (snapshot / "model.safetensors").rename(blobs / "1234")
    (snapshot / "model.safetensors").symlink_to("../../blobs/1234")
    return Hub(monkeypatch, snapshot)


def test_a_model_of_the_hub(net: Hub):
    calls: list[tuple[int, int]] = []
    lab = models.labs.foreign.load("hf:org/tiny", progress=lambda done, of: calls.append((done, of)))
    assert lab.name == "hf:org/tiny" and models.load("hf:org/tiny") is lab
    assert models.run(lab, TEXT).weights["self"].shape[:2] == (2, 4)
    # no pickle and no other file is downloaded
    assert set(net.fetched) == {"config.json", "tokenizer.json", "model.safetensors"}
    whole = 700 + 5000 + 400_000
    assert calls == sorted(calls) and calls[-1] == (whole, whole) and len(calls) > 6


def test_size_before_loading(net: Hub):
    found = hub.estimate("hf:org/tiny")
    assert (found.download, found.memory, found.revision) == (405_700, 400_000, "c0ffee")
    assert net.fetched == ["config.json"]
    net.total = None  # the Hub does not report the size, so it is computed from the file's size and the config's dtype
    assert hub.estimate("hf:org/tiny").memory == 400_000
    config = json.loads((net.folder / "config.json").read_text())
    (net.folder / "config.json").write_text(json.dumps({**config, "dtype": "bfloat16"}))
    assert hub.estimate("hf:org/tiny").memory == 800_000


def test_a_download_is_cancelled(net: Hub):
    with pytest.raises(CancelledError):
        models.labs.foreign.load("hf:org/tiny", cancelled=lambda: True)
    assert net.fetched == ["config.json"]  # the size was known from the config alone
    stop = iter([False, False, False, True])
    with pytest.raises(CancelledError):
        models.labs.foreign.load("hf:org/tiny", cancelled=lambda: next(stop, True))
    assert "model.safetensors" not in net.fetched
    assert models.labs.foreign.load("hf:org/tiny").name == "hf:org/tiny"  # a second request opens the model


def answer(status: int) -> Any:
    return httpx.Response(status, request=httpx.Request("GET", "https://huggingface.co/api/models/org/tiny"))


WRONG = {  # case -> (exception of the Hub's library, part of the message to the visitor)
    "unknown": (lambda: errors.RepositoryNotFoundError("no", response=answer(404)), "no org/tiny on the Hub"),
    "private": (lambda: errors.HfHubHTTPError("no", response=answer(401)), "or it is private"),
    "revision": (lambda: errors.RevisionNotFoundError("no", response=answer(404)), "has no such tag, branch or commit"),
    "gated": (lambda: errors.GatedRepoError("no", response=answer(403)), "gated"),
    "offline": (lambda: errors.OfflineModeIsEnabled("off"), "cannot be reached"),
    "no network": (lambda: httpx.ConnectError("no"), "cannot be reached"),
    "slow": (lambda: httpx.ReadTimeout("slow"), "cannot be reached"),
    "broken": (lambda: errors.HfHubHTTPError("oops", response=answer(500)), "answers with an error"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_goes_wrong_at_the_hub(net: Hub, case: str):
    make, reason = WRONG[case]
    net.error = make()
    with pytest.raises(ForeignError, match=reason):
        models.load("hf:org/tiny")


def test_without_network_what_was_fetched_opens_but_not_half_of_it(net: Hub, monkeypatch: pytest.MonkeyPatch):
    net.error = httpx.ConnectError("no")
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda repo, file, revision: str(net.folder / file))
    entry = catalogue.find("hf:org/tiny")  # the catalogue has the model before it is loaded
    lab = models.load("hf:org/tiny")
    assert lab.name == "hf:org/tiny" and (entry.kinds, entry.limit) == (lab.kinds, lab.limit)
    monkeypatch.setattr(model_cache, "_cache", model_cache.ModelCache(lambda: LOCAL.held_bytes))
    (net.folder / "model.safetensors").unlink()
    for ask in (models.load, catalogue.find):
        with pytest.raises(ForeignError, match="not on this machine"):
            ask("hf:org/tiny")


def test_a_blob_that_leads_elsewhere(net: Hub, tmp_path: Path):
    (net.folder / "tokenizer.json").rename(tmp_path / "tokenizer.json")
    (net.folder / "tokenizer.json").symlink_to(tmp_path / "tokenizer.json")
    with pytest.raises(ForeignError, match="leads out"):
        models.load("hf:org/tiny")


def test_hub_models_that_cannot_be_opened(net: Hub):
    net.files = {"config.json": 1, "pytorch_model.bin": 9}
    with pytest.raises(ForeignError, match="are a pickle file"):
        models.load("hf:org/tiny")
    net.files = {"model.safetensors": 9}
    with pytest.raises(ForeignError, match="no config.json"):
        models.load("hf:org/tiny")
    net.files, net.total = FILES, 9 * 10**9
    with pytest.raises(ForeignError, match=r"would take 36,000 MB of memory \(at most 16,000 MB\)"):
        models.load("hf:org/tiny")
    assert "model.safetensors" not in net.fetched


@pytest.mark.parametrize("text", ["hf:org/tiny", "https://huggingface.co/org/tiny", "hf.co/org/tiny/", "org/tiny@main",
                                  "https://huggingface.co/org/tiny/tree/main", " 'org/tiny' ", "“org/tiny”",
                                  "https://huggingface.co/org/tiny/blob/main/config.json?download=true",
                                  "HTTPS://HuggingFace.co/org/tiny.git", "https://mirror.example.org/org/tiny",
                                  "hf://org/tiny", "https://huggingface.co/org/tiny/discussions/3",
                                  "https://huggingface.co/org/tiny/raw/main/config.json"])
def test_a_pasted_address_of_the_hub_is_the_id(text: str):
    assert hub.repo_of(text) == "org/tiny"


def test_a_revision_is_opened_and_no_other(net: Hub):
    main = models.load("hf:org/tiny")
    net.revisions.clear()
    lab = models.load("hf:org/tiny@v1")
    assert lab is not main and lab.name == "hf:org/tiny@v1" and net.revisions == ["v1"]
    for text in ("https://huggingface.co/org/tiny/tree/v1", "org/tiny@v1 ",
                 "https://huggingface.co/org/tiny/blob/v1/config.json"):
        assert models.load(text) is lab
    assert models.load("org/tiny") is main and catalogue.find(lab.name).name == lab.name


def test_a_name_with_a_slash_is_of_the_hub_or_of_a_folder(net: Hub, tmp_path: Path):
    for name in ("org/tiny", "https://huggingface.co/org/tiny"):
        assert models.load(name) is models.load("hf:org/tiny")
    folder = shutil.copytree(folder_of("bert"), tmp_path / "mine")
    assert models.load(str(folder)) is models.load_folder(folder)


def test_a_web_page_in_place_of_the_hub_is_named(net: Hub):
    """A login page of a network or of a mirror answers every request with status 200."""
    page = "<!doctype html><title>Log in</title>"
    net.error = json.JSONDecodeError("Expecting value", page, 0)
    with pytest.raises(ForeignError, match="returns a web page for org/tiny. Log in to the network"):
        models.load("hf:org/tiny")


@pytest.mark.parametrize("name", ["hf:", "hf:../x", "hf:a/b/c", "hf:a b", "hf:-x/y", "hf:x/..", "hf:a@b@c",
                                  "hf:a@../b", "hf:" + "x" * 200])
def test_what_is_no_id(net: Hub, name: str):
    with pytest.raises(ForeignError, match="no model id"):
        models.load(name)


@pytest.mark.parametrize(("memory", "most", "held"), [(24_000, 600, 1200), (2100, 600, 1200), (1500, 300, 600),
                                                      (1000, 100, 100), (500, 100, 0)])
def test_a_small_host_opens_small_models(memory: int, most: int, held: int):
    """The size limit of foreign models and the memory of their cache depend on the memory of the host."""
    found = hub.fitted(HOSTED, memory * hub.MB)
    assert (found.max_bytes, found.held_bytes) == (most * hub.MB, held * hub.MB)
    assert found.allowed == HOSTED.allowed and found.hosted
    assert (found is HOSTED) == (memory > 2000)


def test_the_memory_limit_of_a_container_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text("536870912\n")
    none.write_text("max\n")
    whole = hub.memory.__wrapped__()
    for files, expected in (((limit,), 2**29), ((none, tmp_path / "missing"), None), ((none, limit), 2**29)):
        monkeypatch.setattr(hub, "CONTAINER", files)
        found = hub.memory.__wrapped__()
        assert found == expected if expected else found >= whole


def test_a_host_opens_what_it_allows(net: Hub, monkeypatch: pytest.MonkeyPatch):
    """A link to another model sends no request and uses no token."""
    monkeypatch.setenv(hub.SETTING, "1")
    assert hub.access() is HOSTED
    for ask in (models.load, catalogue.find):
        with pytest.raises(ForeignError, match="this host does not open .*org/tiny"):
            ask("hf:org/tiny")
    assert net.tokens == set() and net.fetched == []
    with pytest.raises(ForeignError, match="opens no folders"):
        models.load_folder(folder_of("bert"))
    few = Access(True, ("org/tiny",), 300_000, 10**9)
    monkeypatch.setattr(hub, "access", lambda: few)
    with pytest.raises(ForeignError, match="would take 0 MB|would take"):
        models.load("hf:org/tiny")
    net.total = 1000
    assert models.load("hf:org/tiny").name == "hf:org/tiny" and net.tokens == {False}


def fake(size: int, its: str = "") -> Any:
    class Lab:
        name, nbytes = its, size
    return Lab()


@pytest.mark.parametrize(("most", "asked", "loaded"), [(10, "abababcba", "abca"), (5000, "abcdefgcdefgb", "abcdefgb")])
def test_the_least_recently_used_model_is_evicted(most: int, asked: str, loaded: str):
    """As many models are kept as fit, but two whatever their size, so that two visitors do not evict each other."""
    made: list[str] = []
    cache = model_cache.ModelCache(lambda: most)
    for key in asked:
        cache.get(key, lambda key=key: made.append(key) or fake(1000))
    assert "".join(made) == loaded


def test_one_that_pages_ask_for_or_use_stays():
    """A request by name marks a model as used, so this model is not evicted although it was loaded first."""
    small = model_cache.ModelCache(lambda: 10)
    for key in "ab":
        small.get(key, lambda key=key: fake(1000, key))
    used = small.called("a")
    small.get("c", lambda: fake(1000, "c"))
    assert used is not None and small.called("a") is used and small.called("b") is None
    small = model_cache.ModelCache(lambda: 10)
    used = small.get("a", lambda: fake(1000))
    for key in "bcd":
        small.get(key, lambda: fake(1000))
    assert small.find("a") is used and small.find("b") is None


def test_one_load_for_two_who_ask_and_none_waits_for_another_model():
    shared, made, started, go = model_cache.ModelCache(lambda: 10), [], threading.Event(), threading.Event()

    def slow() -> Any:
        started.set()
        go.wait(10)
        made.append("slow")
        return fake(1)

    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(shared.get, "slow", slow) for _ in range(2)]
        started.wait(10)
        began = time.monotonic()
        shared.get("quick", lambda: fake(1))
        assert time.monotonic() - began < 1 and made == []
        go.set()
    assert waiting[0].result() is waiting[1].result() and made == ["slow"]


MIRROR = """
import json, sys
from models.labs.foreign.opening import hub
found = hub.estimate("hf:org/tiny")
print(json.dumps(sorted(path.name for path in hub.download(found).iterdir())))
"""


def test_a_mirror_sends_the_contents_too(tmp_path: Path, root: Path):
    """With HF_ENDPOINT, no request leaves the mirror, although its answers name the Hub's own storage, Xet."""
    folder, asked = folder_of("bert"), []

    class Mirror(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.do_GET()

        def do_GET(self) -> None:
            asked.append(self.path)
            if self.path.startswith("/api/"):
                names = [path.name for path in folder.iterdir()]
                body = json.dumps({"id": "org/tiny", "sha": "c0ffee", "siblings": [
                    {"rfilename": name, "size": (folder / name).stat().st_size} for name in names]}).encode()
            else:
                body = (folder / self.path.rpartition("/")[2]).read_bytes()
            self.send_response(200)
            here = f"http://127.0.0.1:{self.server.server_address[1]}"
            for name, value in {"Content-Length": str(len(body)), "ETag": f'"{hash(self.path):x}"',
                                "X-Repo-Commit": "c0ffee", "X-Xet-Hash": "ab" * 32, "Content-Type": "application/json",
                                "Link": f'<{here}/xet/token>; rel="xet-auth"'}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Mirror) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        mirror = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}", "HF_HOME": str(tmp_path),
                  "HF_HUB_OFFLINE": "0"}
        done = subprocess.run([sys.executable, "-c", MIRROR], cwd=root, capture_output=True, text=True, timeout=60,
                              env={**os.environ, **mirror})
        server.shutdown()
    assert done.returncode == 0, done.stderr[-2000:]
    assert "model.safetensors" in json.loads(done.stdout) and not [path for path in asked if "xet" in path]
    (snapshot,) = tmp_path.rglob("model.safetensors")
    assert snapshot.read_bytes() == (folder / "model.safetensors").read_bytes()
