"""The JavaScript that draws nothing, run by Node against numbers that Python makes, and mistakes in it that must show.

    pytest tests/components/test_javascript.py        (or, with Node's own output: python -m tests.js)
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from components.library import FILES
from components.mounting import FOLDER, MAX_EVENTS
from tests.js.fixtures import write
from tests.js.mutations import MUTATIONS, Mutation
from tests.js.node import TESTS, run


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fixtures")
    write(folder)
    return folder


def test_all_of_it_passes(fixtures):
    result = run([], fixtures)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    passed = re.search(r"^\S+ pass (\d+)$", result.stdout, re.MULTILINE)
    assert passed
    assert int(passed[1]) > 60  # that they ran at all


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mistake_is_noticed(mutation: Mutation, fixtures, tmp_path):
    shutil.copytree(FOLDER / "core", tmp_path / "core")
    source = tmp_path / mutation.file
    text = source.read_text("utf-8")
    assert text.count(mutation.old) == 1
    source.write_text(text.replace(mutation.old, mutation.new), "utf-8")
    result = run([mutation.tests], fixtures, tmp_path)
    assert result.returncode == 1, result.stdout[-3000:]
    # The mistake runs, and a test finds it: a file that does not load would fail as well.
    assert "SyntaxError" not in result.stdout
    assert re.search(r"^\S+ pass [1-9]", result.stdout, re.MULTILINE)


def test_every_pure_file_is_loaded_by_a_test_and_touches_no_page():
    loaded = "".join(path.read_text("utf-8") for path in TESTS.glob("*.test.mjs"))
    pure = [file for file in FILES if file.startswith("core/")]
    assert set(pure) == {f"core/{path.name}" for path in (FOLDER / "core").glob("*.js")}
    for file in pure:
        assert f"'{file}'" in loaded
        assert not re.search(r"\b(document|location|matchMedia|setTimeout|HTMLElement)\b",
                             (FOLDER / file).read_text("utf-8"))


def test_browser_and_python_agree_on_the_size_of_a_message():
    batch = re.search(r"const BATCH = (\d+)", (FOLDER / "events.js").read_text("utf-8"))
    assert batch
    assert int(batch[1]) <= MAX_EVENTS
