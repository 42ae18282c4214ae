"""What the extras of the wheel, `pip install -r requirements.txt` and `make app` install, and from which index.

    pytest tests/test_extras.py                  # environments of links to the packages that the metadata requires
    pytest tests/test_extras.py -m verify        # real environments, installed by pip from the index
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import packages_distributions
from pathlib import Path
from threading import Thread

import pytest
from packaging.requirements import Requirement

import attention_lab
import models
from models.extras import MODULES
from tests.browser import answering, free_ports
from tests.environments import normalised, run, with_wheel
from tools import wheel_files

EXTRAS = ("", "hf", "figures", "notebook", "study")
# expression -> the extra that it needs
NEEDS = {"al.load('hf:openai-community/gpt2')": "hf", "al.load_folder('.')": "hf", "al.mean_weights": "hf",
         "al.save_pretrained(al.load('stories-softmax'), 'x')": "hf", "al.figures": "figures", "al.show": "notebook",
         "al.compare": "notebook", "al.study": "study"}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the folder of a tiny GPT-2, in place of the one on the Hub."""
    sys.path.insert(0, str(Path(__file__).parent / "models"))
    import foreign_tiny

    return foreign_tiny.folder_of("gpt2")


def snippets(root: Path, extra: str, tiny: Path) -> str:
    """Returns the Python of docs/python.md that needs no extra or this one, with a training of a few steps."""
    page = (root / "docs" / "python.md").read_text()
    blocks = re.findall(r"^```python ?(\w*)\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert {of for of, _ in blocks} == set(EXTRAS)
    code = "".join(block for of, block in blocks if of in ("", extra))
    assert "steps=1500" in code
    return code.replace('al.load("hf:openai-community/gpt2")', f'al.load_folder("{tiny}")').replace("1500", "60")


def check(python: Path, extra: str, root: Path, tiny: Path) -> None:
    """Runs the snippets of an extra, and whatever another extra is needed for."""
    run(python, snippets(root, extra, tiny))
    missing = {code: of for code, of in NEEDS.items() if of != extra}
    said = run(python, "import attention_lab as al\n" + "".join(
        f"try: {code}\nexcept al.MissingExtraError as error: print(error)\n" for code in missing)).splitlines()
    assert len(said) == len(missing)
    for line, of in zip(said, missing.values(), strict=True):
        assert re.fullmatch(rf"\w+ is not installed: pip install 'attention-lab\[{of}\]'", line)


def check_app(python: Path, log: Path) -> None:
    """Starts the app by its command, and waits until it has run a model."""
    (port,) = free_ports(1)
    command = [python.with_name("attention-lab"), "app", "--port", str(port)]
    with answering(command, f"http://127.0.0.1:{port}/healthz", log, cwd=python.parent):
        pass
    assert not re.search("Traceback|error", log.read_text(), re.IGNORECASE), log.read_text()


@pytest.mark.parametrize("extra", EXTRAS, ids=lambda extra: extra or "none")
def test_an_extra_has_what_its_documents_use(extra: str, root: Path, wheel: Path, tiny: Path, tmp_path: Path):
    check(with_wheel(tmp_path / "environment", wheel, extra), extra, root, tiny)


def test_the_app_starts_with_its_extra(wheel: Path, tmp_path: Path):
    check_app(with_wheel(tmp_path / "environment", wheel, "app"), tmp_path / "log")


@pytest.mark.verify
@pytest.mark.parametrize("extra", [*EXTRAS, "app"], ids=lambda extra: extra or "none")
def test_pip_installs_an_extra_that_works(extra: str, root: Path, wheel: Path, tiny: Path, tmp_path: Path):
    """pip installs the wheel into an empty environment. torch has the version of requirements.txt."""
    folder, pins = tmp_path / "environment", tmp_path / "pins.txt"
    pins.write_text("".join(re.findall(r"^torch==.*\n", (root / "requirements.txt").read_text(), re.MULTILINE)))
    venv.create(folder, with_pip=True, symlinks=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--constraint", pins,
                    f"{wheel}[{extra}]" if extra else wheel], check=True, cwd=tmp_path)
    if extra == "app":
        check_app(python, tmp_path / "log")
    else:
        check(python, extra, root, tiny)
    shutil.rmtree(folder)  # a gigabyte


def test_every_imported_package_is_required(root: Path):
    """Every package that a module of the wheel imports is required by the wheel or by one of its extras."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for extra in project["optional-dependencies"].values() for line in extra)]
    declared = {normalised(Requirement(line).name) for line in lines}
    distributions = packages_distributions()
    ours = {*wheel_files.PACKAGES, "attention_lab"}
    for path in (path for package in ours for path in (root / package).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            imported = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else \
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for top in {name.partition(".")[0] for name in imported} - ours - sys.stdlib_module_names:
                assert declared & {normalised(name) for name in distributions.get(top, ())}, (path, top)
    assert MODULES.keys() <= project["optional-dependencies"].keys()


def test_both_doors_have_the_same_names():
    """attention_lab has every name of models, which is the same object, and every public name can be imported."""
    assert set(models.__all__) == set(attention_lab.__all__) - {"compare", "figures", "learn", "show", "study"}
    for name in models.__all__:
        assert getattr(attention_lab, name) is getattr(models, name)
    for name in attention_lab.__all__:
        assert getattr(attention_lab, name) is not None and name in dir(attention_lab)


def test_the_names_that_documents_use_exist(root: Path):
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *(root / "docs").rglob("*.ipynb")]
    for path in pages:
        for name in re.findall(r"\b(?:al|attention_lab)\.([a-z]\w*)", path.read_text()):
            assert hasattr(attention_lab, name) or (root / "attention_lab" / f"{name}.py").exists(), (path, name)
    for name in re.findall(r"`(\w+Error)`", (root / "docs" / "python.md").read_text()):
        assert hasattr(attention_lab, name), name


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


def test_pip_takes_the_build_without_cuda_or_the_ordinary_one(root: Path, indexes: tuple[Path, Path], tmp_path: Path):
    """If PyTorch's index cannot be reached, pip installs torch with CUDA from the ordinary index."""
    ordinary, own = indexes
    assert pytorch(root) == "https://download.pytorch.org/whl/cpu"
    assert installed(torch_lines(root, own.as_uri()), ordinary, tmp_path) == {("torch", "2.13.0+cpu")}
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
