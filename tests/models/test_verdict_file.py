"""verdicts.json contains the verdicts that the rules give for the stored measurements, and is read back unchanged."""

import json
import sys
from pathlib import Path

import pytest

from models.errors import CheckpointError
from models.messages import Message, listed, message, plural_message
from studies import claims as module
from studies.claims import KEYS, read, stored_text
from studies.claims.__main__ import main
from studies.claims.judge import judge


def test_the_stored_verdicts_are_those_of_the_measurements():
    """The stored verdicts are those that `python -m studies.claims --write` computes now, to nine digits: the last
    of sixteen depend on the processor."""
    stored, computed = (json.loads(text, parse_float=lambda digits: f"{float(digits):.9g}") for text in (
        module.VERDICTS.read_text(encoding="utf-8"), json.dumps(module.as_json(judge()))))
    assert stored == computed
    assert [claim.key for claim in read()] == list(KEYS)


@pytest.mark.parametrize("text", [
    "plain", message("plain"), message("{n:,} steps of {name}", n=4800, name=message("gates")),
    plural_message("{n} seed", "{n} seeds", 3), listed((message("{x:g}x", x=2.0), "b"), "; ")])
def test_a_sentence_keeps_its_parts(text: str):
    again = stored_text.load(json.loads(json.dumps(stored_text.dump(text))))
    assert again == text
    assert getattr(again, "template", again) == getattr(text, "template", text)
    assert getattr(again, "values", {}) == getattr(text, "values", {})


def test_a_sentence_without_values_is_translated_inside_another():
    """A value that is a sentence stays one; a value that is a plain string, such as a number, is never translated."""
    text = message("{name} of {n}", name=message("mean"), n="3")
    again = stored_text.load(json.loads(json.dumps(stored_text.dump(text))))
    assert (type(again.values["name"]), type(again.values["n"])) == (Message, str)
    # the field of a statement is a sentence even if it has no values, because the page puts it into another one
    assert isinstance(stored_text.load_text(stored_text.dump(message("mean"))), Message)


@pytest.mark.parametrize("text", [{}, {"text": 1}, {"text": 1, "values": {}}, {"text": "{n}", "values": {}},
                                  {"parts": 7}, None, 3])
def test_what_is_no_sentence_is_refused(text: object):
    with pytest.raises(ValueError, match="sentence"):
        stored_text.load_text(text)


@pytest.mark.parametrize("damage", [b"", b"[", b"{}", b"[{}]", b"null"])
def test_a_damaged_file_is_named(tmp_path: Path, damage: bytes):
    (path := tmp_path / "verdicts.json").write_bytes(damage)
    with pytest.raises(CheckpointError, match="verdicts.json is damaged.*--write"):
        read(path)


def test_the_command_writes_what_it_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
                                           capsys: pytest.CaptureFixture[str]):
    """Claims are read as they were written: messages keep their templates and values, which their strings lack."""
    monkeypatch.setattr(module, "VERDICTS", tmp_path / "verdicts.json")
    monkeypatch.setattr(sys, "argv", ["claims"])
    main()
    assert not (tmp_path / "verdicts.json").exists()
    monkeypatch.setattr(sys, "argv", ["claims", "--write"])
    main()
    again, claims = read(), judge()
    assert again == claims and module.as_json(again) == module.as_json(claims)
    assert all(claim.title in capsys.readouterr().out for claim in read()[:1])
