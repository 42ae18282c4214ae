"""Tests that passed only when repeated are counted and limited."""

import subprocess
import sys

import pytest

from tests import reruns
from tests.browser import ROOT

FLAKY = """
import pathlib, pytest

@pytest.mark.browser
@pytest.mark.parametrize("n", range({count}))
def test_passes_the_second_time(n, tmp_path_factory):
    seen = pathlib.Path(__file__).with_name(f"seen-{{n}}")
    first = not seen.exists()
    seen.touch()
    assert not first, "it was the first time"
"""


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize("count", [reruns.MOST, reruns.MOST + 1])
def test_more_than_two_reruns_fail_the_run(tmp_path, count, workers):
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = browser\n")
    (tmp_path / "test_flaky.py").write_text(FLAKY.format(count=count))
    command = [sys.executable, "-m", "pytest", "-p", "tests.reruns", "-p", "no:cacheprovider", "-n", workers]
    done = subprocess.run(command, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == (count > reruns.MOST), done.stdout
    lines = (tmp_path / reruns.FILE).read_text().splitlines()
    assert len(lines) == count and all("it was the first time" in line for line in lines)
    assert ("FAILED: 3 tests were run again" in done.stdout) == (count > reruns.MOST)
