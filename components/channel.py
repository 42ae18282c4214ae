"""Channel: handles each event from the browser once and in order, and tracks the payloads that the browser has."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SESSION_KEY = "channel"  # the key of the Channel in Streamlit's session state
MAX_EVENTS = 256  # maximum events per message; the browser sends the remaining events after the response
# Events that open a whole state, which takes milliseconds. Of a message, only the last MAX_OPENED are handled, and of
# two without an undo, redo or reset between them only the later one (see `fold` in core/pending.js).
OPENING, TURNING, MAX_OPENED = ("open", "address"), ("undo", "redo", "reset"), 4

OnEvent = Callable[[dict[str, Any]], None]

_current: ContextVar[Channel | None] = ContextVar("channel", default=None)


class Picture(NamedTuple):
    """A snapshot of the state for a page's payloads, taken first: events can arrive while the page is generated."""

    serial: int  # number of the snapshot; a payload with a lower number is older
    newest: int  # number of the newest event, of any component, that the snapshot includes
    received: dict[str, int]  # component -> number of the newest event of this component that the snapshot includes


@dataclass(eq=False)
class Channel:
    """The events and payloads of one session. A component is identified by the `key` of its mount."""

    # an unguessable string that identifies the session in the address of the events route
    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    newest: int = 0  # number of the newest handled event of any component
    serial: int = 0  # number of the newest snapshot of the state
    # component -> number of the newest handled event of this component
    received: dict[str, int] = field(default_factory=dict)
    # component -> the function that handles the events of this component
    handlers: dict[str, OnEvent | None] = field(default_factory=dict)
    # component -> name of a field or an array -> (fingerprint, serial) of the last payload of the events route with
    # this name since the last script run began; the fingerprint is empty for a name that was removed
    sent: dict[str, dict[tuple[str, str], tuple[bytes, int]]] = field(default_factory=dict)
    # the snapshot that the Streamlit script displayed last, or is displaying now
    displayed: Picture = Picture(0, 0, {})
    latest: Picture = Picture(0, 0, {})  # the newest snapshot
    direct: bool = False  # True if the events route can update the page
    # held while the state changes, so that an event and a script run never change the state at the same time
    lock: threading.RLock = field(default_factory=threading.RLock)
    _listening: dict[str, OnEvent | None] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Returns a new snapshot. Read the state that the snapshot includes while the lock is held."""
        with self.lock:
            self.serial += 1
            self.latest = Picture(self.serial, self.newest, dict(self.received))
            return self.latest

    def begin(self) -> None:
        """Records that the Streamlit script begins a page, whose payloads include all events handled until now."""
        with self.lock:
            self.displayed = self.picture()
            self._listening = {}
            self.sent.clear()  # the browser will get the payloads of the script

    def end(self) -> None:
        """Removes the handlers of components that are not on the page that was just generated."""
        self.handlers = self._listening

    def listen(self, key: str, on_event: OnEvent | None) -> None:
        """Sets the handler of a component that is being mounted."""
        self.handlers[key] = self._listening[key] = on_event

    def receive(self, events: Iterable[tuple[str, Any]]) -> bool:
        """Passes each new event to its handler, once, in the order of the numbers; True if one was not repeated."""
        with self.lock:
            new = [(_number(event), key, event) for key, event in events
                   if key in self.handlers and _number(event) > self.received.get(key, 0)]
            new = sorted(new, key=lambda numbered: numbered[0])[:MAX_EVENTS]
            replaced = _replaced([event for _, _, event in new])
            for index, (number, key, event) in enumerate(new):
                if number <= self.received.get(key, 0):  # a message can contain an event twice
                    continue
                self.received[key] = number
                self.newest = max(number, self.newest)
                handler = self.handlers[key]
                if handler is not None and index not in replaced:
                    handler(event)
            return bool(new)


def _replaced(events: list[Any]) -> set[int]:
    """Returns the indices of the events that a later event of OPENING replaces."""
    replaced, later, opened = set(), False, 0
    for index in range(len(events) - 1, -1, -1):
        kind = events[index].get("type")
        if kind in TURNING:
            later = False
        elif kind in OPENING:
            if later or opened == MAX_OPENED:
                replaced.add(index)
            else:
                later, opened = True, opened + 1
    return replaced


def keyed(events: Iterable[Any]) -> list[tuple[str, Any]]:
    """Returns (component, event) pairs of a message's events."""
    return [(event["key"], event) for event in events if isinstance(event, dict) and isinstance(event.get("key"), str)]


def _number(event: object) -> int:
    """Returns the number of an event; 0 (never new) without a number. Browsers count exactly up to 2^53."""
    number = event.get("sequence") if isinstance(event, dict) else None
    return number if type(number) is int and number < 2 ** 53 else 0


def current() -> Channel:
    """Returns the channel of this thread: inside `use` its argument, else the channel of Streamlit's session."""
    channel = _current.get()
    if channel is not None:
        return channel
    import streamlit as st  # a notebook has no Streamlit, and does not call this function

    if SESSION_KEY not in st.session_state:
        st.session_state[SESSION_KEY] = Channel()
    return st.session_state[SESSION_KEY]


@contextlib.contextmanager
def use(channel: Channel) -> Iterator[None]:
    """Makes a channel the current channel of a thread that has no Streamlit session."""
    token = _current.set(channel)
    try:
        yield
    finally:
        _current.reset(token)
