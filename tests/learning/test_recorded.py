"""Recorded trainings and their matrix: the repository's files, the command that makes them, and HTML for notebooks."""

import base64
import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from scipy import special

from learning import loop, recorded
from learning.loop import Learning
from learning.moment import html
from learning.recipe import Recipe
from learning.tasks import TASKS
from tests.learning.pictures import unpacked

MOST_BYTES = 3_000_000  # of all recordings
ACCURACIES = {recorded.recipe_of(task, column): values[0] for task, cells in recorded.matrix().items()
              for column, values in cells.items()} | {
    Recipe.parse(text): accuracy for text, accuracy in recorded._read()["lessons"].items()}


@pytest.mark.parametrize(("recipe", "accuracy"), ACCURACIES.items(), ids=str)
def test_a_recording_has_the_moments_of_its_training(recipe: Recipe, accuracy: float):
    moments = recorded.recording(recipe)
    assert moments is not None
    pictures = [unpacked(moment) for moment in moments]
    assert [picture.step for picture in pictures] == loop.moments_at(recipe.steps)
    assert pictures[-1].accuracy == accuracy
    assert all(picture.patterns.shape[:2] == (2, 4) and (picture.patterns[:, :, 0, 0] == 255).all()
               for picture in pictures)
    assert recorded.recording(replace(recipe, seed=1)) is None


def test_recordings_are_those_of_the_lessons_small_and_of_the_present_settings():
    assert set(recorded.LESSONS) <= set(ACCURACIES)
    files = list(recorded.FOLDER.glob("*"))
    assert files and sum(path.stat().st_size for path in files) < MOST_BYTES
    assert json.loads((recorded.FOLDER / "matrix.json").read_text())["settings"] == recorded._settings()


def test_the_interval_is_that_of_students_t():
    assert pytest.approx([float(special.stdtrit(df, 0.95)) for df in range(1, 10)], abs=5e-5) == recorded.QUANTILES
    assert recorded.interval([0.5]) == (0.5, 0.5, 0.5)
    mean, low, high = recorded.interval([0.4, 0.5, 0.6])
    assert mean == pytest.approx(0.5) and high - mean == pytest.approx(2.9200 * 0.1 / 3**0.5, abs=1e-4)
    assert recorded.interval([0.0, 1.0, 1.0])[1:] == (0.0, 1.0)


def test_the_command_continues_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                               capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path / "recordings")
    monkeypatch.setattr(recorded, "COLUMNS", ("random", recorded.EVEN))
    monkeypatch.setattr(recorded, "recipe_of", lambda task, column, seed=0: Recipe(
        task, column.replace(recorded.EVEN, "softmax"), 1, 1, seed, 2))
    monkeypatch.setattr(recorded, "LESSONS", (Recipe("count", "dense", 1, 1, 0, 2), Recipe("lookup")))
    monkeypatch.setattr(sys, "argv", ["recorded", "--tasks", "count", "--seeds", "2"])
    recorded.main()
    assert {path.name for path in (tmp_path / "recordings").iterdir()} == {
        "matrix.json", "count.random.bin", "count.even.bin", "count.dense.1x1.0.2.bin"}
    assert [len(values) for values in recorded.matrix()["count"].values()] == [2, 2]
    capsys.readouterr()
    recorded.main()
    assert len(capsys.readouterr().out.splitlines()) == len(TASKS)  # nothing is trained again


MOMENTS = recorded.recording(Recipe("lookup")) or []


def test_a_training_is_shown_with_all_its_moments():
    learning = Learning(Recipe("count", layers=1, heads=2, steps=3))
    shown = learning._repr_html_()
    patterns = re.search('data-patterns="([^"]*)"', shown)
    assert patterns and base64.b64decode(patterns[1]) == b"".join(
        moment.packed().partition(b"\n")[2] for moment in learning)
    points = re.search('polyline points="([^"]*)"', shown)
    assert points and len(points[1].split()) == len([*learning]) == 4
    assert f"{learning.baseline:.1%}" in shown and "count.softmax.1x2.0.3" in shown


def test_a_title_is_no_markup():
    assert "<img" not in html("<img src=x>", 0.1, MOMENTS)


@pytest.mark.browser
def test_the_slider_draws_each_moment(browser: Browser):
    page: Page = browser.new_page()
    page.set_content(html("lookup", 0.09, MOMENTS))
    text, slider = page.locator("output"), page.locator("input")
    expect(text).to_have_text("Step 1500: 99.8% right, loss 0.01 nats. Prediction: 5 (99.9%)")
    drawing = "c => c.toDataURL()"
    last, end = page.locator("canvas").evaluate(drawing), page.locator("circle").get_attribute("cx")
    slider.focus()
    slider.press("Home")
    expect(text).to_have_text(re.compile("^Step 0: 0.0% right"))
    assert page.locator("canvas").evaluate(drawing) != last
    assert page.locator("circle").get_attribute("cx") != end
