"""Tests of the search for minimal head sets: settings, background job, cancelling, applying the plan, link.

pytest tests/app/test_minimal_heads_section.py
"""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest
from test_pages import opened, sent, type_text
from test_route import post

from app.panels.answer.winning import Won
from app.panels.page import progress
from app.panels.prompt import minimal_heads
from app.panels.prompt.minimal_heads import Fewest
from app.server.jobs import Job
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


def displayed(app: AppTest) -> str:
    return "\n".join(str(its.value) for its in app.markdown)


def test_the_fewest_heads_become_a_plan():
    app = searched(opened(model="stories-softmax", text=TYPED, open="needs", need="fewest-0.2"))
    assert not app.exception
    found = app.session_state[session.SEARCH].job.result
    assert isinstance(found, Fewest)
    size = found.answer(0.2)
    assert f"**{size} of 32 heads** are enough" in displayed(app) and size < 32
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


def test_the_progress_counts_steps_of_learning_and_no_exchanges(monkeypatch: pytest.MonkeyPatch):
    """The number of exchanges is unknown, so their title has no amount and no time; the bar is not full."""
    seen: list[tuple[str, int, int]] = []
    exchanging: list[tuple[str, float, list[str]]] = []
    tell, polish = Job._tell, minimal_heads.minimal_heads.polish
    jobs: list[Job] = []

    def told(job: Job, done: int, of: int) -> None:
        jobs.append(job)
        seen.append((job.what, done, of))
        tell(job, done, of)

    def polished(*arguments: Any, **words: Any) -> Any:
        job = jobs[-1]
        job._began -= 60  # after the first second, the time left is displayed
        exchanging.append((job.what, job.share, progress.amounts(job)))
        return polish(*arguments, **words)

    monkeypatch.setattr(Job, "_tell", told)
    monkeypatch.setattr(minimal_heads.minimal_heads, "polish", polished)
    searched(opened(model="stories-softmax", text=TYPED, open="needs", need="fewest-0.2"))
    *learning, last = seen
    steps = minimal_heads.minimal_heads.STEPS
    assert learning == [(minimal_heads.TITLE, done + 1, steps) for done in range(steps)] and last[1:] == (0, 0)
    assert exchanging == [(minimal_heads.CHECKING, 0.0, [])]


def test_the_button_is_given_no_model_and_no_trace(monkeypatch: pytest.MonkeyPatch):
    """The arguments of the button's callback are names and strings, and no models or traces.

    Streamlit keeps them in memory until the session ends.
    """
    given: list[object] = []
    monkeypatch.setattr(minimal_heads, "_start", lambda *its: given.extend(its))
    button(opened(model="stories-softmax", text=TYPED, open="needs"), "find out").click().run()
    assert "stories-softmax" in given and not [its for its in given if isinstance(its, Trace | StackLab)]


def test_the_fewest_heads_that_make_a_clicked_token_win():
    """A click on the bar of an answer chooses the token; the result of the search makes it the top-1 prediction."""
    app = opened(model="stories-softmax", text="The girl was sad because", open="needs", need="winning-0.1")
    header = sent(app, "effect")[0]
    rows = header["predictions"][0]["rows"]
    assert header["chosen"] == [rows[1]["id"], -1]  # by default the second most probable token
    now = app.session_state["visit"]
    post(now, [{"key": "effect", "sequence": 1, "type": "token", "token": rows[0]["id"]}])
    app.run()
    assert "already the most probable" in displayed(app) and not [its for its in app.button if its.key == "find out"]
    post(now, [{"key": "effect", "sequence": 2, "type": "token", "token": rows[2]["id"]}])
    app = searched(app.run())
    won = app.session_state[session.SEARCH].job.result
    assert isinstance(won, Won) and won.token == rows[2]["id"] and won.fewest and won.plans[won.fewest][0] > 0
    button(app, "apply winning").click().run()
    after = sent(app, "effect")[0]["predictions"][0]["rows"]
    best = max(after, key=lambda row: row["after"])
    assert best["id"] == rows[2]["id"] and best["after"] == pytest.approx(won.probabilities[0], abs=1e-4)
    query = dict(parse_qsl(sent(app, "toolbar")[0]["query"]))
    assert HeadPlan.parse(query["plan"]) == won.plans[won.fewest][1] and query["need"] == "winning-0.1"
    assert query["tokens"] == f"{rows[2]['id']}."
    assert "enough" in displayed(app)  # the result stays, because the question is the same


@pytest.mark.parametrize("model", ["masked-gau-softmax", "assignment-softmax"])
def test_constant_patterns_that_make_a_token_win(model: str):
    app = searched(opened(model=model, open="needs", need="winning-constant-0.1"))
    assert not app.exception
    won = app.session_state[session.SEARCH].job.result
    assert isinstance(won, Won), app.session_state[session.SEARCH].job.problem
    assert all(state.constant for _, plan in won.plans.values() for state in plan.heads.values())
    assert ("enough" if won.fewest else "no set of up to") in displayed(app)


def test_groups_and_pruning_one():
    app = searched(opened(model="assignment-softmax", open="needs", need="groups-0.1"))
    assert not app.exception
    found = app.session_state[session.SEARCH].job.result
    assert found.known and len(found.groups.names) == 12 and "right answers" in displayed(app)
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
                for constant in (False, True):
                    search = Search(wanted, whole, bound, constant)
                    assert Search.parse(str(search)) == search
    for text in ("", "fewest", "fewest-7", "most-0.1", "fewest-text-text-0.1", "fewest-0.10"):
        with pytest.raises(ValueError, match="asks for nothing"):
            Search.parse(text)
    app = opened(model="stories-softmax", open="needs", need="everything")
    assert not app.exception and "unknown search for minimal heads" in str(sent(app, "notice")[0]["messages"])


def test_a_text_without_a_prediction_says_so():
    app = opened(model="masked-softmax", text="The cat sat on the mat.", open="needs")
    assert not app.exception and not [its for its in app.button if its.key == "find out"]
    assert any("has no prediction" in its.value for its in app.caption)
