"""What all components have in common: how they are registered, and how their events arrive."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import streamlit as st

FOLDER = Path(__file__).parent
MAX_EVENTS = 64  # of one message; the browser keeps fewer

# Streamlit sends a component's script with every change of its data, so all code lives in the library,
# which is sent once, and a component's own script only finds it there. See library/__init__.py.
_LOADER = """
const find = () => (globalThis.attentionLab ??= Promise.withResolvers()).promise;
export default component => {
  find().then(lab => lab.%(name)s.render(component));
  return () => find().then(lab => lab.%(name)s.unmount?.(component.parentElement));
};
"""

OnEvent = Callable[[dict[str, Any]], None]


def register(name: str) -> Callable[..., Any]:
    """A component's mount function; `lab.<name>` of the library draws it, <name>/<name>.css styles it.

    Call it once, while its module is imported.
    """
    css = (FOLDER / "shared.css").read_text("utf-8") + (FOLDER / name / f"{name}.css").read_text("utf-8")
    # Everything is drawn inside .root: the script may empty it, but must not touch Streamlit's style element.
    # It travels with every change of the data, so it is made short; one line would be taken for a path.
    css = re.sub(r"/\*.*?\*/|[^\S\n]+|\n\s*", " ", css, flags=re.DOTALL).replace("}", "}\n")
    html = f'<div class="root" data-part="{name}"></div>'
    return st.components.v2.component(f"attention_lab_{name}", html=html, css=css,
                                      js=_LOADER % {"name": name})


def received(key: str) -> int:
    """The sequence number of the last event that Python has seen from the component `key`."""
    return st.session_state.get(_sequence_key(key), 0)


def dispatch(key: str, on_event: OnEvent | None) -> Callable[[], None]:
    """The callback that hands each new event of the component `key` to `on_event`, once and in order.

    While a run is busy, Streamlit keeps only the last message of a component. So the browser repeats in each
    message what has not been acknowledged, and the sequence number tells what is new.
    """
    def receive() -> None:
        events = st.session_state[key].get("event")
        for event in events[:MAX_EVENTS] if isinstance(events, list) else []:
            number = event.get("sequence") if isinstance(event, dict) else None
            if type(number) is int and number > received(key):
                st.session_state[_sequence_key(key)] = number
                if on_event is not None:
                    on_event(event)
    return receive


def _sequence_key(key: str) -> str:
    return f"{key}: last event"
