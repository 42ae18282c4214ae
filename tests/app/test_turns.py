"""Tests of turns: first come, first served. A thread that computes lets others draw, and then draws again."""

import contextlib
import gc
import threading
import time
import weakref
from collections.abc import Callable
from types import SimpleNamespace

import numpy
import pytest

import models
from app import compute
from app.server import queueing, serving
from app.server.queueing import Turns
from models.generate.seq2seq_decoding import between_steps
from tests.own_loop import until

PATIENCE = 20  # seconds after which a thread counts as stuck


def threads(work: Callable[[int], None], count: int) -> list[threading.Thread]:
    """Starts `count` threads that call work(number), and returns the threads."""
    made = [threading.Thread(target=work, args=(number,), daemon=True) for number in range(count)]
    for thread in made:
        thread.start()
    return made


def joined(made: list[threading.Thread]) -> None:
    """Waits for all threads; fails if one is stuck."""
    end = time.monotonic() + PATIENCE
    for thread in made:
        thread.join(max(0.0, end - time.monotonic()))
    assert not any(thread.is_alive() for thread in made), "a thread waits for ever"


def test_turns_are_given_in_the_order_of_requests():
    turns, served, made = Turns(1), [], []
    turns.acquire()

    def work(number: int) -> None:
        with turns:
            served.append(number)

    for number in range(10):
        thread = threading.Thread(target=work, args=(number,), daemon=True)
        thread.start()
        made.append(thread)
        until(lambda: turns.queue == len(made))
    assert not served
    turns.release()
    joined(made)
    assert served == list(range(10))
    assert turns.queue == 0


@pytest.mark.parametrize("places", [1, 2, 5])
def test_no_more_have_a_turn_than_there_are_places(places: int):
    turns, inside, most, lock = Turns(places), 0, 0, threading.Lock()

    def work(number: int) -> None:
        nonlocal inside, most
        for _ in range(10):
            with turns:
                with lock:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0.001)
                with lock:
                    inside -= 1

    joined(threads(work, 12))
    assert (most, inside) == (places, 0)


def test_who_asks_again_and_again_keeps_nobody_out():
    """With threading.Lock, the thread that releases it would take it again before the others wake up."""
    turns, order, enough = Turns(1), [], threading.Event()
    turns.acquire()

    def again_and_again() -> None:
        while not enough.is_set():
            with turns:
                order.append("greedy")

    def once(number: int) -> None:
        with turns:
            order.append("patient")

    greedy = threading.Thread(target=again_and_again, daemon=True)
    greedy.start()
    until(lambda: turns.queue == 1)
    made = threads(once, 5)
    until(lambda: turns.queue == 6)  # all threads wait, the greedy one first, so the test does not depend on time
    turns.release()
    joined(made)
    enough.set()
    joined([greedy])
    assert order[:6] == ["greedy"] + 5 * ["patient"]


def test_a_turn_is_of_the_thread_that_took_it():
    turns, seen = Turns(2), []
    assert not turns.is_mine()
    with turns:
        assert turns.is_mine()
        joined(threads(lambda number: seen.append(turns.is_mine()), 1))
    assert not turns.is_mine()
    assert seen == [False]


def test_an_error_inside_gives_the_turn_on():
    turns = Turns(1)
    with pytest.raises(ZeroDivisionError), turns:
        raise ZeroDivisionError
    assert not turns.is_mine()
    joined(threads(lambda number: turns.__enter__().release(), 3))


class Interrupted(BaseException):
    """An exception that, like KeyboardInterrupt, is raised while a thread waits."""


class Impatient(threading.Event):
    """An event whose wait is interrupted, either before or after the turn was given to the waiting thread."""

    def __init__(self, given: bool) -> None:
        super().__init__()
        self._given = given

    def wait(self, timeout: float | None = None) -> bool:
        if self._given:
            super().wait(PATIENCE)
        raise Interrupted


@pytest.mark.parametrize("given", [False, True])
def test_who_is_interrupted_while_waiting_loses_no_turn(given: bool, monkeypatch):
    turns, stopped, served = Turns(1), [], []
    turns.acquire()

    def interrupted(number: int) -> None:
        try:
            turns.acquire()
        except Interrupted:
            stopped.append(turns.is_mine())

    monkeypatch.setattr(queueing, "threading", SimpleNamespace(Event=lambda: Impatient(given),
                                                               get_ident=threading.get_ident))
    first = threads(interrupted, 1)
    until(lambda: turns.queue == 1 or bool(stopped))
    monkeypatch.undo()

    def patient(number: int) -> None:
        with turns:
            served.append(number)

    second = threads(patient, 1)
    until(lambda: turns.queue == 1 + given)
    turns.release()
    joined([*first, *second])
    assert (stopped, served, turns.queue) == ([False], [0], 0)
    with turns:  # the turn is free
        pass


@pytest.fixture
def fresh(monkeypatch):
    """Replaces the turns of the module `serving` for one test."""
    monkeypatch.setattr(serving, "_drawing", Turns(1))
    monkeypatch.setattr(serving, "_pages", Turns(4))
    monkeypatch.setattr(serving, "_computing", Turns(1))


