"""The wheel contains the packages inside `attention_lab`, and works in an environment without the repository."""

import ast
import json
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

import models
from attention_lab.__main__ import STUDIES
from models.catalogue import steps
from models.storage.checkpoint import CHECKPOINTS, digest
from tests.environments import built, run, with_wheel
from tools import notebooks, wheel_files
from tools.wheel_files import rewritten

ROOT = Path(__file__).parents[1]
MOST_BYTES = 40_000_000
KNOWN = {"app", "app.texts", "models", "models.plan", "studies", "studies.papa"}


@pytest.mark.parametrize(("before", "after"), [
    ("from models.plan import HeadPlan\n", "from attention_lab.models.plan import HeadPlan\n"),
    ("from models import (\n    plan)\n", "from attention_lab.models import (\n    plan)\n"),
    ("if a:\n    from   app.texts import _\n", "if a:\n    from   attention_lab.app.texts import _\n"),
    ("import models\n", "import attention_lab.models as models\n"),
    ("import os, models.plan as p\n", "import os, attention_lab.models.plan as p\n"),
    ("import models.plan\n", "import attention_lab.models.plan, attention_lab.models as models\n"),
    ("é = 1; import models\n", "é = 1; import attention_lab.models as models\n"),
    ('A = {"é": "models.plan"}\n', 'A = {"é": "attention_lab.models.plan"}\n'),
    ('importlib.import_module("models")\n', 'importlib.import_module("attention_lab.models")\n'),
    ('A = f"studies.{x}"\n', 'A = f"attention_lab.studies.{x}"\n'),
    ('"""Run.\n\n    python -m studies.papa X\n"""\n',
     '"""Run.\n\n    python -m attention_lab.studies.papa X\n"""\n'),
    ('f"{x}\\npython -m studies.papa {y}"\n', 'f"{x}\\npython -m attention_lab.studies.papa {y}"\n'),
])
def test_references_to_our_modules_are_rewritten(before: str, after: str):
    assert rewritten(before, KNOWN) == after


@pytest.mark.parametrize("code", [
    "from os import path\n", "from . import models\n", "from models_of import x\n", "import modelsx\n",
    '"""\nfrom models.plan import HeadPlan\n"""\n', "# import models\n", 'A = "models"\n', 'A = "models.unknown"\n',
    'A = "see models.plan"\n', 'A = "python -m pytest"\n', "models.plan\n"])
def test_everything_else_stays(code: str):
    assert rewritten(code, KNOWN) == code


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the interpreter of an environment with the wheel, its extras and the kernel of notebooks."""
    return with_wheel(tmp_path_factory.mktemp("environment"), wheel, "app,mcp,notebook,study", "ipykernel")


@pytest.fixture(scope="module")
def alone(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_wheel(tmp_path_factory.mktemp("alone"), wheel, "")


def test_the_wheel_is_small_and_complete(wheel: Path):
    assert wheel.stat().st_size < MOST_BYTES
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        sources = {name: file.read(name).decode() for name in names if name.endswith(".py")}
        released = json.loads(file.read("attention_lab/models/checkpoints/released.json"))
    assert "attention_lab/py.typed" in names
    assert any(name.endswith("licenses/app/static/LICENSES.txt") for name in names)  # the licences of Vega
    packaged = {name.split("/")[3] for name in names if name.endswith("/model.safetensors")}
    assert {name.split("-")[0] for name in packaged} == {name.split("-")[0] for name in models.names()}
    assert set(released) == {*models.names(), *(f"{name}@{step}" for name in models.names() for step in steps(name))}
    for name in sorted(packaged):
        assert released[name] == {path.name: digest(path) for path in (CHECKPOINTS / name).iterdir()
                                  if path.is_file()}
    known = {name.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for name in sources}
    packages = {".".join(name.split(".")[:count]) for name in known for count in range(1, name.count(".") + 1)}
    for name, code in sources.items():
        for node in ast.walk(ast.parse(code)):
            modules = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else \
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for module in modules:
                assert module.partition(".")[0] not in wheel_files.PACKAGES, (name, module)
                assert not module.startswith("attention_lab") or module in known | packages, (name, module)


def test_every_data_set_that_is_packaged_has_its_licence(wheel: Path):
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        folders = {name.split("/")[3] for name in names if name.startswith("attention_lab/assets/data/")}
        for folder in folders - {"README.md"}:
            source = file.read(f"attention_lab/assets/data/{folder}/SOURCE.txt").decode()
            assert re.search(r"^Licence: ", source, re.MULTILINE)
            has_texts = any(f"/data/{folder}/" in name and name.endswith(".gz") for name in names)
            assert has_texts == (folder in wheel_files.DATA)
            if has_texts:
                assert re.search(r"^Licence: CC(0| BY) ", source, re.MULTILINE)
                assert f"attention_lab/assets/data/{folder}/LICENSE.txt" in names


def test_the_import_loads_neither_torch_nor_numpy(python: Path):
    loaded = run(python, "import attention_lab, sys; print(attention_lab.__file__, *sys.modules)").split()
    assert not {"torch", "numpy", "streamlit"} & set(loaded)
    assert loaded[0].startswith(str(python.parents[1]))


def test_a_model_of_each_family_runs_without_an_extra(alone: Path):
    families = sorted({name.split("-")[0] for name in models.names()})
    printed = run(alone, f"""
