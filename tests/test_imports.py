"""Imports: no cycles, the table tools/imports.toml, and imports of light modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import ROOT
from tools import import_graph


@pytest.mark.parametrize("graph_of", [import_graph.module_graph, import_graph.package_graph])
def test_there_is_no_import_cycle(graph_of: Callable[[Path], import_graph.Graph]):
    """Imports at module level, inside functions and under TYPE_CHECKING all count."""
    assert import_graph.cycle(graph_of(ROOT)) == []


def test_imports_follow_the_table_and_test_modules_have_distinct_names():
    """pytest imports a test module by its name alone, so a second module of the same name ends the whole run."""
    assert len(import_graph.rules(ROOT)) > 5
    assert import_graph.violations(ROOT) == []
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert not {name for name in names if names.count(name) > 1}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    """Returns a checkout that breaks one rule of the table and has a cycle: a plain, a local and a type import."""
    for name, code in {
        "models/__init__": "",
        "models/early": "from models import late",
        "models/late": "def f():\n    import models.types_only",
        "models/types_only": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from models.early import x",
        "models/alone": "import streamlit\nimport models.early",
        "app/texts": "from models.alone import x",
    }.items():
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(code)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/imports.toml").write_text('"models/" = []\n"app/texts.py" = ["models/early.py"]\n')
    return tmp_path


def test_late_and_type_only_imports_are_seen_and_the_table_is_checked(toy: Path):
    assert {*import_graph.cycle(import_graph.module_graph(toy))} == {"models.early", "models.late", "models.types_only"}
    assert import_graph.violations(toy) == ["app/texts.py imports models.alone: app.texts may not",
                                            "models/alone.py imports streamlit: models may not"]


@pytest.mark.parametrize(("code", "absent"), [
    *((f"import {module}", {"numpy", "torch", "streamlit"})
      for module in ("models.plan", "models.kind", "models.prompt", "models.messages")),
    ("from studies import claims; claims.read()", {"torch", "scipy", "studies.claims.judge"}),
    ("import models; [models.load(name) for name in models.names()]",
     {"streamlit", "transformers", "huggingface_hub", "x_transformers", "flash_pytorch",
      "sympy", "torch._dynamo", "torch._inductor"})])  # torch's compiler takes 66 MB and 1.5 s
def test_light_modules_load_no_heavy_library(code: str, absent: set[str]):
    """`import models.kind` took 4.5 s when it imported torch."""
    code = f"import sys; {code}; print(sorted({absent} & {{*sys.modules}}))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
