"""Runs the tests of the JavaScript that draws nothing (`python -m tests.js` shows Node's output) and some mutants."""

import re
from pathlib import Path

import pytest

from components.bundle import bundle, modules
from components.channel import MAX_EVENTS
from components.library import ENTRY, component_modules
from components.mounting import FOLDER
from tests.js import mutants
from tests.js.fixtures import write
from tests.js.node import run

SAMPLE, SEED, NOTICED = 48, 1, 0.75  # number of mutants, seed, and fraction that must be detected


def test_all_javascript_tests_pass(tmp_path):
    write(tmp_path)
    result = run([], tmp_path)
    assert result.returncode == 0, result.stdout[-6000:] + result.stderr[-2000:]
    passed = re.search(r"^\S+ pass (\d+)$", result.stdout, re.MULTILINE)
    assert passed
    assert int(passed[1]) > 60  # checks that the tests ran


def test_mistakes_are_noticed(tmp_path):
    chosen = mutants.sample(SAMPLE, SEED)
    alive = mutants.survivors(chosen, tmp_path)
    assert len(alive) <= (1 - NOTICED) * SAMPLE, [mutant.address for mutant in alive]


def test_a_mutant_differs_from_its_source_in_one_place():
    [first, *_] = mutants.mutants(FOLDER / "core" / "csv.js")
    source = (FOLDER / first.file).read_bytes()
    changed = source[:first.start] + first.text.encode() + source[first.end:]
    assert changed != source
    assert changed.startswith(source[:first.start]) and changed.endswith(source[first.end:])
    assert first.address.startswith("core/csv.js:")


def test_pure_modules_are_tested_and_import_only_pure_ones_and_the_entry_reaches_all():
    tested = mutants.testers()
    for path in (FOLDER / "core").rglob("*.js"):
        assert tested.get(path.relative_to(FOLDER).as_posix()), path
        assert not re.search(r"\b(document|location|matchMedia|setTimeout|HTMLElement)\b", path.read_text("utf-8"))
    for path in (FOLDER / "core").rglob("*.js"):
        assert all((FOLDER / "core") in module.parents for module in modules(path))
    assert sorted(modules(ENTRY, component_modules())) == sorted(path for path in FOLDER.rglob("*.js"))


def test_modules_follow_what_they_import(tmp_path):
    (tmp_path / "b.js").write_text("export const one = 1;\nexport function two() {\n  return 2;\n}\n")
    (tmp_path / "a.js").write_text("import { one, two as second } from './b.js';\nexport const three = one + second;\n")
    assert [path.name for path in modules(tmp_path / "a.js")] == ["b.js", "a.js"]
    text = bundle(tmp_path / "a.js")
    assert "const { one, two: second } = module0;" in text and "return { three };" in text
    assert "import" not in text and "export" not in text


def test_joined_modules_lose_comments_and_indentation_but_no_code_and_no_text(tmp_path):
    code = "/** @type {any} */ (first)();\n  // Alone.\n  second(); // beside\n/**\n * Block.\n */\nthird(`one`);\n"
    (tmp_path / "a.js").write_text(code)
    assert "/** @type {any} */ (first)();\nsecond(); // beside\nthird(`one`);\n" in bundle(tmp_path / "a.js")
    (tmp_path / "a.js").write_text(code + "fourth(`\n  // kept\n`);\n")
    assert code + "fourth(`\n  // kept\n`);\n" in bundle(tmp_path / "a.js")


@pytest.mark.parametrize(("source", "problem"), [
    ("import { b } from './a.js';\n", "cycle"), ("import b from './b.js';\n", "not supported"),
    ("import * as b from './b.js';\n", "not supported"), ("export default 1;\n", "not supported"),
    ("export let count = 0;\n", "not supported"), ("export { b } from './b.js';\n", "not supported")])
def test_a_module_that_cannot_be_joined_exactly_is_refused(tmp_path: Path, source, problem):
    (tmp_path / "a.js").write_text(source)
    (tmp_path / "b.js").write_text("export const b = 1;\n")
    with pytest.raises(ValueError, match=problem):
        bundle(tmp_path / "a.js")


def test_browser_and_python_agree_on_the_size_of_a_message():
    batch = re.search(r"const BATCH = (\d+)", (FOLDER / "runtime" / "events.js").read_text("utf-8"))
    assert batch
    assert int(batch[1]) <= MAX_EVENTS
