"""A visitor's channel: it handles each event from the browser once and in order, and tracks what the browser shows."""

from __future__ import annotations

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, NamedTuple

SESSION_KEY = "channel"  # the key in Streamlit's session
MAX_EVENTS = 256  # events per message; the browser sends the remaining ones after the answer

OnEvent = Callable[[dict[str, Any]], None]

_current: ContextVar[Channel | None] = ContextVar("channel", default=None)


class Picture(NamedTuple):
    """The state that a page's payloads show, fixed before the page is drawn, because events can arrive meanwhile.

    Attributes:
        serial: number of the picture; a payload with a lower one is older.
        newest: number of the newest event that the picture includes, of any component.
        received: component -> number of the newest of its events that the picture includes.
    """

    serial: int
    newest: int
    received: dict[str, int]


@dataclass(eq=False)
class Channel:
    """The events and payloads of one visitor. A component is known by the `key` of its mount.

    Attributes:
        id: unguessable; names the visit in the address of the events route.
        newest: number of the newest event that was handled, of any component.
        received: component -> number of its newest handled event.
        handlers: component -> the function that handles its events.
        serial: number of the newest picture of the state.
        drawn: the picture that the Streamlit script drew last, or draws now.
        sent: component -> fingerprint of the payload that the events route sent last since the script began to draw,
            and its serial.
        direct: True if the events route answers on the page that is drawn.
        lock: held while the state changes, so that an event and a script run never change it at once.
    """

    id: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    newest: int = 0
    serial: int = 0
    received: dict[str, int] = field(default_factory=dict)
    handlers: dict[str, OnEvent | None] = field(default_factory=dict)
    sent: dict[str, tuple[bytes, int]] = field(default_factory=dict)
    drawn: Picture = Picture(0, 0, {})
    direct: bool = False
    lock: threading.RLock = field(default_factory=threading.RLock)
    _listening: dict[str, OnEvent | None] = field(default_factory=dict)

    def picture(self) -> Picture:
        """Returns a new picture. Read the state that it shows while the lock is held."""
        with self.lock:
            self.serial += 1
            return Picture(self.serial, self.newest, dict(self.received))

    def begin(self) -> None:
        """Begins to draw a page by the Streamlit script."""
        with self.lock:
            self.drawn = self.picture()
            self._listening = {}
            self.sent.clear()  # the browser will have the script's payloads

    def end(self) -> None:
        """Forgets the handlers of components that the page just drawn does not have."""
        self.handlers = self._listening

    def listen(self, key: str, on_event: OnEvent | None) -> None:
        """Sets the handler of a component that is being drawn."""
        self.handlers[key] = self._listening[key] = on_event

    def receive(self, events: Iterable[tuple[str, Any]]) -> None:
        """Hands each new event to its component's handler, once and in order of number.

        The browser repeats unacknowledged events, so an event may arrive several times.

        Args:
            events: (component, event); an event without a number, or of an unknown component, is dropped.
        """
        with self.lock:
            new = [(_number(event), key, event) for key, event in events
                   if key in self.handlers and _number(event) > self.received.get(key, 0)]
            for number, key, event in sorted(new, key=lambda numbered: numbered[0])[:MAX_EVENTS]:
                if number <= self.received.get(key, 0):  # a message can contain an event twice
                    continue
                self.received[key] = number
                self.newest = max(number, self.newest)
                handler = self.handlers[key]
                if handler is not None:
                    handler(event)


def _number(event: object) -> int:
    """Returns the number of an event; 0, which is never new, if there is none. Browsers count exactly up to 2^53."""
    number = event.get("sequence") if isinstance(event, dict) else None
    return number if type(number) is int and number < 2 ** 53 else 0


def current() -> Channel:
    """Returns the channel of this thread's visitor: the argument of `use` inside it, else the session's channel."""
    channel = _current.get()
    if channel is not None:
        return channel
    import streamlit as st  # a notebook has no Streamlit, and does not call this function

    if SESSION_KEY not in st.session_state:
        st.session_state[SESSION_KEY] = Channel()
    return st.session_state[SESSION_KEY]


@contextlib.contextmanager
def use(channel: Channel) -> Iterator[None]:
    """Makes this the current channel of a thread that has no Streamlit session."""
    token = _current.set(channel)
    try:
        yield
    finally:
        _current.reset(token)