def test_who_computes_lets_others_draw_and_gets_the_turn_back(fresh):
    drawn = []

    def draw(number: int) -> None:
        with serving.drawing():
            drawn.append(number)

    with serving.drawing():
        made = threads(draw, 3)
        until(lambda: serving._drawing.queue == 3)
        assert not drawn
        with serving.computing():
            assert not serving._drawing.is_mine()
            joined(made)
            assert sorted(drawn) == [0, 1, 2]
        assert serving._drawing.is_mine()
    assert not serving._drawing.is_mine()


def test_long_work_lets_short_work_go_first_and_goes_on(fresh, monkeypatch):
    monkeypatch.setattr(serving, "POLITE", PATIENCE)
    monkeypatch.setattr(serving, "_computing", Turns(2))
    done: list[int] = []

    def work(number: int) -> None:
        with serving.drawing(), serving.computing_long():
            for step in range(3):
                between_steps.get()()
                done.append(step)
        with serving._drawing:  # afterwards the drawing of the page continues
            assert between_steps.get() is not serving._let_short_work_go_first

    waits: list[float] = []
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: (waits.append(seconds), time.sleep(0.001)))
    monkeypatch.setattr(serving, "time", clock)
    with serving._computing:  # the computing turn of another visitor
        made = threads(work, 1)
        until(lambda: len(waits) > 3)
        assert not done
    joined(made)
    assert done == [0, 1, 2]


def test_long_work_waits_for_a_limited_time(fresh, monkeypatch):
    monkeypatch.setattr(serving, "POLITE", 0.0)
    with serving._drawing:
        serving._let_short_work_go_first()  # returns although the turn is still in use


def test_a_page_that_waits_for_long_work_keeps_no_memory(fresh):
    held: list[weakref.ref[numpy.ndarray]] = []
    running, end = threading.Event(), threading.Event()

    def make() -> str:
        weights = numpy.zeros(9)
        held.append(weakref.ref(weights))
        with serving.computing_long():
            running.set()
            assert end.wait(10)
        return f"{weights.sum():.0f}"

    def page(_number: int) -> None:
        with serving.drawing():
            pages.append(serving.in_turn(make))

    pages: list[str] = []
    gc.disable()
    try:
        both = threads(page, 2)
        assert running.wait(10)
        until(lambda: serving._long.queue == 1)
        assert [weights() is not None for weights in held].count(True) == 1
    finally:
        gc.enable()
        end.set()
    joined(both)
    assert pages == ["0", "0"] and not serving._long.is_taken() and not serving._pages.is_taken()


def test_long_work_that_nobody_wants_any_more_ends_between_two_steps(fresh):
    wanted = [True]
    with serving.only_while(lambda: wanted[0]), serving.computing_long():
        between_steps.get()()
        wanted[0] = False
        with pytest.raises(serving.OvertakenError):
            between_steps.get()()


def test_a_light_pass_stays_within_the_turn_to_draw(fresh):
    with serving._computing, serving.drawing():  # a light pass does not wait for the computation of another visitor
        with serving.computing(light=True):
            assert serving._drawing.is_mine()
        assert serving._drawing.is_mine()
    with serving.computing(light=True):  # without a turn to draw, a light pass takes a turn to compute
        assert serving._computing.is_mine()
    assert not serving._drawing.is_mine() and not serving._computing.is_mine()


@pytest.mark.parametrize(("name", "text", "light"), [
    ("stories-softmax", "a light text that no other test reads", True), ("masked-softmax", "the dog " * 160, False)])
def test_short_texts_of_our_own_models_are_light(monkeypatch, name, text, light):
    asked = []

    @contextlib.contextmanager
    def computing(light=False):
        asked.append(light)
        yield

    monkeypatch.setattr(serving, "computing", computing)
    lab = models.load(name)
    compute.traces_of(lab, compute.read(lab, text, 512), models.HeadPlan())
    assert asked == [light]


def test_no_more_pages_are_under_way_than_there_are_places(fresh):
    """The number of pages in progress is limited, because each page keeps its maps in memory, even while it waits."""
    under_way, most, lock, full = 0, 0, threading.Lock(), threading.Event()

    def page(number: int) -> None:
        nonlocal under_way, most
        with serving.drawing():
            with lock:
                under_way += 1
                most = max(most, under_way)
                if most == 4:
                    full.set()
            with serving.computing():
                time.sleep(0.002)
            with serving.aside():
                full.wait(9)
                time.sleep(0.002)
            with lock:
                under_way -= 1

    joined(threads(page, 24))
    assert (most, under_way) == (4, 0)


def test_an_error_while_computing_gives_the_turn_back_too(fresh):
    with serving.drawing():
        with pytest.raises(ZeroDivisionError), serving.computing():
            raise ZeroDivisionError
        assert serving._drawing.is_mine()
        assert not serving._computing.is_mine()
    with serving.drawing(), serving.computing():
        pass


def test_who_computes_without_drawing_has_no_turn_to_draw_afterwards(fresh):
    with serving.computing():
        assert not serving._drawing.is_mine()
    assert not serving._drawing.is_mine()
    with serving.drawing():
        pass
