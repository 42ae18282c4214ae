"""Tests of the limits per minute in hosted mode. Outside hosted mode nothing is limited.

pytest tests/app/test_limits.py
"""

from __future__ import annotations

from collections import OrderedDict
from types import SimpleNamespace

import pytest

from app import texts
from app.panels.prompt import minimal_heads
from app.server import caches, limits
from app.server.limits import DOWNLOADS, GENERATIONS, PASSES, LimitError, spend
from app.state import visitor_models
from app.views import yours
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Replaces the clock by a list whose first number is the time."""
    now = [1000.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


@pytest.fixture
def visitor(monkeypatch, clock) -> dict:
    """Yields a session without Streamlit, in hosted mode."""
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    return visiting(monkeypatch).allowances


@pytest.mark.parametrize("what", limits.ALL, ids=lambda what: what.name)
def test_an_allowance_has_a_maximum_and_is_refilled_per_minute(what: limits.Allowance, visitor, clock):
    asked, refused = limits.used[what.name], limits.refused[what.name]
    spend(what, what.most)
    with pytest.raises(LimitError) as error:
        spend(what)
    assert f"{what.most:,}" in str(error.value) and "You can go on in " in str(error.value)
    seconds = int(str(error.value).split(" go on in ")[1].split(" s")[0])
    clock[0] += seconds
    spend(what)  # allowed after the waiting time that the message states
    for _ in range(3 * what.most):  # for three minutes: one request each time one unit is refilled
        clock[0] += 60 / what.most
        spend(what)
    with pytest.raises(LimitError):
        spend(what, 2 + what.most // 10)
    clock[0] += 3600
    with pytest.raises(LimitError):
        spend(what, what.most + 1)  # unused units do not accumulate beyond the limit
    assert limits.used[what.name] - asked == what.most + 1 + 3 * what.most
    assert limits.refused[what.name] - refused == 3


def test_visitors_have_each_their_own(visitor, monkeypatch):
    spend(GENERATIONS, GENERATIONS.most)
    visiting(monkeypatch)
    spend(GENERATIONS, GENERATIONS.most)


def test_new_visits_of_one_address_share_its_allowance(visitor, monkeypatch):
    monkeypatch.setattr(limits, "_addresses", OrderedDict())
    for _ in range(limits.PER_ADDRESS):
        visiting(monkeypatch).address = "192.0.2.1"  # a reload of the page starts a new session
        spend(GENERATIONS, GENERATIONS.most)
    fresh = visiting(monkeypatch)
    fresh.address = "192.0.2.1"
    with pytest.raises(LimitError):
        spend(GENERATIONS)
    assert GENERATIONS.name not in fresh.allowances  # a refused request uses no units
    visiting(monkeypatch).address = "192.0.2.2"
    spend(GENERATIONS, GENERATIONS.most)


def test_addresses_that_are_remembered_are_bounded(visitor, monkeypatch):
    monkeypatch.setattr(limits, "_addresses", OrderedDict())
    monkeypatch.setattr(limits, "MOST_ADDRESSES", 3)
    for number in range(5):
        visiting(monkeypatch).address = f"192.0.2.{number}"
        spend(PASSES)
    assert [*limits._addresses] == ["192.0.2.2", "192.0.2.3", "192.0.2.4"]


def test_a_download_is_counted_and_never_refused(visitor):
    """A download is counted and never refused.

    Its thread has no session, so all visitors would share one limit.
    """
    asked = limits.used[PASSES.name]
    with limits.counted_alone():
        spend(PASSES, PASSES.most + 1)
    assert limits.used[PASSES.name] - asked == PASSES.most + 1
    spend(PASSES, PASSES.most)
    with pytest.raises(LimitError):
        spend(PASSES)


def test_a_refusal_is_in_the_language_of_who_shows_it(visitor, monkeypatch):
    with pytest.raises(LimitError) as error:
        spend(GENERATIONS, GENERATIONS.most + 1)
    monkeypatch.setattr(texts, "language", lambda: "zh")
    assert "每分钟" in texts._(str(error.value))


def test_the_first_visit_meets_the_limit_without_an_error(monkeypatch):
    meets(monkeypatch, PASSES)
    monkeypatch.setattr(caches, "traces", caches.ByteCache(0))
    app = opened(page="start")
    assert not app.exception and [warning.value for warning in app.warning] == ["Wait 7 s."]


def test_ones_own_machine_has_no_limits(visitor, monkeypatch):
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "")
    for _ in range(100):
        spend(DOWNLOADS, 1000)


def meets(monkeypatch, what: limits.Allowance, least: int = 1) -> None:
    """Replaces `spend`: requests of at least `least` units of this limit are refused."""
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    spend = limits.spend

    def refuse(asked: limits.Allowance, amount: int = 1) -> None:
        if asked is what and amount >= least:
            raise LimitError("Wait 7 s.")
        spend(asked, amount)

    monkeypatch.setattr(limits, "spend", refuse)


@pytest.mark.parametrize("page", ["explore", "compare", "length"])
def test_who_meets_the_limit_of_passes_reads_why_and_keeps_the_state(page: str, monkeypatch):
    meets(monkeypatch, PASSES)
    link = {"model": "stories-softmax", "text": f"The limit of the page {page} is met here.", "plan": "self-0.1c"}
    app = opened(**link, **({} if page == "explore" else {"page": page}))
    assert not app.exception
    assert [warning.value for warning in app.warning] == ["Wait 7 s."]
    assert "plan=self-0.1c" in sent(app, "toolbar")[0]["query"]
    assert sent(app, "text_box")[0]["text"] == link["text"]


def test_who_meets_the_limit_in_a_search_reads_why(monkeypatch):
    meets(monkeypatch, PASSES, minimal_heads.SEARCH)
    app = opened(model="assignment-softmax", open="needs")
    app.button(key="find out").click().run()
    assert not app.exception and any(caption.value == "Wait 7 s." for caption in app.caption)
    assert any(button.key == "find out" for button in app.button)


@pytest.mark.parametrize(("amount", "link"), [
    (limits.WRITING, {"model": "translation-softmax", "plan": "encoder-0.1g0", "text": "We are tired of the rain."}),
    (12, {"model": "assignment-softmax", "page": "heads", "show": "confidence.loss.text", "text": "a=1; b=2; a=?"}),
    (13, {"model": "assignment-softmax", "page": "pruning", "order": "text.all", "text": "a=1; b=3; a=?"}),
    (1, {"model": "assignment-softmax", "open": "disagreement", "text": "a=1; b=4; a=?"})])
def test_work_is_counted_by_its_number_of_passes(amount: int, link: dict[str, str], monkeypatch):
    counted: list[int] = []
    monkeypatch.setattr(limits, "spend", lambda what, amount=1: counted.append(amount))
    monkeypatch.setattr(caches, "measured", caches.ByteCache(0))
    app = opened(**link)
    assert not app.exception and amount in counted


def test_who_meets_the_limit_of_generations_reads_why(monkeypatch):
    meets(monkeypatch, GENERATIONS)
    app = opened(model="stories-softmax")
    app.button(key="continue").click().run()
    assert not app.exception
    assert any(caption.value == "Wait 7 s." for caption in app.caption)
    assert app.button(key="continue").label == "Continue the text"


def test_who_meets_the_limit_of_downloads_reads_why(monkeypatch):
    meets(monkeypatch, DOWNLOADS)
    state: dict = {"hub id": "openai-community/gpt2"}
    visiting(monkeypatch)
    for module in (yours, yours.session):
        monkeypatch.setattr(module, "st", SimpleNamespace(session_state=state))
    yours._look()
    assert state["looked"] == ("openai-community/gpt2", "Wait 7 s.", False)
    yours._start("hf:openai-community/gpt2")
    assert state["job problem"] == "Wait 7 s." and visitor_models.job() is None
