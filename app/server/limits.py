"""Allowances: the requests, bytes, seconds of work and memory that a visit, an address and the process may use.

The websocket, the events route and uploads ask the same `Payer`. A lecture hall often shares one IP address, so an
address may use many times the allowance of one visit. The limit per address also applies to a visitor who opens a new
visit to get a new allowance. Limits on work apply in hosted mode only; its use is always counted.
"""

import contextlib
import ipaddress
import math
import threading
import time
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol
from weakref import WeakValueDictionary

from app.texts import N_
from models.labs.foreign.opening import hub
from models.messages import message
from models.prompt import Prompt

MINUTE = 60.0
PER_ADDRESS = 30  # an address can use this many times the allowance of one visit
LIGHT = 128  # tokens up to which a forward pass of our own models takes no longer than drawing its result (20 ms)
WRITING = 7  # cost of a beam search over LONG_SENTENCE tokens, in forward passes of the same duration
LONG_SENTENCE = 24  # tokens up to which generation costs WRITING; above, the cost grows with the square of the length
MOST_ADDRESSES = 20_000  # number of addresses in memory; the least recently used address is dropped
KB, MB = 2**10, 2**20


@dataclass(frozen=True)
class Rate:
    """A token bucket of `visit` and `address` units, full after `seconds`; one with a `unit` has a message."""

    name: str
    visit: float
    address: float
    seconds: float = MINUTE
    unit: str = ""


@dataclass(frozen=True)
class Room:
    """A limit on what is in use at the same time."""

    name: str
    visit: float = math.inf
    address: float = math.inf
    process: float = math.inf


PASSES = Rate("passes", 1000, 1000 * PER_ADDRESS, unit=N_("model passes"))
GENERATIONS = Rate("generations", 20, 20 * PER_ADDRESS, unit=N_("continuations"))
DOWNLOADS = Rate("downloads", 6, 6 * PER_ADDRESS, unit=N_("requests to the Hub"))
# seconds of a processor: of everything that a visit computes and draws, and of beam searches alone
WORK = Rate("work", 30, math.inf)
SEARCHES = Rate("searches", 20, 40, unit=N_("s of translating"))
# requests to the events route and websocket messages; a drag sends one per animation frame
MESSAGES = Rate("messages", 240, 2400, seconds=4)
BYTES = Rate("bytes", 2 * MB, 32 * MB, seconds=4)
TRAININGS = Rate("trainings", 6, 6 * PER_ADDRESS, unit=N_("trainings"))
ALL = (PASSES, GENERATIONS, DOWNLOADS, TRAININGS, WORK, SEARCHES, MESSAGES, BYTES)

REQUESTS = Room("requests", visit=8, address=400)  # requests to the events route that have no response yet
BODIES = Room("bodies", visit=3, address=16, process=48)  # these requests with more than 64 kB, of up to 2 MB
FILES = Room("files", visit=2, address=20)  # downloads that are made
LONG = Room("long", address=4)  # requests that wait for a beam search, or compute one
UPLOADS = Room("uploads", visit=17 * MB, address=40 * MB, process=64 * MB)  # two files of the largest size per visit


class Allowance:
    """What one visit, one address or the process has used."""

    def __init__(self) -> None:
        self.spent: dict[str, tuple[float, float]] = {}  # name of a rate -> (units left, time.monotonic())
        self.used: defaultdict[str, float] = defaultdict(float)  # name of a room -> units in use


used: defaultdict[str, float] = defaultdict(float)  # name of a rate -> units used by all visitors since the start
refused: Counter[str] = Counter()  # name of a rate or a room -> number of refused requests
_process = Allowance()
_addresses: OrderedDict[str, Allowance] = OrderedDict()
_visits: WeakValueDictionary[str, Allowance] = WeakValueDictionary()  # by the id of the Streamlit session
_lock = threading.Lock()


class LimitError(Exception):
    """A visit or its address is over a limit. The message is for the visitor; the page translates it."""


