"""The extras of the wheel: each has all that its snippets in the documents use, and a missing one is named.

    pytest tests/test_extras.py                  # environments of links to the packages that the metadata requires
    pytest tests/test_extras.py -m verify        # real environments, installed by pip from the index
"""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from importlib.metadata import packages_distributions
from pathlib import Path

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
