"""Tests that outdated measurements are detected, and that released models are reported completely."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

from models.catalogue import names
from models.storage.checkpoint import write_json
from studies import stale as module
from studies import store
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
    """A stored measurement is valid until the version of its kind of measurement changes."""
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
    for command in COMMANDS.values():
        assert find_spec(command) is not None


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
