"""Forged events change nothing and raise no exception."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from app.markdown import literal
from app.panels import choosing
from app.state import session, visit
from app.state.handlers import events
from app.state.history import History
from app.state.lab_state import LabState
from app.views import yours
from tests.app.test_pages import sent
from tests.app.visitors import visiting
from tests.browser import ROOT

TEXT = "The cat [sat] on the mat."
FORGED: list[Any] = [-1, 10**30, 0.5, float("nan"), True, b"abc", [], [[]], [{}], [None], ["x"], (), {}, {"a": 1},
                     set(), object(), LabState, "no such thing", "\x00", "x" * 100_000, 7.0]


def named(value: object) -> str:
    """Returns a short form of a value, for the name of a test."""
    return f"{type(value).__name__} {str(value)[:12]!r}"


@pytest.fixture
def visitor(monkeypatch) -> dict[str, Any]:
    """Yields the state of a session without Streamlit."""
    now = visiting(monkeypatch, History(LabState("stories-softmax", TEXT, compared=("stories-log-n",))))
    state: dict[str, Any] = {"visit": now}
    for module in (session, yours):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=state))
    return state


@pytest.mark.parametrize("value", FORGED, ids=named)
def test_a_forged_text_is_the_text_or_changes_nothing(value: Any, visitor):
    expected = replace(visitor["visit"].history.present, **({"text": value} if isinstance(value, str) else {}))
    events.on_text({"type": "text", "text": value, "count": value})
    assert visitor["visit"].history.present == expected


@pytest.mark.parametrize("word", ["**bold**", "$x^2$", ":smile:", "https://example.org", "<b>a</b>", "a_b_c"])
def test_a_visitors_words_are_not_read_as_markdown(word: str):
    shown = literal(word)
    assert shown.replace("\\", "").replace("\u2060", "") == word
    assert not re.search(r"(?<!\\)[*_$<>`]", shown)
    assert not re.search("https://|:smile:", shown.replace("\\", ""))


@pytest.mark.parametrize("value", [*FORGED, "../..", "hf:a/b", "~nobody-of-this-name", "/proc/self/mem"],
                         ids=named)
@pytest.mark.parametrize("hosted", ["", "1"])
def test_what_is_to_be_opened_is_refused_in_words(value: Any, hosted: str, visitor, monkeypatch):
    """A string that is not a model id causes no network request. A missing folder is reported by the background job."""
    from models.labs.foreign.opening import hub

    monkeypatch.setenv("ATTENTION_LAB_HOSTED", hosted)
    monkeypatch.setattr(hub, "_fetched", lambda *_: pytest.fail("the Hub was asked"))
    monkeypatch.setattr("huggingface_hub.model_info", _unreachable)
    choosing.on_models({"type": "find", "text": value})
    if not isinstance(value, str):
        assert not visitor["visit"].request
        return
    yours._handle()
    repo, message, can_load = visitor[session.LOOKED]
    assert isinstance(repo, str) and not can_load
    job = visit.current().job
    if job is None:
        assert bool(message) and not visitor[session.JOB_PROBLEM]
        return
    assert not hosted and job._finished.wait(20)
    assert job.result is None and job.problem.endswith(".")
    assert "Traceback" not in job.problem and "failed" not in job.problem


def test_the_model_of_a_link_is_offered_before_the_one_that_was_typed_last():
    app = AppTest.from_file(ROOT / "app" / "main.py", default_timeout=60)
    app.query_params |= {"page": "yours", "model": "hf:somebody/else"}
    app.session_state[yours._TYPED] = "typed/before"
    assert sent(app.run(), "models")[0]["offered"] == "somebody/else"


def test_nothing_typed_is_answered_in_words(visitor):
    for event in ({"type": "load"}, {"type": "find", "text": "  "}):
        choosing.on_models(event)
        yours._handle()
    assert visitor[session.JOB_PROBLEM] == "Type a name" and visit.current().job is None


def test_what_the_hub_refuses_is_not_offered_from_the_cache(visitor, monkeypatch):
    """A model in the local cache is offered only if the Hub cannot be reached, and not if the Hub refuses it."""
    from models.labs.foreign import ForeignError
    from models.labs.foreign.opening import hub

    def size_message(error: Exception) -> tuple[str, bool]:
        monkeypatch.setattr(hub, "estimate", lambda name: (_ for _ in ()).throw(error))
        return yours._size("hf:a/b")

    monkeypatch.setattr(hub, "here", lambda name: "somewhere")
    assert size_message(hub.UnreachableError("a/b")) == (
        "The Hub cannot be reached; load the local copy.", True)
    assert size_message(ForeignError("it is too large for this host")) == ("it is too large for this host.", False)
    monkeypatch.setattr(hub, "here", lambda name: None)
    assert size_message(hub.UnreachableError("a/b")) == (
        "the Hub cannot be reached, and a/b is not on this machine. Check the network, or open a folder.",
        False)


def _unreachable(*args: Any, **kwargs: Any) -> None:
    raise OSError("no network")
