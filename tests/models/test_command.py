"""Tests of the command line of studies: written files, repeated runs, and messages for invalid input."""

from argparse import Namespace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from models.storage.checkpoint import read_json, write_json
from studies import command, store
from studies.command import Option, study

OPTIONS = [Option("pairs", 100, "of each"), Option("bound", 0.01, "nats", float),
           Option("minutes", 5.0, "of each model", float, repeats=False), Option("windows", None, "by default many")]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Returns run(*arguments). run studies the models "a" and "b" and returns the written results; the model "bad"
    fails."""
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
