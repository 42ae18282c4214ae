"""The Explore page: text above; all heads, one head or a section in its place, and the effect of the plan."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import compute
from app.compute import Seen
from app.panels.page import frame, sections
from app.panels.page.text import Reading
from app.panels.prompt import continuation, effect, export, forgetting, heads, picture, sampling, translation
from app.state.lab_state import LabState
from models import Lab


def page() -> None:
    drawn = frame.under_header(_draw)
    if drawn is not None:
        place, lab, reading, state = drawn
        with place:  # last: while it writes, it ends the run to begin the next
            continuation.draw(lab.name, reading, state)


def _draw(lab: Lab, reading: Reading, state: LabState) -> tuple[DeltaGenerator, Lab, Reading, LabState]:
    """All but the continuation: returns its place and what it continues."""
    state = state.alone(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    said = st.container() if translation.is_offered(before) else None
    with st.container(key="work"):  # style.css: where there is no room for three, the effect stands under the heads
        widths = [35, 38, 27] if state.teach else [32, 40, 28]  # whose gaps are larger; tiles are not smaller
        grid, middle, panel = st.columns(widths, gap="medium")
    with grid:
        heads.grid(lab, state, after, files=True)
    with middle:
        section = sections.choose(lab, state, after)
        if section:
            sections.draw(section, lab, state, before, after)
        else:
            _large(lab, reading, state, after)
        with st.container(key="writing"):  # style.css: the button first, what it writes below all of them
            place = st.container(key="goes-on")
            sampling.choose(lab, state, can_go_on=continuation.refusal(lab, reading) is None)
            forgetting.choose(lab, state)
    with panel:
        effect.draw(lab, state, before, after)
    if said is not None:
        with said:
            translation.draw(lab, state, before, after)
    export.draw(lab, state, after, reading.prompt.read_chars)
    return place, lab, reading, state


def _large(lab: Lab, reading: Reading, state: LabState, after: Seen) -> None:
    """The selected head's picture, and what has to be said of it."""
    heads.large(lab, state, after)
    # A place of their own: with a note that comes and goes, what follows would change its place on the page, and while
    # quick clicks overtake each other the browser would be told to draw into one that is not there.
    with st.container():
        heads.notes(lab, state)
    if lab.task.sees:
        kind, layer, head = heads.selected(lab, state)
        maps = compute.layer_of(lab, after, state.plan, kind.name, layer)
        picture.overlay(reading.prompt, maps.weights[head])