import attention_lab
for family in {families}:
    lab = attention_lab.load(f"{{family}}-softmax")
    kind = lab.kinds[0].name
    plan = attention_lab.HeadPlan().constant(kind, 0, 1).gate(kind, 1, 2, 0.0)
    trace = attention_lab.run(lab, lab.task.examples[0][1], plan)
    assert (trace.weights[kind][0, 1] != trace.live[kind][0, 1]).any()
    print(family, type(trace).__module__)
""")
    assert printed.split() == [word for family in families for word in (family, "attention_lab.models.trace")]


@pytest.mark.parametrize("path", sorted(notebooks.FOLDER.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs_with_the_wheel(python: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Path):
    """A notebook runs in a kernel with the wheel only, outside of the repository and without Streamlit."""
    kernel = tmp_path / "kernels" / "wheel" / "kernel.json"
    kernel.parent.mkdir(parents=True)
    code = "import sys; sys.modules['streamlit'] = None; from ipykernel import kernelapp as k; k.launch_new_instance()"
    kernel.write_text(json.dumps({"argv": [str(python), "-c", code, "-f", "{connection_file}"],
                                  "display_name": "wheel", "language": "python"}))
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    monkeypatch.delenv("PYTHONPATH", raising=False)
    done = notebooks.executed(path, "wheel", notebooks.environment() | {"OMP_NUM_THREADS": "1"}, tmp_path)
    outputs = [output for cell in done.cells for output in cell.get("outputs", ())]
    assert len(outputs) > 3 and any({"text/html", "image/svg+xml"} & {*output.get("data", {})} for output in outputs)
    shown = notebooks.stored(done)
    assert notebooks.WIDGET not in json.dumps(shown)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    for cell, new in zip(cells, shown.cells, strict=True):  # the stored outputs have the same types as the new ones
        kinds = [(its["output_type"], sorted(its.get("data", ()))) for its in cell.get("outputs", ())]
        assert kinds == [(its.output_type, sorted(its.get("data", ()))) for its in new.get("outputs", ())]


def test_another_released_model_comes_from_a_folder(python: Path, tmp_path: Path):
    code = "import attention_lab; print(attention_lab.load('stories-gated').shape)"
    assert run(python, code, ATTENTION_LAB_MODELS=str(CHECKPOINTS)).split() == ["{'self':", "(4,", "8)}"]
    refused = "import attention_lab\ntry: attention_lab.load('stories-gated')\nexcept ValueError as error: print(error)"
    assert "is not installed" in run(python, refused)
    assert "neither a folder nor ORG/NAME@COMMIT" in run(python, refused.replace("stories-gated", "x"),
                                                          ATTENTION_LAB_MODELS=str(tmp_path / "none"))


def test_the_command_lists_what_it_runs_and_runs_it(python: Path, tmp_path: Path):
    command = python.with_name("attention-lab")

    def output(*arguments: str) -> str:
        done = subprocess.run([command, *arguments], cwd=python.parent, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert "attention-lab evaluate" in output("--help")
    assert output("study") == f"studies: {', '.join(STUDIES)}\n"
    assert "MODEL" in output("study", "papa", "--help") and "attention_lab.studies.papa" in \
        output("study", "papa", "--help")
    assert "--replicas-from" in output("serve", "--help")
    key = output("figure").partition(":")[0]
    target = tmp_path / "chart.svg"
    assert output("figure", key, str(target)) == f"{target}\n" and "<svg" in target.read_text()
    assert "NAME" in output("evaluate", "--help") and "--port" in output("app", "--help")


def test_every_command_of_studies_has_a_name():
    """A command is a module with `if __name__ == "__main__"`, or a package with `__main__`."""
    commands = set()
    for path in (ROOT / "studies").rglob("*.py"):
        if 'if __name__ == "__main__":' in path.read_text():
            commands.add(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__main__"))
    # the command `encoders` trains models and is not a study
    assert commands - {"studies.encoders"} == set(STUDIES.values())


def test_the_app_draws_its_page_from_the_wheel(python: Path):
    printed = run(python, """
import sys
from pathlib import Path
import attention_lab
from streamlit.testing.v1 import AppTest
page = AppTest.from_file(str(Path(attention_lab.__file__).parent / "app" / "main.py"), default_timeout=60).run()
assert not page.exception, page.exception
print(*{name.partition(".")[0] for name in sys.modules} & {"app", "components", "models", "attention_lab"})
""")
    assert printed.split() == ["attention_lab"]


def test_the_source_distribution_makes_the_same_wheel(wheel: Path, tmp_path: Path):
    archive = built(ROOT, tmp_path, "sdist")
    shutil.unpack_archive(archive, tmp_path, filter="data")
    built(Path(str(archive).removesuffix(".tar.gz")), tmp_path)
    with zipfile.ZipFile(wheel) as first, zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as second:
        one, other = ({its.filename: its.CRC for its in file.infolist()} for file in (first, second))
    assert one == other
