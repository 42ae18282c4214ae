"""Tests of the search for minimal head sets: settings, background job, cancelling, applying the plan, link.

pytest tests/app/test_needs.py
"""

from __future__ import annotations

import time
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import opened, sent, type_text

from app.panels.prompt import minimal_heads
from app.panels.prompt.minimal_heads import Fewest
from app.state import session
from app.state.pages.search import BOUNDS, WANTED, Search
from models import HeadPlan, Trace
from models.labs.stack import StackLab

TYPED = "Once upon a time there was a little"


def button(app: AppTest, key: str):
    return next(its for its in app.button if its.key == key)


def searched(app: AppTest) -> AppTest:
    """Clicks the search button and returns the app with the result of the search."""
    button(app, "find out").click().run()
    until = time.monotonic() + 120
    while app.session_state[session.SEARCH].job.running:
        assert time.monotonic() < until
        time.sleep(0.05)
    return app.run()


def told(app: AppTest) -> str:
    return "\n".join(str(its.value) for its in app.markdown)


def test_the_fewest_heads_become_a_plan():
    app = searched(opened(model="stories-softmax", text=TYPED, open="needs", need="fewest-0.2"))
    assert not app.exception
    found = app.session_state[session.SEARCH].job.result
    assert isinstance(found, Fewest)
    size = found.answer(0.2)
    assert f"**{size} of 32 heads** are enough" in told(app) and size < 32
    button(app, "apply needed").click().run()
    header, _ = sent(app, "heads")
    gates = [gate for row in header["grids"][0]["gates"] for gate in row]
    assert gates.count(0) == 32 - size and gates.count(1) == size
    header, _ = sent(app, "effect")
    assert header["predictions"][0]["kl"] == pytest.approx(found.plans[size][0], abs=1e-4)
    assert header["predictions"][0]["kl"] <= 0.2
    query = dict(parse_qsl(sent(app, "toolbar")[0]["query"]))
    assert HeadPlan.parse(query["plan"]) == found.plans[size][1] and query["need"] == "fewest-0.2"
    assert len(found.orders) == 2 and all(points[0] == (32, pytest.approx(0, abs=1e-5))
                                          for points in found.orders.values())


def test_the_button_is_given_no_model_and_no_trace(monkeypatch: pytest.MonkeyPatch):
    """The arguments of the button's callback are names and strings, and no models or traces.

    Streamlit keeps them in memory until the session ends.
    """
    given: list[object] = []
    monkeypatch.setattr(minimal_heads, "_start", lambda *its: given.extend(its))
    button(opened(model="stories-softmax", text=TYPED, open="needs"), "find out").click().run()
    assert "stories-softmax" in given and not [its for its in given if isinstance(its, Trace | StackLab)]


def test_groups_and_pruning_one():
    app = searched(opened(model="assignment-softmax", open="needs", need="groups-0.1"))
    assert not app.exception
    found = app.session_state[session.SEARCH].job.result
    assert found.known and len(found.groups.names) == 12 and "right answers" in told(app)
    name = next(name for name in found.groups.names)
    button(app, f"prune {name}").click().run()
    gates = [gate for row in sent(app, "heads")[0]["grids"][0]["gates"] for gate in row]
    assert gates == [0.0 if its == name else 1.0 for its in found.groups.names]


def test_another_text_cancels_and_forgets():
    app = opened(model="stories-softmax", text=TYPED, open="needs")
    button(app, "find out").click().run()
    job = app.session_state[session.SEARCH].job
    type_text(app, "The cat")
    assert app.session_state[session.SEARCH] is None
    until = time.monotonic() + 60
    while job.running:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert job.result is None and job.problem
    assert button(app, "find out")


def test_searches_are_links():
    for wanted in WANTED:
        for whole in (False, True):
            for bound in BOUNDS:
                assert Search.parse(str(Search(wanted, whole, bound))) == Search(wanted, whole, bound)
    for text in ("", "fewest", "fewest-7", "most-0.1", "fewest-text-text-0.1", "fewest-0.10"):
        with pytest.raises(ValueError, match="asks for nothing"):
            Search.parse(text)
    app = opened(model="stories-softmax", open="needs", need="everything")
    assert not app.exception and "unknown search for minimal heads" in str(sent(app, "notice")[0]["messages"])


def test_a_text_without_a_prediction_says_so():
    app = opened(model="masked-softmax", text="The cat sat on the mat.", open="needs")
    assert not app.exception and not [its for its in app.button if its.key == "find out"]
    assert any("has no prediction" in its.value for its in app.caption)
