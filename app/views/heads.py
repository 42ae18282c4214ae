"""The Heads page: compares measures of every head, over a corpus and on the input text.

The page also shows the roles of heads. Selecting points in the chart selects heads.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy
import streamlit as st
from numpy import ndarray

from app import compute, exports
from app.panels.measured import disagreement, measures, roles
from app.panels.page import frame
from app.panels.page.text import Reading
from app.panels.prompt import effect, heads
from app.state import session
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.state.pages.heads_view import MEASURES, SOURCES
from app.texts import N_, _, number, tip
from components.figure import figure, spec_of
from components.mounting import Part, mount
from figures.head_scatter import HeadPoint, head_points, head_scatter
from figures.squares import correlations
from models import Lab
from models.analysis.head_measures import spearman
from models.csv_table import records_to_csv
from models.plan import Address

# Streamlit replaces these names by chartCategoricalColors of .streamlit/config.toml in the page's theme.
PAGE_COLOURS = [f"#{number:06d}" for number in range(1, 9)]


# measure -> its term in the glossary
TERMS = {"confidence": "confidence", "relevance": "relevance", "loss": "loss_increase", "open": "open"}
# measure -> title of its axis, with the unit or the meaning of the numbers
AXES = {"confidence": N_("Confidence, largest weight of a query"), "relevance": N_("Relevance, share of its layer"),
        "loss": N_("Loss increase when pruned alone, nats"), "open": N_("P(gate open)")}


def page() -> None:
    frame.under_header(_draw, direct=DIRECT)


def depends(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    return state.hides_answer


def later(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the content of the charts, roles and pairs of heads; see frame.Direct.later."""
    state = state.for_model(lab.name)
    at = state.selection
    return (at.kind, at.layer, at.head), frozenset(state.plan.heads), reading.prompt, state.heads, state.term


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the heads and the effect of the plan. Streamlit displays the measures of the heads."""
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    notes = roles.badges(lab, measures.over_a_corpus(lab), state.heads.role)
    content = [heads.grid_part(lab, state, after, notes=notes, is_tall=True)]
    return content if state.hides_answer else [*content, effect.part(lab, state, before, after)]


DIRECT = frame.Direct(depends, parts, lambda *_given: [], later=later)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    st.caption(_("This page shows which heads do the work. Each point is a head: click it, then change the head with "
                 "the buttons below the tiles."))
    corpus_measures = measures.over_a_corpus(lab)
    _example(lab, corpus_measures)
    components = {part.key: part for part in parts(lab, reading, state)}
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    with st.container(key="heads-work"):  # for peek.js: one line while the panel is off screen
        left, right = st.columns([38, 62], gap="medium")
    with left:
        with st.container():  # also without roles, so that the tiles have a fixed place
            roles.explain_badges(lab, corpus_measures, state.heads.role)
        mount(components["heads"])
        effect.draw(lab, state, before, after)
        roles.draw(lab, corpus_measures, state)
    with right:
        source = state.heads.source if corpus_measures else "text"
        _choose(state, source, bool(corpus_measures))
        measured = measures.of_corpus(lab, corpus_measures) if source == "corpus" else measures.of_text(lab, before)
        _scatter(lab, state, measured.values)
        _correlations(lab, measured.values, measures.distances(lab, before) if source == "text" else None)
        _origin(lab, corpus_measures, source)
        disagreement.draw(lab, state, before)


def _example(lab: Lab, measured: dict[str, Any]) -> None:
    """Displays a button that prunes the head whose removal increases the loss most, if the losses were measured."""
    losses = measures.of_corpus(lab, measured).values.get("loss") if measured else None
    if losses is None or not numpy.isfinite(losses).any():
        return
    addresses = [address for kind in lab.kinds for address in kind.addresses]
    kind, layer, head = addresses[int(numpy.nanargmax(losses))]
    name = f"{layer + 1}.{head + 1}" if len(lab.kinds) == 1 else f"{_(lab.kind(kind).title)} {layer + 1}.{head + 1}"
    st.button(_("Example: prune head {head}, which increases the loss most when pruned alone (by {loss} nats)",
                head=name,
                loss=number(float(numpy.nanmax(losses)), "+.3f")), key="example-head",
              on_click=head_events.prune_alone, args=((kind, layer, head),))


def _choose(state: LabState, source: str, is_measured: bool) -> None:
    st.session_state[session.MEASURE_X] = state.heads.x
    st.session_state[session.MEASURE_Y] = state.heads.y
    st.session_state[session.MEASURED] = source
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(_("Measured on"), [*SOURCES] if is_measured else ["text"], key=session.MEASURED,
                             required=True, format_func=lambda measure: _(SOURCES[measure]),
                             label_visibility="collapsed",
                             on_change=head_events.on_heads_view)
        explained = "\n".join(f"- **{_(MEASURES[measure])}**: {tip(term)}" for measure, term in TERMS.items())
        for key, label in ((session.MEASURE_X, _("Horizontal axis")), (session.MEASURE_Y, _("Vertical axis"))):
            st.selectbox(label, [*MEASURES], key=key, format_func=lambda measure: _(MEASURES[measure]), width=228,
                         filter_mode=None, on_change=head_events.on_heads_view, help=explained)


def _scatter(lab: Lab, state: LabState, values: dict[str, ndarray]) -> None:
    """Displays one point per head. Selecting points picks heads, which can then be changed together."""
    x, y = state.heads.x, state.heads.y
    missing = [_(MEASURES[name]) for name in dict.fromkeys((x, y)) if name not in values]
    if missing:
        st.info(_("Not available for this model and text: {measures}.", measures=", ".join(missing)))
        return
    addresses = [address for kind in lab.kinds for address in kind.addresses]
    titles = {kind.name: _(kind.title) for kind in lab.kinds}
    names = [(f"{titles[kind]} " if len(lab.kinds) > 1 else "") + f"{layer + 1}.{head + 1}"
             for kind, layer, head in addresses]
    at = state.selection
    picked_indices = head_events.picked(addresses)
    groups = [(f"{titles[kind]}, " if len(lab.kinds) > 1 else "") + _("layer {layer}", layer=layer + 1)
              for kind, layer, _head in addresses]
    points = tuple(HeadPoint(name, group, round(one, 6), round(other, 6), address in state.plan.heads)
                   for name, group, one, other, address in zip(
                       names, groups, values[x].tolist(), values[y].tolist(), addresses, strict=True))
    axes, chosen = (_(AXES[x]), _(AXES[y])), addresses.index((at.kind, at.layer, at.head))
    title = _("{up} against {across} for every head", up=_(MEASURES[y]), across=_(MEASURES[x]))
    chart = head_scatter(points, *axes, chosen, picked_indices, theme=None)
    chart.update_layout(template="streamlit", colorway=PAGE_COLOURS)
    # Streamlit remounts a changed chart, so the key changes too, and the old selection is not restored.
    st.plotly_chart(chart, key=session.SCATTER, alt=title, on_select=partial(
        head_events.on_scatter, model=state.model, addresses=addresses), config={
            "displayModeBar": True, "scrollZoom": False, "toImageButtonOptions": {
                "format": "png", "scale": 2, "filename": exports.file_name(lab.name, "heads", "png")[:-4]}})
    figure(key="scatter files", spec=spec_of(head_points.spec(points, *axes, chosen, title)), title=title,
           models=[lab.name], what="heads", is_drawn=False)
    st.session_state[session.PICKED] = picked_indices
    st.multiselect(_("Picked heads"), range(len(addresses)), key=session.PICKED, format_func=names.__getitem__,
                   on_change=head_events.on_picked, args=(addresses,), help=_(
                       "Click a point to select its head. To pick several, choose the rectangle or the lasso above the "
                       "chart and draw around them."),
                   placeholder=_("Draw around points with the lasso above, or choose heads here"))
    picked = [addresses[place] for place in picked_indices]
    with st.container(horizontal=True, vertical_alignment="center", key="picked"):
        for label, change in ((_("Prune"), {"gate": 0.0}), (_("Constant"), {"constant": True}),
                              (_("Live"), {"constant": False, "gate": 1.0})):
            st.button(label, key=f"picked {sorted(change.items())}", on_click=head_events.set_heads,
                      args=(picked, change),
                      disabled=not picked or (bool(change.get("constant")) and lab.constant is None))


def _correlations(lab: Lab, values: dict[str, ndarray], distance: ndarray | None) -> None:
    """Displays the rank correlations of all measures, and a button that downloads the values."""
    names = [name for name in MEASURES if name in values]
    if len(names) > 1:
        st.markdown(_("**Rank correlations** (Spearman) of the measures over all {n} heads",
                      n=len(next(iter(values.values())))))
        title = _("Rank correlations of the measures")
        matrix = [[spearman(values[one], values[other]) for other in names] for one in names]
        figure(key="correlations", title=title, models=[lab.name], what="correlations",
               spec=spec_of(correlations.spec([_(MEASURES[name]) for name in names], matrix, title)))
    table = rows(lab, values, distance)
    st.download_button(_("Heads as CSV"), records_to_csv(table), exports.file_name(lab.name, "heads", "csv"),
                       "text/csv", on_click="ignore", icon=":material/download:")


def rows(lab: Lab, values: dict[str, ndarray], distance: ndarray | None) -> list[dict[str, Any]]:
    """Returns a table with one row per head."""
    addresses: Sequence[Address] = [address for kind in lab.kinds for address in kind.addresses]
    extra = {} if distance is None else {"distance": distance}
    return [{"kind": kind, "layer": layer + 1, "head": head + 1,
             **{name: round(float(column[i]), 5) for name, column in {**values, **extra}.items()}}
            for i, (kind, layer, head) in enumerate(addresses)]


def _origin(lab: Lab, measured: dict[str, Any], source: str) -> None:
    if source == "corpus":
        st.caption(_("Confidence, relevance and roles: {n} sentences of an English treebank. Loss increase: validation "
                     "texts of the model's task. To measure again: {command}", n=measured["sentences"],
                     command=f"`{measured['command']}`"))
    elif not numpy.all([kind.attention.is_distribution or kind.attention.has_sink for kind in lab.kinds]):
        st.caption(_("Confidence: rows of relu² are divided by their sum first."))
