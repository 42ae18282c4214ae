"""Limits per minute in hosted mode, and texts of several megabytes, of which only the beginning is processed."""

import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

import models
from app import compute, texts
from app.lab.tools import fewest
from app.server import caches, limits, serving
from app.server.limits import DOWNLOADS, GENERATIONS, PASSES, LimitError, spend
from app.state import visit
from app.views import yours
from models import catalogue
from models.prompt import LONGEST_TEXT, Prompt
from models.tasks.base import Reader
from tests.app.test_pages import opened, sent
from tests.app.visitors import visiting
from tests.models.foreign_tiny import lab_of


@pytest.fixture
def clock(monkeypatch) -> list[float]:
    """Replaces the clock by a list whose first number is the time."""
    now = [1000.0]
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: now[0], thread_time=lambda: now[0]))
    return now


@pytest.fixture
def visitor(monkeypatch, clock) -> limits.Allowance:
    """Yields a session without Streamlit, in hosted mode."""
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    return visiting(monkeypatch).allowance


@pytest.mark.parametrize("what", [PASSES, GENERATIONS, DOWNLOADS], ids=lambda what: what.name)
def test_an_allowance_has_a_maximum_and_is_refilled_per_minute(what: limits.Rate, visitor, clock):
    asked, refused = limits.used[what.name], limits.refused[what.name]
    spend(what, what.visit)
    with pytest.raises(LimitError) as error:
        spend(what)
    assert f"{what.visit:,}" in str(error.value)
    clock[0] += error.value.args[0].values["seconds"]
    spend(what)  # allowed after the waiting time that the message states
    for _ in range(3 * what.visit):  # for three minutes: one request each time one unit is refilled
        clock[0] += 60 / what.visit
        spend(what)
    with pytest.raises(LimitError):
        spend(what, 2 + what.visit // 10)
    clock[0] += 3600
    with pytest.raises(LimitError):
        spend(what, what.visit + 1)  # unused units do not accumulate beyond the limit
    assert limits.used[what.name] - asked == what.visit + 1 + 3 * what.visit
    assert limits.refused[what.name] - refused == 3


def test_visitors_have_limits_of_their_own_and_ones_own_machine_has_none(visitor, monkeypatch):
    spend(GENERATIONS, GENERATIONS.visit)
    visiting(monkeypatch)
    spend(GENERATIONS, GENERATIONS.visit)
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "")
    for _ in range(100):
        spend(DOWNLOADS, 1000)


def test_new_visits_of_one_address_share_its_allowance_and_few_addresses_are_kept(visitor, monkeypatch):
    monkeypatch.setattr(limits, "_addresses", OrderedDict())
    for _ in range(limits.PER_ADDRESS):
        visiting(monkeypatch).address = "192.0.2.1"  # a reload of the page starts a new session
        spend(GENERATIONS, GENERATIONS.visit)
    fresh = visiting(monkeypatch)
    fresh.address = "192.0.2.1"
    with pytest.raises(LimitError):
        spend(GENERATIONS)
    assert GENERATIONS.name not in fresh.allowance.spent  # a refused request uses no units
    visiting(monkeypatch).address = "192.0.2.2"
    spend(GENERATIONS, GENERATIONS.visit)
    monkeypatch.setattr(limits, "MOST_ADDRESSES", 3)
    for number in range(5):
        visiting(monkeypatch).address = f"192.0.2.{number}"
        spend(PASSES)
    assert [*limits._addresses] == ["192.0.2.2", "192.0.2.3", "192.0.2.4"]


def test_seconds_of_work_are_counted_and_overdrawn_searches_refused(visitor, clock):
    payer = limits.payer_of(limits._current())
    with limits.working(limits.WORK), limits.working(limits.SEARCHES):
        clock[0] += limits.SEARCHES.visit + 5  # of the processor; while it passes, a third of the bucket is refilled
    assert payer.wait(limits.WORK) == 0 < limits.work_of(visitor)
    seconds = payer.wait(limits.SEARCHES)
    assert seconds == pytest.approx(15)
    with pytest.raises(LimitError, match="wait 15 s"), limits.working(limits.SEARCHES):
        pass
    clock[0] += seconds + 0.01
    with limits.working(limits.SEARCHES):
        pass


