"""What all components have in common: how they are registered, how their events arrive, what a payload answers."""

from __future__ import annotations

import functools
import re
import secrets
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

from app import texts

FOLDER = Path(__file__).parent
MAX_EVENTS = 256  # that are taken from one message; the browser sends no more at a time, and the rest after the answer

# Keys of Streamlit's session.
_NEWEST, _VISIT, _TEXT, _HEARING = (
    "components: newest event", "components: visit", "components: text", "components: hearing")

# Streamlit sends a component's script and style with every change of its data. So all code and all styles live in the
# library, which is sent once per visit (library/__init__.py), and a component's own script only calls the library.
_LOADER = """
const find = () => (globalThis.attentionLab ??= Promise.withResolvers()).promise;
export default component => {
  find().then(library => library.render('%(name)s', component));
  return () => find().then(library => library.unmount('%(name)s', component.parentElement));
};
"""

OnEvent = Callable[[dict[str, Any]], None]


def register(name: str) -> Callable[..., Any]:
    """A component's mount function; `name` of components/main.js draws it, the sheets of its folder style it.

    Call it once, while its module is imported.
    """
    html = f'<div class="root" data-part="{name}"></div>'  # all is drawn inside: the script may empty it
    return st.components.v2.component(f"attention_lab_{name}", html=html, js=_LOADER % {"name": name})


def styles() -> dict[str, str]:
    """Component -> its style sheet, made short."""
    shared = (FOLDER / "shared.css").read_text("utf-8")
    sheets: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*/*.css")):
        sheets[path.parent.name] = sheets.get(path.parent.name, shared) + path.read_text("utf-8")
    return {name: _short(its) for name, its in sheets.items()}


@functools.cache
def page_style() -> str:
    """What styles Streamlit's own elements, assets/style.css, as an element; it travels with every run."""
    return f"<style>{_short((FOLDER.parent / 'assets' / 'style.css').read_text('utf-8'))}</style>"


def _short(css: str) -> str:
    return re.sub(r"/\*.*?\*/|\s+", " ", css, flags=re.DOTALL)


def answering(text: str | None) -> None:
    """Says what text this run's numbers are about, as it stands in the box whose widget has the key `text`.

    Call it before the components are drawn, for a text that cannot be read too: until an answer to what is typed
    arrives, the numbers of all components look old. None: there is no such box.
    """
    st.session_state[_TEXT] = None if text is None else fingerprint(text)
    st.session_state[_HEARING] = {}  # those of this page follow; what an older page's hold is free


def fingerprint(text: str) -> str:
    """What payloads name a text by: its length in UTF-16 units and their CRC-32, as the browser counts them."""
    units = text.encode("utf-16-le", "surrogatepass")
    return f"{len(units) // 2}-{zlib.crc32(units)}"


def answer(key: str) -> dict[str, Any]:
    """What a payload of the component `key` answers; part of each header.

    sequence: the last event that Python has seen from this component; answered: from any of them; visit: a number
    that tells this session from another one; text: of `answering`; language: of all its texts.
    """
    return {"sequence": received(key), "answered": st.session_state.get(_NEWEST, 0),
            "visit": st.session_state.setdefault(_VISIT, secrets.randbits(32)), "text": st.session_state.get(_TEXT),
            "language": texts.language()}


def received(key: str) -> int:
    """The sequence number of the last event that Python has seen from the component `key`."""
    return st.session_state.get(_sequence_key(key), 0)


def dispatch(key: str, on_event: OnEvent | None) -> Callable[[], None]:
    """The callback that hands each new event of the component `key` to `on_event`, once and in order.

    While a run is busy, Streamlit keeps only the last message of a component. So the browser repeats in each
    message what has not been acknowledged, and the sequence number tells what is new. What arrives when its page
    has gone finds no value any more, and is dropped.

    Of the messages that came while a run was busy, Streamlit calls the older ones' callbacks last: an undo would come
    before what it undoes. So the first that is called hands on the events of all components.
    """
    st.session_state.setdefault(_HEARING, {})[key] = on_event

    def receive() -> None:
        hearing: dict[str, OnEvent | None] = {**st.session_state.get(_HEARING, {}), key: on_event}
        new = [(_number(event), name, event) for name in hearing for event in _new(name)]
        for number, name, event in sorted(new, key=lambda one: one[0]):
            if number <= received(name):  # twice in one message
                continue
            st.session_state[_sequence_key(name)] = number
            st.session_state[_NEWEST] = max(number, st.session_state.get(_NEWEST, 0))
            hear = hearing[name]
            if hear is not None:
                hear(event)
    return receive


def _new(key: str) -> list[dict[str, Any]]:
    """The events of a component's message that Python has not seen."""
    value = st.session_state.get(key)
    events = value.get("event") if isinstance(value, dict) else None
    if not isinstance(events, list):
        return []
    newest = received(key)
    return [event for event in events[:MAX_EVENTS] if _number(event) > newest]


def _number(event: object) -> int:
    """An event's number; 0, which is never new, if it has none. Browsers count exactly up to 2^53."""
    number = event.get("sequence") if isinstance(event, dict) else None
    return number if type(number) is int and number < 2 ** 53 else 0


def _sequence_key(key: str) -> str:
    return f"{key}: last event"
