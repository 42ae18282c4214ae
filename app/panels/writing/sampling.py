"""The sampling settings of the continuation: greedy decoding, or temperature, top-p and seed."""

from __future__ import annotations

import streamlit as st

from app.state import session
from app.state.handlers import events
from app.state.lab_state import LabState
from app.texts import _
from models import Lab
from models.generate.sampling import MAX_SEED, MAX_TEMPERATURE, MIN_TOP_P


def choose(lab: Lab, state: LabState, can_go_on: bool) -> None:
    """Displays a button that shows and opens the sampling settings, and a button for the next seed."""
    if not lab.task.writes:
        return
    sampling = state.sampling
    if sampling.is_greedy:
        label = _("The likeliest words")
    else:
        label = _("Drawn with seed {seed}", seed=sampling.seed)
    place = st.popover(label, key=session.SAMPLING, on_change="rerun", width="content")
    st.button(_("Another seed"), key="another", on_click=events.draw_another, icon=":material/casino:",
              disabled=sampling.is_greedy or not can_go_on, help=_("Continues the text with another random seed"))
    if place.open:  # the content of a closed dialog is not sent with every click
        with place:
            _details(state)


def _details(state: LabState) -> None:
    sampling = state.sampling
    st.session_state[session.GREEDY] = sampling.is_greedy
    st.checkbox(_("Always the likeliest token"), key=session.GREEDY, on_change=events.on_greedy)
    if not sampling.is_greedy:
        st.session_state[session.TEMPERATURE] = sampling.temperature
        st.session_state[session.TOP_P] = sampling.top_p
        st.session_state[session.SEED] = sampling.seed
        st.slider(_("Temperature"), 0.05, MAX_TEMPERATURE, step=0.05, key=session.TEMPERATURE,
                  on_change=events.on_sampling, help=_("Below 1, likely tokens are drawn more often than their "
                                                       "probability; above 1, less often"))
        st.slider(_("Top-p"), MIN_TOP_P, 1.0, step=0.05, key=session.TOP_P, on_change=events.on_sampling,
                  help=_("Only the likeliest tokens are drawn, until their probabilities sum to this value"))
        st.number_input(_("Seed"), 0, MAX_SEED, key=session.SEED, on_change=events.on_sampling)
    st.caption(_("Both texts are drawn with the same random numbers, so with the same seed they differ only because of "
                 "your changes."))