def test_rates_delay_and_refuse(clock):
    payer = limits.Payer()
    most = int(limits.MESSAGES.visit)
    assert not any(payer.take(limits.MESSAGES) for _ in range(most))
    assert payer.take(limits.MESSAGES) == pytest.approx(1 / 60)
    assert payer.refusal(limits.MESSAGES) == pytest.approx(2 / 60)
    clock[0] += 2 / 60 + 1e-6
    assert payer.refusal(limits.MESSAGES) == 0
    assert payer.take(limits.BYTES, 4 * limits.BYTES.visit) == pytest.approx(12)
    # a new visit of the same address has its own rate, up to the address's
    other = limits.Payer(address=payer.address)
    assert other.take(limits.BYTES, limits.BYTES.visit) == 0
    assert other.take(limits.BYTES, limits.BYTES.address) > 0


def test_room_is_of_a_visit_an_address_and_the_process():
    room = limits.Room("test", visit=2, address=3, process=4)
    first = limits.Payer()
    second, third = limits.Payer(address=first.address), limits.Payer()
    with first.holds(room, 2) as one, first.holds(room) as two, second.holds(room) as three, second.holds(room) as four:
        assert (one, two, three, four) == (True, False, True, False)
        with third.holds(room) as five, third.holds(room) as six:
            assert (five, six) == (True, False)
    with first.holds(room, 1, stored=(2, 0, 0)) as visit, first.holds(room, 1, stored=(0, 0, 4)) as process:
        assert not visit and not process
    assert not first.visit.used and not first.address.used and "test" not in limits._process.used


def test_the_addresses_of_a_network_share_an_allowance():
    assert limits.of_address("2001:db8::1") is limits.of_address("2001:db8::2")
    assert limits.of_address("2001:db8::1") is not limits.of_address("2001:db8:0:1::1")
    assert limits.of_address("192.0.2.1") is not limits.of_address("192.0.2.2")
    assert limits.of_address("") is not limits.of_address("")


def test_a_refusal_is_in_the_language_of_who_shows_it(visitor, monkeypatch):
    with pytest.raises(LimitError) as error:
        spend(GENERATIONS, GENERATIONS.visit + 1)
    monkeypatch.setattr(texts, "language", lambda: "zh")
    assert "每分钟" in texts._(str(error.value))


def test_the_first_visit_meets_the_limit_without_an_error(monkeypatch):
    meets(monkeypatch, PASSES)
    monkeypatch.setattr(caches, "traces", caches.ByteCache(0))
    app = opened(page="start")
    assert not app.exception and [warning.value for warning in app.warning] == ["Wait 7 s."]


def meets(monkeypatch, what: limits.Rate, least: int = 1) -> None:
    """Replaces `spend`: requests of at least `least` units of this limit are refused."""
    monkeypatch.setenv("ATTENTION_LAB_HOSTED", "1")
    spend = limits.spend

    def refuse(asked: limits.Rate, amount: int = 1) -> None:
        if asked is what and amount >= least:
            raise LimitError("Wait 7 s.")
        spend(asked, amount)

    monkeypatch.setattr(limits, "spend", refuse)


def test_who_meets_the_limit_of_passes_reads_why_and_keeps_the_state(monkeypatch):
    meets(monkeypatch, PASSES)
    link = {"model": "stories-softmax", "text": "The limit of the lab is met here.", "plan": "self-0.1c"}
    app = opened(**link)
    assert not app.exception
    assert [warning.value for warning in app.warning] == ["Wait 7 s."]
    present = app.session_state["visit"].history.present
    assert (str(present.plan), present.text) == ("self-0.1c", link["text"])
    assert "plan=self-0.1c" in sent(app, "bar")[0]["query"]


def acted(app: AppTest, tool: str, **values: Any) -> str:
    """Sends an event of a tool's control; returns the tool's content as text."""
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lab", {"type": "act", "tool": tool, "sequence": now.channel.newest + 1, **values})])
    app.run()
    assert not app.exception
    return json.dumps(sent(app, "lab")[0]["tool"])


@pytest.mark.parametrize(("what", "least", "model", "tool", "event", "label"), [
    (PASSES, fewest.SEARCH, "assignment-softmax", "all.fewest", {"search": True}, '"Search"'),
    (GENERATIONS, 1, "stories-softmax", "answer.cont", {"on": True}, "Continue the text")])
def test_who_meets_the_limit_in_a_tool_reads_why(what, least, model, tool, event, label, monkeypatch):
    meets(monkeypatch, what, least)
    shown = acted(opened(model=model, lab=tool), tool, **event)
    assert "Wait 7 s." in shown and label in shown