@dataclass(frozen=True)
class Payer:
    """A visit and its address, whose allowances are asked together."""

    visit: Allowance = field(default_factory=Allowance)
    address: Allowance = field(default_factory=Allowance)

    def wait(self, rate: Rate) -> float:
        """Returns the seconds until neither bucket is overdrawn."""
        now = time.monotonic()
        with _lock:
            return max(-_left(allowance, rate, most, now) * rate.seconds / most if math.isfinite(most) else 0.0
                       for allowance, most in self._buckets(rate))

    def take(self, rate: Rate, amount: float = 1) -> float:
        """Takes units, also more than are left; returns the seconds until neither bucket is overdrawn."""
        now = time.monotonic()
        with _lock:
            used[rate.name] += amount
            for allowance, most in self._buckets(rate):
                allowance.spent[rate.name] = _left(allowance, rate, most, now) - amount, now
        return max(0.0, self.wait(rate))

    def refusal(self, rate: Rate, amount: float = 1) -> float:
        """Takes units and returns 0; takes nothing and returns the seconds to wait if a bucket has too few."""
        now = time.monotonic()
        with _lock:
            for allowance, most in self._buckets(rate):
                left = _left(allowance, rate, most, now)
                if left < amount:
                    refused[rate.name] += 1
                    return max(0.001, (min(amount, most) - left) * rate.seconds / most)
        self.take(rate, amount)
        return 0.0

    @contextlib.contextmanager
    def holds(self, room: Room, amount: float = 1, stored: tuple[float, float, float] = (0, 0, 0)) -> Iterator[bool]:
        """Uses room beside `stored`, which is in use, while open; yields False if there is too little."""
        name, limits = room.name, (room.visit, room.address, room.process)
        with _lock:
            free = all(allowance.used.get(name, 0.0) + before + amount <= most
                       for allowance, before, most in zip(self._all(), stored, limits, strict=True))
            if not free:
                refused[name] += 1
            for allowance in self._all() if free else ():
                allowance.used[name] += amount
        try:
            yield free
        finally:
            with _lock:
                for allowance in self._all() if free else ():
                    allowance.used[name] -= amount
                    if not allowance.used[name]:
                        del allowance.used[name]

    def _all(self) -> tuple[Allowance, Allowance, Allowance]:
        return self.visit, self.address, _process

    def _buckets(self, rate: Rate) -> tuple[tuple[Allowance, float], tuple[Allowance, float]]:
        return (self.visit, rate.visit), (self.address, rate.address)


def _left(allowance: Allowance, rate: Rate, most: float, now: float) -> float:
    left, since = allowance.spent.get(rate.name, (most, now))
    return min(most, left + (now - since) * most / rate.seconds) if math.isfinite(most) else most


def work_of(visit: Allowance) -> float:
    """Returns the seconds of work that a visit has used lately."""
    return WORK.visit - _left(visit, WORK, WORK.visit, time.monotonic())


def of_session(session: str) -> Allowance:
    """Returns the allowance of a Streamlit session, which the session's Visit and its websocket keep."""
    with _lock:
        allowance = _visits.get(session) if session else None
        if allowance is None:
            allowance = Allowance()
            if session:
                _visits[session] = allowance
        return allowance


def of_address(address: str | None) -> Allowance:
    """Returns the allowance of an address, of IPv6 of its network /64; a new one for an unknown address (None)."""
    if not address:
        return Allowance()
    if ":" in address:
        with contextlib.suppress(ValueError):
            address = str(ipaddress.ip_network(f"{address.partition('%')[0]}/64", strict=False))
    with _lock:
        allowance = _addresses.setdefault(address, Allowance())
        _addresses.move_to_end(address)
        while len(_addresses) > MOST_ADDRESSES:
            _addresses.popitem(last=False)
        return allowance


class Visitor(Protocol):
    """The visit whose allowance the work counts against; implemented by Visit in app/state/visit.py."""

    allowance: Allowance
    address: str | None


_current: Callable[[], Visitor] | None = None


def charge(current: Callable[[], Visitor]) -> None:
    """Sets the function that returns the current visit. Work in hosted mode calls this function."""
    global _current
    _current = current


def payer_of(visitor: Visitor) -> Payer:
    return Payer(visitor.allowance, of_address(visitor.address))


def _limited() -> Payer | None:
    """Returns the payer of this thread's work; None if nobody's allowance is charged."""
    if not hub.access().hosted or _current is None:
        return None
    return payer_of(_current())


def _error(rate: Rate, seconds: float) -> LimitError:
    return LimitError(message("At most {most:,} {units} per minute: wait {seconds} s.", most=int(rate.visit),
                              units=message(rate.unit), seconds=max(1, math.ceil(seconds))))


def spend(what: Rate, amount: float = 1) -> None:
    """Counts work against the limits of the current visit and its address; raises LimitError in hosted mode."""
    payer = _limited()
    if payer is None:
        _count(None, what, amount)
    elif seconds := payer.refusal(what, amount):
        raise _error(what, seconds)


@contextlib.contextmanager
def working(*rates: Rate) -> Iterator[None]:
    """Counts the processor's seconds of this thread; raises LimitError if a rate with a unit is overdrawn."""
    payer = _limited()
    for rate in rates:
        if payer and rate.unit and (seconds := payer.wait(rate)) > 0:
            refused[rate.name] += 1
            raise _error(rate, seconds)
    began = time.thread_time()
    try:
        yield
    finally:
        for rate in rates:
            _count(payer, rate, time.thread_time() - began)


def _count(payer: Payer | None, rate: Rate, amount: float) -> None:
    if payer is None:
        with _lock:
            used[rate.name] += amount
    else:
        payer.take(rate, amount)


def passes_of(prompt: Prompt) -> int:
    """Returns the units that one pass over the prompt counts against the limit: one per LIGHT tokens, rounded up."""
    return -(-len(prompt.ids) // LIGHT)


def beam_passes_of(prompt: Prompt) -> int:
    """Returns the units that a beam search counts against the limit; its time grows with the square of the length."""
    return max(WRITING, round(WRITING * (len(prompt.ids) / LONG_SENTENCE) ** 2))
