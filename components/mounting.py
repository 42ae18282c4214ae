"""Registers components, mounts them in a Streamlit page, and acknowledges their events."""

import functools
import hashlib
import json
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from numpy import ndarray

from app import texts
from components import channel
from components.channel import MAX_EVENTS, OnEvent
from components.payload import pack

FOLDER = Path(__file__).parent
STYLE_ID = "attention-lab-style"  # id of the element with the style sheet, as in components/runtime/streamlit.js

WITH_FIGURE = ("findings",)  # components that contain a chart of components/figure
ADDED = ("training", "matrix")  # their style is applied after that of another component (components/main.js)

# Streamlit sends a component's script and style with every change of its data. Therefore all code and all styles are in
# the library, which is sent once per session (library.py). A component's own script only calls the library.
_LOADER = """
const find = () => (globalThis.attentionLab ??= Promise.withResolvers()).promise;
export default component => {
  find().then(library => library.render('%(name)s', component));
  return () => find().then(library => library.unmount('%(name)s', component.parentElement));
};
"""

Content = tuple[dict[str, Any], dict[str, ndarray]]  # content of a component: a JSON header, and arrays by name
FIELD, ARRAY = "field", "array"
Name = tuple[str, str]  # (FIELD, name of a field of the header) or (ARRAY, name of an array)


@dataclass(frozen=True, eq=False)
class Part:
    """The content of one component of a page, before it is sent.

    In the browser, the component of components/main.js displays it, with the style sheets in its folder.
    """

    component: str  # name of the component, as in components/main.js
    key: str  # key of the component's mount on the page
    # header and arrays: see `pack`
    header: dict[str, Any]
    arrays: dict[str, ndarray] = field(default_factory=dict)
    # called with each event of the component, which the browser sends and which must be checked
    on_event: OnEvent | None = None

    def payload(self, changes: Collection[Name] | None = None) -> bytes:
        """Returns a payload for the events route: everything, or `changes`, which the browser replaces or removes."""
        header: dict[str, Any] = {"key": self.key}
        if changes is None:
            return pack(header | self.header, self.arrays)
        header |= {name: value for name, value in self.header.items() if (FIELD, name) in changes}
        gone = [[where, name] for where, name in changes if (where, name) not in self.fingerprints]
        return pack(header | {"changes": gone},
                    {name: array for name, array in self.arrays.items() if (ARRAY, name) in changes})

    @functools.cached_property
    def fingerprints(self) -> dict[Name, bytes]:
        """A hash of each field of the header and of each array."""
        return {(FIELD, name): _hash(json.dumps(value).encode()) for name, value in self.header.items()} | {
            (ARRAY, name): _hash(str((array.dtype.name, array.shape)).encode() + array.tobytes())
            for name, array in self.arrays.items()}


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=8).digest()


@functools.cache
def _registered(name: str) -> Any:
    """Returns Streamlit's function that mounts a component. Notebooks use components without Streamlit."""
    import streamlit as st

    html = f'<div class="root" data-part="{name}"></div>'  # the component creates its elements inside this element
    return st.components.v2.component(f"attention_lab_{name}", html=html, js=_LOADER % {"name": name})


def mount(part: Part) -> None:
    """Mounts a part in the Streamlit page that is being generated."""
    now = channel.current()
    now.listen(part.key, part.on_event)
    _registered(part.component)(key=part.key, data=pack({**part.header, **answer(part.key)}, part.arrays),
                                on_event_change=dispatch(part.key))


def styles() -> dict[str, str]:
    """Returns the style sheet of each component, without comments and line breaks."""
    sheets: dict[str, str] = {}
    for path in sorted(FOLDER.glob("*/*.css")):
        name = path.parent.name
        start = "" if name in ADDED else (FOLDER / "theme.css").read_text("utf-8")
        if name in WITH_FIGURE:
            start += (FOLDER / "figure" / "figure.css").read_text("utf-8")
        sheets[name] = sheets.get(name, start) + path.read_text("utf-8")
    return {name: _short(sheet) for name, sheet in sheets.items()}


@functools.cache
def page_style() -> str:
    """Returns assets/style.css, which styles Streamlit's own elements, without comments and line breaks."""
    return _short((FOLDER.parent / "assets" / "style.css").read_text("utf-8"))


def style_element() -> str:
    """Returns `page_style` as an HTML element, which app/host.py inserts into the page before its first paint.

    If the page lacks this element, or has it from an earlier version of the app, the library adds or replaces it
    (components/runtime/streamlit.js).
    """
    return f'<style id="{STYLE_ID}">{page_style()}</style>'


def _short(css: str) -> str:
    return re.sub(r"/\*.*?\*/|\s+", " ", css, flags=re.DOTALL)


def answer(key: str) -> dict[str, Any]:
    """Returns the part of each payload's header that acknowledges events.

    `sequence` and `answered` are the newest events of this and of any component that the payload includes, `serial` the
    state's snapshot, `direct` True if events are sent to the events route.
    """
    now = channel.current()
    return {"key": key, "sequence": now.displayed.received.get(key, 0), "answered": now.displayed.newest,
            "visit": now.id,
            "serial": now.displayed.serial, "direct": now.direct,
            "language": texts.language()}


def dispatch(key: str) -> Callable[[], None]:
    """Returns the callback for messages of `key`, each with all open events: Streamlit keeps only the last one."""
    now = channel.current()

    def receive() -> None:
        now.receive(_events(key))
    return receive


def _events(key: str) -> list[tuple[str, Any]]:
    """Returns (component, event) pairs of a component's last message; empty if the component has left the page."""
    import streamlit as st

    value = st.session_state.get(key)
    events = value.get("event") if isinstance(value, dict) else None
    return channel.keyed(events[:MAX_EVENTS]) if isinstance(events, list) else []
