"""Tests of the test suite's own tools: quotations of removed texts, and tests that passed only when repeated."""

import subprocess
import sys

import pytest

from tests import quoted, reruns
from tests.browser import ROOT

REMOVED, PRESENT = {"The chart shows {n} old heads."}, {"The chart shows {n} heads.", "Open the model"}


@pytest.mark.parametrize(("code", "found"), [
    ('assert "old heads." in text', ["old heads."]),
    ('match = r"shows .* old heads"', ["shows .* old heads"]),
    ('assert "The chart shows" in text', []),  # a part of a present text as well
    ('assert "something else" in text', []),
    ('x = "old heads."  # not an interface text', []),
    ('x = "heads"', []),  # a single word
])
def test_only_quotations_of_removed_texts_are_found(code: str, found: list[str]):
    assert [literal for _line, literal in quoted.quotations(code, REMOVED, PRESENT)] == found


def test_a_catalogue_has_singular_and_plural_forms():
    catalogue = b'msgid ""\nmsgstr ""\n\nmsgid "{n} token"\nmsgid_plural "{n} tokens"\nmsgstr[0] "x"\n\nmsgid "a"\n' \
                b'"b"\nmsgstr "y"\n'
    assert quoted.texts(catalogue) == {"{n} token", "{n} tokens", "ab"}


def test_an_edited_text_is_reported_and_a_missing_commit_is_not(monkeypatch, capsys):
    """A removed text that a test quotes ends `main` with its line; without the base nothing is compared."""
    kept = "nothing is compared without the base"
    former = f'msgid ""\nmsgstr ""\n\nmsgid "{kept}"\nmsgstr ""\n'.encode()
    monkeypatch.setattr(sys, "argv", ["quoted"])
    monkeypatch.setattr(quoted, "git", lambda *arguments: former)
    with pytest.raises(SystemExit, match="test_quoted.py:.*is no longer part"):
        quoted.main()
    monkeypatch.setattr(quoted, "git", lambda *arguments: None)
    quoted.main()
    assert capsys.readouterr().out == ""


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
