"""Limits per visit and per address on what costs time, in hosted mode; usage is counted everywhere for the metrics.

A lecture hall often has one address, so an address has PER_ADDRESS times the allowance of a visit. A new connection
therefore brings a new visit, but no new allowance for the address.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from app.state import visit
from app.texts import N_
from models.labs.foreign.opening import hub
from models.messages import told

MINUTE = 60.0  # seconds
PER_ADDRESS = 30  # times the allowance of one visit
MOST_ADDRESSES = 20_000  # that are remembered

Purse = dict[str, tuple[float, float]]  # name of an allowance -> what was left, and when


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
_addresses: OrderedDict[str, Purse] = OrderedDict()
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
    """Charges this visit, and the address that it comes from, for an amount of something.

    Raises:
        LimitError: on a host, where the visit or its address has none left. Nothing is charged then.
    """
    if hub.access().hosted and not _alone.get():
        this = visit.current()
        with _lock:
            purses = [(this.allowances, what.most), (_purse_of(this.address), what.most * PER_ADDRESS)]
            now = time.monotonic()
            for purse, most in purses:
                left = _left(purse, what, most, now)
                if left < amount:
                    refused[what.name] += 1
                    seconds = math.ceil((min(amount, most) - left) * MINUTE / most)
                    raise LimitError(told(what.told, most=what.most, seconds=max(1, seconds)))
            for purse, most in purses:
                purse[what.name] = _left(purse, what, most, now) - amount, now
    with _lock:
        asked[what.name] += amount


def _left(purse: Purse, what: Allowance, most: int, now: float) -> float:
    """What a purse holds of an allowance: it fills within a minute."""
    left, since = purse.get(what.name, (float(most), now))
    return min(most, left + (now - since) * most / MINUTE)


def _purse_of(address: str | None) -> Purse:
    """The purse of an address; an empty one, kept by nobody, where Streamlit does not tell the address."""
    if address is None:
        return {}
    purse = _addresses.setdefault(address, {})
    _addresses.move_to_end(address)
    while len(_addresses) > MOST_ADDRESSES:
        _addresses.popitem(last=False)
    return purse
