"""Tests of tests/quoted.py, which finds quotations of texts that were edited or removed."""

import sys

import pytest

from tests import quoted

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
