"""Rate limits on expensive work, per session and per IP address. Enforced in hosted mode; usage is always counted.

A lecture hall often shares one IP address, so an address may use PER_ADDRESS times the allowance of one session. The
limit per address also applies to a visitor who opens a new session to get a new allowance.
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
from models.prompt import Prompt

MINUTE = 60.0  # seconds in which an empty token bucket refills
PER_ADDRESS = 30  # an address can use this many times the allowance of one session
LIGHT = 128  # tokens up to which a forward pass of our own models takes no longer than drawing its result (20 ms)
WRITING = 7  # cost of a beam search over LONG_SENTENCE tokens, in forward passes of the same duration
LONG_SENTENCE = 24  # tokens up to which generation costs WRITING; above, the cost grows with the square of the length
MOST_ADDRESSES = 20_000  # number of addresses in memory; the least recently used address is dropped

Purse = dict[str, tuple[float, float]]  # name of an allowance -> (units left, time.monotonic() when they were counted)


class Payer(Protocol):
    """The session whose allowances the work counts against; implemented by Visit in app/state/visit.py."""

    allowances: Purse
    address: str | None


@dataclass(frozen=True)
class Allowance:
    """A limit per minute: a token bucket of `most` units that refills within a minute, with its message of refusal."""

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

used: Counter[str] = Counter()  # name of an allowance -> units used by all visitors since the start
refused: Counter[str] = Counter()  # name of an allowance -> number of refused requests
_addresses: OrderedDict[str, Purse] = OrderedDict()
_lock = threading.Lock()
_alone: ContextVar[bool] = ContextVar("counted alone", default=False)


_current_payer: Callable[[], Payer] | None = None


def charge(current_payer: Callable[[], Payer]) -> None:
    """Sets the function that returns the current session. `spend` calls this function in hosted mode."""
    global _current_payer
    _current_payer = current_payer


class LimitError(Exception):
    """A session or its address is over a limit. The message is for the visitor; the page translates it."""


@contextlib.contextmanager
def counted_alone() -> Iterator[None]:
    """Counts the work inside the context for the metrics, but not against any visitor's limit, and refuses no work.

    Used for exports: they run in a thread without a session, and the same data already counted when the page was
    displayed.
    """
    token = _alone.set(True)
    try:
        yield
    finally:
        _alone.reset(token)


def spend(what: Allowance, amount: int = 1) -> None:
    """Counts work against the limits of the current session and its address; raises LimitError in hosted mode."""
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
        used[what.name] += amount


def passes_of(prompt: Prompt) -> int:
    """Returns the units that one pass over the prompt counts against the limit: one per LIGHT tokens, rounded up."""
    return -(-len(prompt.ids) // LIGHT)


def beam_passes_of(prompt: Prompt) -> int:
    """Returns the units that a beam search counts against the limit; its time grows with the square of the length."""
    return max(WRITING, round(WRITING * (len(prompt.ids) / LONG_SENTENCE) ** 2))


def _left(purse: Purse, what: Allowance, most: int, now: float) -> float:
    """Returns the units of an allowance that are left in a purse now; an empty purse refills within a minute."""
    left, since = purse.get(what.name, (float(most), now))
    return min(most, left + (now - since) * most / MINUTE)


def _purse_of(address: str | None) -> Purse:
    """Returns the purse of an address. For an unknown address (None), returns a new purse that is not stored."""
    if address is None:
        return {}
    purse = _addresses.setdefault(address, {})
    _addresses.move_to_end(address)
    while len(_addresses) > MOST_ADDRESSES:
        _addresses.popitem(last=False)
    return purse
