"""Recorded trainings and the matrix: files that this repository has, and the command that makes them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from scipy import special

from learning import loop, recorded
from learning.moment import unpacked
from learning.recipe import Recipe
from learning.tasks import TASKS

MOST_BYTES = 3_000_000  # of all recordings


@pytest.mark.parametrize(("task", "column"), [(task, column) for task, cells in recorded.matrix().items()
                                              for column in cells])
def test_a_recording_has_the_moments_of_its_training(task: str, column: str):
    recipe = recorded.recipe_of(task, column)
    moments = recorded.recording(recipe)
    assert moments is not None
    pictures = [unpacked(moment) for moment in moments]
    assert [picture.step for picture in pictures] == loop.moments_at(recipe.steps)
    assert pictures[-1].accuracy == recorded.matrix()[task][column][0]  # of seed 0
    assert all(picture.patterns.shape[:2] == (2, 4) and (picture.patterns[:, :, 0, 0] == 255).all()
               for picture in pictures)
    assert recorded.recording(Recipe(task, seed=1)) is None


def test_recordings_are_small_and_of_the_present_settings():
    files = list(recorded.FOLDER.glob("*"))
    assert files and sum(path.stat().st_size for path in files) < MOST_BYTES
    assert json.loads((recorded.FOLDER / "matrix.json").read_text())["settings"] == recorded._settings()


def test_the_quantiles_are_those_of_students_t():
    assert pytest.approx([float(special.stdtrit(df, 0.95)) for df in range(1, 10)], abs=5e-5) == recorded.QUANTILES


def test_the_interval_contains_the_mean_and_grows_with_the_spread():
    assert recorded.interval([0.5]) == (0.5, 0.5, 0.5)
    mean, low, high = recorded.interval([0.4, 0.5, 0.6])
    assert mean == pytest.approx(0.5) and high - mean == pytest.approx(2.9200 * 0.1 / 3**0.5, abs=1e-4)
    assert recorded.interval([0.0, 1.0, 1.0])[1:] == (0.0, 1.0)


def test_the_command_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path / "recordings")
    monkeypatch.setattr(recorded, "COLUMNS", ("random", recorded.EVEN))
    monkeypatch.setattr(recorded, "recipe_of", lambda task, column, seed=0: Recipe(task, "random", 1, 1, seed, 2))
    monkeypatch.setattr(sys, "argv", ["recorded", "--tasks", "count", "--seeds", "2"])
    recorded.main()
    assert {path.name for path in (tmp_path / "recordings").iterdir()} == {
        "matrix.json", "count.random.bin", "count.even.bin"}
    assert [len(values) for values in recorded.matrix()["count"].values()] == [2, 2]
    capsys.readouterr()
    recorded.main()
    assert len(capsys.readouterr().out.splitlines()) == len(TASKS)  # nothing is trained again
