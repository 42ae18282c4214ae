"""Rate limits on expensive work, per visit and per IP address. Enforced in hosted mode; usage is always counted.

A lecture hall often shares one IP address, so an address may use PER_ADDRESS times the allowance of one visit. The
limit per address also holds for a visitor who opens a new connection, and thus a new visit, to get a new allowance.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from app.texts import N_
from models.labs.foreign.opening import hub
from models.messages import message

MINUTE = 60.0  # number of seconds in which a bucket refills
PER_ADDRESS = 30  # an address can use this many times the allowance of one visit
MOST_ADDRESSES = 20_000  # number of addresses in memory; the least recently seen one is dropped

Purse = dict[str, tuple[float, float]]  # name of an allowance -> (units left, time.monotonic() of that number)


class Payer(Protocol):
    """The visit that is charged for work; app/state/visit.py has its attributes."""

    allowances: Purse
    address: str | None


@dataclass(frozen=True)
class Allowance:
    """A limit per minute, as a token bucket.

    Attributes:
        name: label in the metrics.
        most: units that a visit can use at once; the bucket refills within a minute.
        refusal: message for a visitor over the limit.
    """

    name: str
    most: int
    refusal: str


PASSES = Allowance("passes", 1000, N_(
    "This host allows each visitor {most:,} model passes per minute. You can go on in {seconds} s."))
GENERATIONS = Allowance("generations", 20, N_(
    "This host allows each visitor {most:,} continuations per minute. You can go on in {seconds} s."))
DOWNLOADS = Allowance("downloads", 6, N_(
    "This host allows each visitor {most:,} requests to the Hub per minute. You can go on in {seconds} s."))
ALL = (PASSES, GENERATIONS, DOWNLOADS)

asked: Counter[str] = Counter()  # name of an allowance -> units used by all visitors since the start
refused: Counter[str] = Counter()  # name of an allowance -> number of refused requests
_addresses: OrderedDict[str, Purse] = OrderedDict()
_lock = threading.Lock()
_alone: ContextVar[bool] = ContextVar("counted alone", default=False)


_current_payer: Callable[[], Payer] | None = None


def charge(current_payer: Callable[[], Payer]) -> None:
    """Sets the function that returns the visit to charge; it is called for each piece of work."""
    global _current_payer
    _current_payer = current_payer


class LimitError(Exception):
    """A visit or its address is over a limit. The message is for the visitor and is translated when it is shown."""


@contextlib.contextmanager
def counted_alone() -> Iterator[None]:
    """Counts the work inside the context for the metrics, but charges and refuses no visitor.

    Used for exports: they run in a thread without a visit, and the page was charged for the same data before.
    """
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def spend(what: Allowance, amount: int = 1) -> None:
    """Charges the current visit and its address for an amount of work.

    Args:
        what: the limit that applies, one of ALL.
        amount: units of work, for example forward passes.

    Raises:
        LimitError: in hosted mode, if the visit or its address has less than `amount` left. Nothing is charged then.
    """
    if hub.access().hosted and not _alone.get():
        assert _current_payer is not None  # app/state/visit.py has set it
        this = _current_payer()
        with _lock:
            purses = [(this.allowances, what.most), (_purse_of(this.address), what.most * PER_ADDRESS)]
            now = time.monotonic()
            for purse, most in purses:
                left = _left(purse, what, most, now)
                if left < amount:
                    refused[what.name] += 1
                    seconds = math.ceil((min(amount, most) - left) * MINUTE / most)
                    raise LimitError(message(what.refusal, most=what.most, seconds=max(1, seconds)))
            for purse, most in purses:
                purse[what.name] = _left(purse, what, most, now) - amount, now
    with _lock:
        asked[what.name] += amount


def _left(purse: Purse, what: Allowance, most: int, now: float) -> float:
    """Returns the units of an allowance that are left in a purse now; an empty purse refills within a minute."""
    left, since = purse.get(what.name, (float(most), now))
    return min(most, left + (now - since) * most / MINUTE)


def _purse_of(address: str | None) -> Purse:
    """Returns the purse of an address; a new purse that is not stored if the address is unknown."""
    if address is None:
        return {}
    purse = _addresses.setdefault(address, {})
    _addresses.move_to_end(address)
    while len(_addresses) > MOST_ADDRESSES:
        _addresses.popitem(last=False)
    return purse
