"""The sections that can replace the large attention map (SECTIONS in app/state/lab_state.py)."""

from __future__ import annotations

import streamlit as st

from app import compute
from app.compute import AnyTrace
from app.markdown import plain
from app.panels.answer import pair, why, writers
from app.panels.choice import card
from app.panels.measured import elsewhere
from app.panels.prompt import gates, minimal_heads, zoom
from app.panels.prompt.heads import selected
from app.panels.writing import forgetting
from app.state import session
from app.state.handlers import events
from app.state.lab_state import HEAD, SECTION_GROUPS, SECTIONS, LabState
from app.texts import N_, _, tip
from components.figure import figure, spec_of
from components.mounting import Part
from figures.curves.lengths import entropy_of_heads
from models import HeadPlan, Lab
from models.capabilities import Forgets
from models.storage.checkpoint import CheckpointError
from models.trace import row_entropy

NAMES = {HEAD: N_("Head"), **SECTIONS}
GROUPS = {"see": N_("See"), "explain": N_("Explain"), "experiment": N_("Experiment")}
LIVE = {"writers": writers.part, "pair": pair.part, "why": why.part}  # sections that the events route can update


def present(lab: Lab, state: LabState, trace: AnyTrace) -> str:
    """Returns the section that replaces the large map."""
    return state.section if state.section in _offered(lab, trace) else ""


def _offered(lab: Lab, trace: AnyTrace) -> list[str]:
    offered = {"gates": gates.offered(trace), "memory": isinstance(lab, Forgets) and lab.can_forget,
               "card": bool(lab.card),
               "elsewhere": elsewhere.is_offered(lab)}
    offered |= dict.fromkeys(LIVE, bool(trace.outputs))
    offered["why"] = why.is_offered(lab, trace)
    return [name for name in NAMES if offered.get(name, True)]


def choose(lab: Lab, state: LabState, trace: AnyTrace) -> str:
    """Displays the choice of the section: one list, in which each section follows the name of its group.

    The list is closed, so that the words of the map are near the top of the screen.
    """
    section = present(lab, state, trace)
    offered = _offered(lab, trace)
    with st.container(key="sections"):
        st.session_state[session.SECTION] = section or HEAD
        labels = {name: name_of(name) for names in SECTION_GROUPS.values() for name in names if name in offered}
        st.selectbox(_("Panel"), labels, format_func=labels.__getitem__, key=session.SECTION,
                     on_change=events.on_section, label_visibility="collapsed", filter_mode=None)
    return section


def name_of(section: str) -> str:
    """Returns the name of a section in the list, after the name of its group."""
    group = next(group for group, names in SECTION_GROUPS.items() if section in names)
    return _("{group}: {section}", group=_(GROUPS[group]), section=_(NAMES[section]))


def part(section: str, lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part | None:
    """Returns a section as one component; None if it consists of Streamlit elements. Arguments as in `draw`."""
    return LIVE[section](lab, state, before, after) if section in LIVE else None


def draw(section: str, lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> None:
    """Displays a section."""
    if section == "needs":
        minimal_heads.draw(lab, state, before.prompt, before)
    elif section == "entropy":
        _entropy(lab, state, before, after)
    elif section == "gates":
        gates.section(lab, state, after)
    elif section == "memory":
        forgetting.section(lab)
    elif section == "elsewhere":
        elsewhere.draw(lab, state)
    elif section == "zoom":
        zoom.section(lab, state, after)
    else:
        try:
            card.draw(card.card_of(lab.name))
        except CheckpointError as error:
            st.error(plain(_(str(error))))


def _entropy(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> None:
    kind, layer, head = selected(lab, state)
    if kind.causal:
        text = _("**Entropy against n**, all heads of layer {layer}; n is the number of keys that a query sees. The "
                 "scale log n, entropy-invariant softmax (Su Jianlin), is meant to keep a head's entropy from growing "
                 "with n; the effect panel shows how it changes the prediction. The page *Length* shows longer texts.",
                 layer=layer + 1)
    else:
        text = _("**Entropy of each query's row**, all heads of layer {layer}; every query sees all n keys. The scale "
                 "log n, entropy-invariant softmax (Su Jianlin), is meant to keep a head's entropy from growing with "
                 "n; the effect panel shows how it changes the prediction. The page *Length* shows longer texts.",
                 layer=layer + 1)
    st.markdown(text, help=tip("entropy"))
    trained, planned = (row_entropy(compute.layer_of(lab, seen, plan, kind.name, layer).weights)
                        for seen, plan in ((before, HeadPlan()), (after, state.plan)))
    last = ", ".join(_("head {number} {nats:.2f}", number=number, nats=nats)
                     for number, nats in enumerate(planned[:, -1], 1))
    spec = entropy_of_heads.spec(trained, planned if state.plan else None, kind.causal, head)
    figure(key="entropy of heads", spec=spec_of(spec),
           title=_("Entropy of each row, layer {layer}, nats", layer=layer + 1), models=[lab.name],
           what=f"entropy-layer-{layer + 1}",
           alt=_("Entropy of the last query in layer {layer}, nats: {last}", layer=layer + 1, last=last))
