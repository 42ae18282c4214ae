"""The command line of studies writes files and reports bad arguments; outdated measurements are detected and listed."""

import os
from argparse import Namespace
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.catalogue import names
from models.storage.checkpoint import read_json, write_json
from studies import command, store
from studies import stale as module
from studies.command import Option, study
from studies.stale import MISSING, OLDER_MEASURE, OTHER_WEIGHTS, main, stale
from studies.store import COMMANDS

CARD = {"metric": {"perplexity": 9.0}, "weights": {"model.safetensors": "new"}}


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """Returns the folders (measurements, checkpoints) with one released model."""
    (tmp_path / "checkpoints" / "a").mkdir(parents=True)
    (tmp_path / "measurements").mkdir()
    write_json(tmp_path / "checkpoints" / "a" / "card.json", CARD)
    return tmp_path / "measurements", tmp_path / "checkpoints"


@pytest.mark.parametrize(("found", "why"), [
    ({"weights": "new", "version": 2}, None), ({"weights": "new", "version": 3}, None),
    ({"weights": "old", "version": 2}, OTHER_WEIGHTS), ({"weights": "new", "version": 1}, OLDER_MEASURE),
    ({"weights": "new"}, OLDER_MEASURE), ({"metric": {"perplexity": 9.5}}, OTHER_WEIGHTS), ({}, "damaged"),
    ({"weights": "new", "version": "two"}, "damaged"), ([], "damaged")])
def test_the_reason_why_a_measurement_is_stale(found: object, why: str | None, folders: tuple[Path, Path],
                                monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "VERSIONS", {"length": 2})
    write_json(folders[0] / "a.length.json", found)
    assert list(stale(*folders)) == ([] if why is None else [("a", "length", why)])


def test_what_a_new_model_lacks_is_listed(folders: tuple[Path, Path]):
    (folders[1] / "new").mkdir()
    write_json(folders[1] / "new" / "card.json", CARD | {"task": "stories"})
    assert list(stale(*folders)) == [
        ("new", kind, MISSING) for kind in ("picture", "length", "blimp", "choices", "examples")]


def test_models_that_do_not_ship_are_left_alone(folders: tuple[Path, Path]):
    write_json(folders[0] / "b.papa.json", {"weights": "old", "elsewhere": True})
    assert list(stale(*folders)) == []


def test_what_is_written_now_holds(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(store, "MEASUREMENTS", folders[0])
    monkeypatch.setattr(store, "CHECKPOINTS", folders[1])
    for kind in COMMANDS:
        store.write("a", kind, CARD["metric"], {})
    assert list(stale(*folders)) == []
    monkeypatch.setattr(store, "VERSIONS", store.VERSIONS | {"heads": 2})
    assert list(stale(*folders)) == [("a", "heads", OLDER_MEASURE)]


def test_pruning_is_measured_after_the_heads_it_rests_on(folders: tuple[Path, Path],
                                                         capsys: pytest.CaptureFixture[str],
                                                         monkeypatch: pytest.MonkeyPatch):
    for kind in ("pruning", "heads"):
        write_json(folders[0] / f"a.{kind}.json", {"weights": "old"})
    monkeypatch.setattr(module, "stale", lambda: stale(*folders))
    main()
    assert [line for line in capsys.readouterr().out.splitlines() if not line.startswith("#")] == [
        "python -m studies.corpus.heads a", "python -m studies.corpus.pruning a"]


def test_every_kind_has_its_command():
    """Every kind of measurement of the released models has a command, except learned gates."""
    kinds = {path.name.split(".")[-2] for path in store.MEASUREMENTS.glob("*.*.json")
             if path.name.rsplit(".", 2)[0] in names()}
    assert kinds - {"gates"} == set(COMMANDS)
    assert all(find_spec(name) is not None for name in COMMANDS.values())


def test_what_ships_was_measured_on_it():
    assert not list(stale())


def test_a_file_is_checked_once_and_again_when_it_changes(folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    """Pages read measurements at every event; a check of a large file takes a millisecond."""
    checked: list[object] = []

    class Shape:
        def validate_python(self, content: object) -> None:
            checked.append(content)

    monkeypatch.setitem(store.SHAPES, "examples", Shape())  # type: ignore[arg-type]
    path = folders[0] / "a.examples.json"
    for n in (1, 2):
        expected = CARD | {"weights": "new", "n": n}
        write_json(path, expected)
        os.utime(path, ns=(n, n))
        assert [store.read("a", "examples", *folders) for _ in range(3)] == [expected] * 3
    assert len(checked) == 2


OPTIONS = [Option("pairs", 100, "of each"), Option("bound", 0.01, "nats", float),
           Option("minutes", 5.0, "of each model", float, repeats=False), Option("windows", None, "by default many")]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns run(*arguments), which studies the models "a", "b" and "bad" (which fails) and returns the results."""
    for name in ("a", "b", "bad"):
        (tmp_path / name).mkdir()
        write_json(tmp_path / name / "card.json", {"weights": {"model.safetensors": name}})
    monkeypatch.setattr(store, "CHECKPOINTS", tmp_path)
    monkeypatch.setattr(store, "MEASUREMENTS", tmp_path / "measurements")
    monkeypatch.setattr(command, "task_of", lambda name, data, runs: f"task of {name} from {data}, {runs}")

    def load(name: str) -> Any:
        return SimpleNamespace(name=name, card={"metric": {"of": name}})

    def measure(lab: Any, task: Any, arguments: Namespace) -> dict[str, Any]:
        if lab.name == "bad":
            raise ValueError("bad has no keys")
        return {"task": task, "pairs": arguments.pairs, "windows": arguments.windows}

    def of(*given: str) -> dict[str, Any]:
        monkeypatch.setattr("sys.argv", ["study", *given])
        study("blimp", "About.", ["a", "b", "bad"], load, measure, OPTIONS)
        return {path.name: read_json(path) for path in sorted((tmp_path / "measurements").iterdir())}
    return of


def test_every_model_is_written_with_its_weights(run: Any):
    written = run("a", "b", "--data", "D", "--runs", "R")
    assert list(written) == ["a.blimp.json", "b.blimp.json"]
    assert written["b.blimp.json"] == {
        "name": "b", "weights": "b", "version": 1, "metric": {"of": "b"},
        "command": "python -m studies.zero_shot.blimp b",
        "task": "task of b from D, R",
        "pairs": 100, "windows": None}


@pytest.mark.parametrize(("given", "repeated"), [
    (("--pairs", "7"), " --pairs 7"), (("--pairs", "100"), ""), (("--minutes", "1"), ""),
    (("--windows", "4", "--bound", "0.5"), " --bound 0.5 --windows 4")])
def test_the_stored_command_has_the_changed_options(run: Any, given: tuple[str, ...], repeated: str):
    assert run("a", *given)["a.blimp.json"]["command"] == f"python -m studies.zero_shot.blimp a{repeated}"


@pytest.mark.parametrize(("given", "message"), [
    (("bad",), "bad has no keys"), (("c",), "invalid choice: 'c'"), (("a", "--pairs", "x"), "invalid int value"),
    ((), "NAME")])
def test_bad_arguments_are_reported(run: Any, given: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit, match="2"):
        run(*given)
    assert message in capsys.readouterr().err