@pytest.mark.parametrize(("amount", "link"), [
    (limits.WRITING, {"model": "translation-softmax", "plan": "encoder-0.1g0", "text": "We are tired of the rain."}),
    (12, {"model": "assignment-softmax", "lab": "head.corpus~~~corpus.source!text", "text": "a=1; b=2; a=?"}),
    (13, {"model": "assignment-softmax", "lab": "all.order~~~order.order!text'order.quantity!kl",
          "text": "a=1; b=3; a=?"}),
    (1, {"model": "assignment-softmax", "lab": "layer.alike", "text": "a=1; b=4; a=?"})])
def test_work_is_counted_by_its_number_of_passes(amount: int, link: dict[str, str], monkeypatch):
    counted: list[int] = []
    monkeypatch.setattr(limits, "spend", lambda what, amount=1: counted.append(amount))
    monkeypatch.setattr(caches, "measured", caches.ByteCache(0))
    app = opened(**link)
    with visit.use(app.session_state["visit"]) as now:
        now.channel.receive([("lab", {"type": "written", "sequence": 1})])  # the browser asks for the translation
    app.run()
    assert not app.exception and amount in counted


def test_who_meets_the_limit_of_downloads_reads_why(monkeypatch):
    meets(monkeypatch, DOWNLOADS)
    state: dict = {}
    visiting(monkeypatch)
    monkeypatch.setattr(yours, "st", SimpleNamespace(session_state=state))
    yours._look("openai-community/gpt2")
    assert state["looked"] == ("openai-community/gpt2", "Wait 7 s.", False)
    yours._load("hf:openai-community/gpt2")
    assert state["job problem"] == "Wait 7 s." and visit.current().job is None


EMOJI = "🐉" * 200_000
FAMILY = {"model": "stories-softmax", "with": "stories-selective stories-log-n stories-random"}


@pytest.fixture
def readings(monkeypatch) -> Iterator[list[int]]:
    """Yields a list that receives the number of characters of each tokenized text of the task `stories`."""
    found: list[int] = []
    task = catalogue.reader_named("stories")
    encode = task.typed

    class Counted:
        def encode(self, text: str, **options: object) -> object:
            found.append(len(text))
            assert not serving._drawing.is_mine()  # the turn to draw is free for other visitors meanwhile
            return encode.encode(text, **options)

        def __getattr__(self, name: str) -> object:
            return getattr(encode, name)

    monkeypatch.setitem(task.__dict__, "typed", Counted())
    for cached in caches.kept.values():
        cached.cache_clear()
    return found


def test_four_models_tokenize_a_long_text_once(readings: list[int]):
    text = EMOJI[:40_000]  # a longer text gets an additional message, because a link cannot contain it
    app = opened(text=text, lab="all.second", **FAMILY)
    assert not app.exception
    assert readings == [LONGEST_TEXT]
    header = sent(app, "lab")[0]
    assert "left out at the end: over " in header["notice"]["message"] and header["text"] == text


def test_a_long_text_with_few_tokens_is_reported_too():
    app = opened(model="assignment-softmax", text="x=1;" + " " * 20_000 + "x=?")
    assert not app.exception
    assert f"{LONGEST_TEXT:,} characters" in sent(app, "lab")[0]["notice"]["message"]


@pytest.mark.parametrize("reader", ["stories", "masked", "assignment", "translation", "bert", "gpt2", "t5"])
@pytest.mark.parametrize("text", [EMOJI, "[a] " * 50_000, "2[½] " * 40_000, "x=1; " * 40_000, "\ud800" * 200_000,
                                  "a" * 200_000])
def test_a_text_is_cut_before_it_is_tokenized(reader: str, text: str):
    task: Reader = (catalogue.reader_named(reader) if reader in ("stories", "masked", "assignment", "translation")
                    else lab_of(reader).task)
    began = time.process_time()
    try:
        prompt: Prompt = task.read(text, 128)
    except ValueError:  # a text that contains no assignment
        assert reader == "assignment" and "x" not in text[:1]
        return
    finally:
        assert time.process_time() - began < 3
    assert len(prompt.ids) <= 128 and prompt.read_chars <= LONGEST_TEXT
    assert prompt == task.read(text[:LONGEST_TEXT], 128)


def test_who_reads_a_long_text_lets_others_draw(monkeypatch):
    lab = models.load("stories-softmax")
    reading, drawn = threading.Event(), threading.Event()

    def slow(text: str, limit: int) -> Prompt:
        reading.set()
        assert drawn.wait(20), "nobody else can draw"
        return Reader.read(lab.task, text, limit)

    monkeypatch.setattr(lab.task, "read", slow)

    def other() -> None:
        reading.wait(20)
        with serving.drawing():
            drawn.set()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(other)
        with serving.drawing(), pytest.raises(NotImplementedError):
            compute.read(lab, "slow " * 1000 + str(time.monotonic()))
