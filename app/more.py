"""What stands beside and below the main work: the continuation, entropy against n, the model's card."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import streamlit as st
from streamlit.errors import StreamlitAPIException

from app.state import LabState
from app.text import Reading
from components.charts import entropy_chart
from models import HeadPlan, Lab, Trace
from models.trace import entropy, generate

TOKENS = 28  # of a continuation: both fit beside the map
CHUNK = 0.15  # seconds of generating between two looks at what the visitor does
SECTIONS = ("Entropy", "Model card")


@dataclass
class Continuation:
    """A text that is being generated, once as trained and once under a plan."""

    key: tuple
    running: bool = True
    trained: str = ""
    planned: str = ""
    steps: list[Iterator[str]] = field(default_factory=list)


@st.fragment
def continuation(lab: Lab, reading: Reading, state: LabState) -> None:
    """Writes on from the text, a token at a time. A run of a fragment is never interrupted, so it works in
    short chunks: between two of them clicks and keys get through, Stop among them."""
    if lab.task.name != "stories":
        return
    prompt = reading.prompt
    key = (lab.name, prompt, state.plan)
    now: Continuation | None = st.session_state.get("continuation")
    if now is not None and now.key != key:
        now = st.session_state.continuation = None
    running = now is not None and now.running

    def start_or_stop() -> None:
        if running:
            now.running = False
        else:
            fresh = Continuation(key)
            fresh.steps = [generate(lab, prompt, HeadPlan(), TOKENS), generate(lab, prompt, state.plan, TOKENS)]
            st.session_state.continuation = fresh

    reason = None
    if reading.error is not None:
        reason = "The text cannot be read"
    elif len(prompt.ids) >= lab.task.limit:
        reason = f"The text already has the {lab.task.limit} tokens that this model reads at most"
    st.button("Stop" if running else "Continue the text", key="continue", on_click=start_or_stop,
              disabled=reason is not None, help=reason)
    with st.container(height=190, border=False):
        trained, planned = st.empty(), st.empty()
        _show(now, trained, planned, bool(state.plan))
        if not running:
            return
        until = time.perf_counter() + CHUNK
        while now.running and time.perf_counter() < until:
            now.running = _step(now, bool(state.plan))
        _show(now, trained, planned, bool(state.plan))
    try:
        st.rerun(scope="fragment")
    except (StreamlitAPIException, RuntimeError):  # the whole page was running, or the fragment around this one
        st.rerun()


def _step(now: Continuation, changed: bool) -> bool:
    """One token of each text; False when both have ended."""
    first = next(now.steps[0], None)
    now.trained += first or ""
    second = next(now.steps[1], None) if changed else None
    now.planned += second or ""
    return first is not None or second is not None


def _show(now: Continuation | None, trained: st.delta_generator.DeltaGenerator,
          planned: st.delta_generator.DeltaGenerator, changed: bool) -> None:
    if now is None:
        trained.caption("The most probable next words, as trained and under your plan.")
        return
    trained.text(f"As trained: …{_line(now.trained)}")
    if changed:
        planned.text(f"Under the plan: …{_line(now.planned)}")


def _line(text: str) -> str:
    """The text without its line breaks, which would make two continuations taller than their place."""
    return " ".join(text.split("\n"))


def below(lab: Lab, state: LabState, before: Trace, after: Trace) -> None:
    """What needs no second look at every click: drawn only while its section is open."""
    section = st.segmented_control("More", SECTIONS, key="section", label_visibility="collapsed")
    if section == "Entropy":
        _entropy(state, before, after)
    elif section == "Model card":
        _card(lab)


def _entropy(state: LabState, before: Trace, after: Trace) -> None:
    layer, head = state.selection.layer, state.selection.head
    st.markdown(f"**Entropy against n**, all heads of layer {layer + 1}; n is the number of keys that a query sees. "
                "Dotted: ln n, the most there can be. A scale of log n aims to keep a head's entropy from growing "
                "with n (Su Jianlin); the effect panel shows what that does to the prediction.")
    st.altair_chart(entropy_chart(entropy(before.weights["self"][layer]), entropy(after.weights["self"][layer]),
                                  head, bool(state.plan)))


def _card(lab: Lab) -> None:
    card = lab.card
    facts, training = card["model"], card["training"]
    st.markdown(f"**{card['name']}** · {card['attention']['title']} attention: {card['attention']['formula']} "
                f"({card['attention']['source']})  \n"
                f"{facts['parameters']:,} parameters, {facts['layers']} layers of {facts['heads']} heads, width "
                f"{facts['width']}, {facts['vocabulary']} tokens.  \n"
                f"Trained for {training['steps']:,} steps of {training['texts_per_step']} texts, seed "
                f"{training['seed']}, {training['minutes']} minutes: `{training['command']}`")
    st.json(card, expanded=1)
