"""What a visitor may ask for within a minute, where strangers visit; counted everywhere (app/server/health.py).

A visitor is a session: a lecture hall often has one address, so addresses are for the balancer (deploy/haproxy.cfg).
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

import streamlit as st

from app.state import session
from app.texts import N_
from models.labs.foreign.opening import hub
from models.messages import told

MINUTE = 60.0  # seconds


@dataclass(frozen=True)
class Allowance:
    """So many of something within a minute.

    Attributes:
        name: for metrics.
        most: that a visitor may ask for at once; they come back within a minute.
        told: for who meets it.
    """

    name: str
    most: int
    told: str


PASSES = Allowance("passes", 1000, N_(
    "This host allows each visitor {most:,} passes of a model a minute. In {seconds} s you can go on."))
GENERATIONS = Allowance("generations", 20, N_(
    "This host lets each visitor continue a text {most:,} times a minute. In {seconds} s you can go on."))
DOWNLOADS = Allowance("downloads", 6, N_(
    "This host lets each visitor ask the Hub {most:,} times a minute. In {seconds} s you can go on."))
ALL = (PASSES, GENERATIONS, DOWNLOADS)

asked: Counter[str] = Counter()  # name of an allowance -> how many all visitors together have asked for
refused: Counter[str] = Counter()  # and how often one of them met the limit
_lock = threading.Lock()
_alone: ContextVar[bool] = ContextVar("counted alone", default=False)


class LimitError(Exception):
    """A visitor asks for more than a host allows; the message is for them, in the language of who shows it."""


@contextlib.contextmanager
def counted_alone() -> Iterator[None]:
    """What is asked for within is counted and never refused: a download is made in a thread that belongs to no visitor,
    whose page paid for what it holds."""
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def spend(what: Allowance, amount: int = 1) -> None:
    """Notes that this visitor asks for something; raises LimitError where that is too much for now."""
    if hub.access().hosted and not _alone.get():
        now = time.monotonic()
        left, since = st.session_state.setdefault(session.ALLOWANCES, {}).get(what.name, (float(what.most), now))
        left = min(what.most, left + (now - since) * what.most / MINUTE)
        if left < amount:
            seconds = math.ceil((min(amount, what.most) - left) * MINUTE / what.most)
            _count(refused, what, 1)
            raise LimitError(told(what.told, most=what.most, seconds=max(1, seconds)))
        st.session_state[session.ALLOWANCES][what.name] = left - amount, now
    _count(asked, what, amount)


def _count(counter: Counter[str], what: Allowance, amount: int) -> None:
    with _lock:
        counter[what.name] += amount
