"""The Explore page: the text, all heads, the selected head (or a section in its place), and the plan's effect."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import replace
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import compute
from app.compute import AnyTrace
from app.panels.answer import pair, writers
from app.panels.page import frame, sections
from app.panels.page.text import Reading
from app.panels.prompt import effect, export, finding, heads, picture
from app.panels.writing import continuation, forgetting, sampling, translation
from app.state import visit
from app.state.lab_state import WRITERS, LabState
from components.mounting import Part, mount
from models import Lab


def page() -> None:
    displayed = frame.under_header(_draw, direct=DIRECT)
    if displayed is not None:
        place, lab = displayed
        with place:  # the continuation is displayed last: during generation it ends the run to begin the next run
            continuation.draw(lab.name)


def depends(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    before, after = compute.traces_of(lab, reading.prompt, state.for_model(lab.name).plan)
    return (sections.present(lab, state, after), state.hides_answer,
            translation.is_offered(before), visit.current().download)


def later(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the content of section, continuation and settings; see frame.Direct.later."""
    now = visit.current()
    after = compute.traces_of(lab, reading.prompt, state.for_model(lab.name).plan)[1]
    is_drawn = sections.present(lab, state, after) not in ("", *sections.LIVE)  # by Streamlit
    return (is_drawn and (state, reading.prompt), state.sampling, state.budgets,
            lab.task.writes and continuation.refusal(lab, reading),
            now.continuation and continuation.key_of(reading, state))


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the page's components, except `late_parts`."""
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    state = _with_prediction(lab, state, before, after)
    notes, find = finding.search(lab, state, after)
    section = sections.present(lab, state, after)
    if section == WRITERS and not state.find:
        notes = writers.notes(lab, state, before, after)
    content = [heads.grid_part(lab, state, after, files=True, notes=notes, find=find)]
    middle = sections.part(section, lab, state, before, after)
    if not section:
        middle = heads.large_part(lab, state, before, after)
    if middle is not None:
        content.append(middle)
    if not state.hides_answer:
        content.append(effect.part(lab, state, before, after))
    return content


def late_parts(lab: Lab, reading: Reading, state: LabState) -> list[Callable[[], Part]]:
    """Returns functions that create the components which take longer than the attention maps: the translation."""
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    return [partial(translation.part, lab, state, before, after)] if translation.is_offered(before) else []


DIRECT = frame.Direct(depends, parts, late_parts, later=later)


def _draw(lab: Lab, reading: Reading, state: LabState) -> tuple[DeltaGenerator, Lab]:
    """Displays everything except the continuation; returns the container for the continuation, and the model."""
    components = {part.key: part for part in parts(lab, reading, state)}
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    top = st.container()  # for the translation; without one, it stays empty, so that the page below does not move
    with st.container(key="work"):  # style.css puts the effect below the heads on a narrow screen
        # large type has larger gaps, so other widths keep the size of the tiles
        widths = [35, 38, 27] if state.teach else [32, 40, 28]
        grid, middle, panel = st.columns(widths, gap="medium")
    with grid:
        mount(components["heads"])
    with middle:
        section = sections.choose(lab, state, after)
        if section in sections.LIVE:
            mount(components[section])
        elif section:
            sections.draw(section, lab, state, before, after)
        else:
            mount(components["map"])
            _overlay(lab, reading, state)
        with st.container(key="writing"):  # style.css places the button first and its output below all other elements
            place = st.container(key="goes-on")
            sampling.choose(lab, state, can_go_on=continuation.refusal(lab, reading) is None)
            forgetting.choose(lab, state)
    state = _with_prediction(lab, state, before, after)
    with panel:
        effect.draw(lab, state, before, after)
    with top:
        if translation.is_offered(before):
            for make in late_parts(lab, reading, state):
                mount(make())
    export.draw(lab, state, after, reading.prompt.read_chars)
    return place, lab


def _with_prediction(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> LabState:
    """Returns the state with the index of the prediction that is shown."""
    if sections.present(lab, state, after) == "pair":
        state = replace(state, prediction=pair.shown_index(lab, state, before))
    return replace(state, prediction=effect.shown_index(state, before, after))


def _overlay(lab: Lab, reading: Reading, state: LabState) -> None:
    """Displays the picture of a vision model, below the map of the selected head."""
    if lab.task.sees:
        kind, layer, head = heads.selected(lab, state)
        after = compute.traces_of(lab, reading.prompt, state.plan)[1]
        maps = compute.layer_of(lab, after, state.plan, kind.name, layer)
        picture.overlay(reading.prompt, maps.weights[head])
