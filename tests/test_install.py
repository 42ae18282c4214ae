"""`pip install -r requirements.txt` and `make app`: what they install, and from which index.

If PyTorch's index can be reached, torch is installed without CUDA. Otherwise torch comes from the ordinary index.
The tests use two package indexes in a folder, whose wheels are empty.
"""

import json
import os
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

REQUIREMENTS = Path("requirements.txt")
NOWHERE = "file:///nowhere/whl/cpu"


def add_wheel(index: Path, name: str, version: str, needs: str = "") -> None:
    """Writes an empty wheel with this name and requirement to a package index in the layout of PEP 503."""
    folder = index / name.replace("_", "-")
    folder.mkdir(parents=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                      + (f"Requires-Dist: {needs}\n" if needs else ""))
        file.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{info}/RECORD", "")
    (folder / "index.html").write_text(f'<a href="{wheel.name.replace("+", "%2B")}">{wheel.name}</a>')


@pytest.fixture
def indexes(tmp_path: Path) -> tuple[Path, Path]:
    """Returns two package indexes: the ordinary one, whose torch needs CUDA, and PyTorch's index."""
    ordinary, own = tmp_path / "simple", tmp_path / "cpu"
    add_wheel(ordinary, "torch", "2.13.0", "nvidia-cuda==1.0")
    add_wheel(ordinary, "nvidia_cuda", "1.0")
    add_wheel(own, "torch", "2.13.0+cpu")
    return ordinary, own


def torch_lines(root: Path, index: str) -> str:
    """Returns the lines of requirements.txt about torch and package indexes, with `index` for PyTorch's index."""
    lines = (root / REQUIREMENTS).read_text().splitlines()
    return "\n".join(line.replace(pytorch(root), index) for line in lines if line.startswith(("torch==", "--")))


def pytorch(root: Path) -> str:
    """Returns the package index that requirements.txt names."""
    line, = (line for line in (root / REQUIREMENTS).read_text().splitlines() if line.startswith("--"))
    option, index = line.split()
    assert option == "--extra-index-url"
    return index


def installed(requirements: str, ordinary: Path, tmp_path: Path) -> set[tuple[str, str]]:
    """Returns the (name, version) pairs that pip would install, without the pip settings of this machine."""
    file, report = tmp_path / "asked.txt", tmp_path / "report.json"
    file.write_text(requirements)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PIP_")}
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed",
                    "--disable-pip-version-check", "--index-url", ordinary.as_uri(), "--report", str(report),
                    "-r", str(file)], check=True, env=environment | {"PIP_CONFIG_FILE": os.devnull}, timeout=120)
    found = json.loads(report.read_text())["install"]
    return {(item["metadata"]["name"], item["metadata"]["version"]) for item in found}


def test_pip_takes_the_build_without_cuda(root: Path, indexes: tuple[Path, Path], tmp_path: Path):
    ordinary, own = indexes
    assert pytorch(root) == "https://download.pytorch.org/whl/cpu"
    assert installed(torch_lines(root, own.as_uri()), ordinary, tmp_path) == {("torch", "2.13.0+cpu")}


def test_pip_uses_the_ordinary_index_without_pytorch_s(root: Path, indexes: tuple[Path, Path], tmp_path: Path):
    """If PyTorch's index cannot be reached, pip installs torch with CUDA from the ordinary index."""
    found = installed(torch_lines(root, NOWHERE), indexes[0], tmp_path)
    assert found == {("torch", "2.13.0"), ("nvidia_cuda", "1.0")}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Prints nothing, to keep the test's output short."""


def made(root: Path, folder: Path, index: str) -> list[str]:
    """Returns the lines that make passes to pip, with `index` in place of PyTorch's index."""
    shutil.copy(root / "Makefile", folder)
    text = (root / REQUIREMENTS).read_text()
    (folder / REQUIREMENTS).write_text(text.replace(pytorch(root), index))
    subprocess.run(["make", f"PYTHON={sys.executable}", ".venv/requirements.txt"], cwd=folder, check=True, timeout=60,
                   capture_output=True)
    return (folder / ".venv" / REQUIREMENTS).read_text().splitlines()


def test_make_leaves_out_an_index_that_cannot_be_reached(root: Path, indexes: tuple[Path, Path], tmp_path: Path):
    """make does not pass an unreachable index to pip, which would try it six times for each of sixty packages."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(indexes[1])))
    thread = Thread(target=server.serve_forever)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}"
    try:
        (there := tmp_path / "there").mkdir()
        assert f"--extra-index-url {address}" in made(root, there, address)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    (gone := tmp_path / "gone").mkdir()
    lines = made(root, gone, address)
    whole = (root / REQUIREMENTS).read_text().splitlines()
    assert lines == [line for line in whole if not line.startswith("--")] and len(lines) == len(whole) - 1
