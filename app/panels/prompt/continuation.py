"""The continuation of the text: by the unmodified model, under the plan, and with limited memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.errors import StreamlitAPIException

from app import compute
from app.panels.page import text
from app.panels.page.text import Reading
from app.panels.prompt import forgetting
from app.server import limits, serving
from app.state import session, visit, visitor_models
from app.state.lab_state import LabState
from app.texts import _
from models import HeadPlan, Lab
from models.generate.decoding import Step
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

MOST = 128  # maximum number of tokens of a continuation
CHUNK = 0.15  # seconds of generation per run of the fragment
# height in pixels of the first two texts together, and of the text with limited memory
HEIGHT, MEMORY_HEIGHT = 376, 182  # six whole lines of each text
LABEL = 28  # height in pixels of a text's label, which does not scroll
GAP = 8  # gap in pixels between two texts


@dataclass
class Continuation:
    """The generated texts and their generators.

    Attributes:
        key: everything that the continuation depends on.
        count: maximum number of new tokens.
        trained: new text of the unmodified model.
        planned: new text under the plan.
        remembered: steps with limited memory, under the plan as well: prompt and new tokens; only the last step stores
            the tokens that each layer keeps.
        steps: generator for `trained` and, with a plan, for `planned`.
        memory: generator for `remembered`; None without a memory limit.
        began: time of the start, by perf_counter.
        done: number of generated tokens.
        refused: why the generation did not start; empty if it did.
        lock: held during a step. A session's old script thread may still run while the next one has begun, and a
            generator cannot run twice at once.
    """

    key: tuple
    count: int
    running: bool = True
    trained: str = ""
    planned: str = ""
    remembered: list[Step] = field(default_factory=list)
    steps: list[Iterator[str]] = field(default_factory=list)
    memory: Iterator[Step] = field(default_factory=lambda: iter(()))
    began: float = field(default_factory=time.perf_counter)
    done: int = 0
    refused: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def left(self) -> float:
        """Estimated seconds until the last token, at the average speed so far; a text can end earlier."""
        return (time.perf_counter() - self.began) / max(1, self.done) * max(0, self.count - self.done)


@st.fragment
def draw(model: str) -> None:
    """Draws the continuation of the present text and generates it in short chunks.

    Streamlit does not interrupt a run of a fragment; clicks and keys, including Stop, are handled between two chunks.
    Each run reads the current state, because the events route changes it between runs.

    Args:
        model: name of the model. The model itself would stay in memory, because Streamlit stores a fragment's arguments
            with the session.
    """
    session.speak()
    this = visit.current()
    try:
        lab = visitor_models.opened(model)
    # the model was evicted since the page was drawn; the page shows an error when it is drawn again
    except (CheckpointError, ForeignError):
        st.rerun()
    if not lab.task.writes:
        return
    state, reading = this.history.present.for_model(model), text.read(lab, this.history, this.history.present.text)
    key = key_of(reading, state)
    now: Continuation | None = this.continuation
    if now is not None and now.key != key:
        now = this.continuation = None
    running = now is not None and now.running

    def start_or_stop() -> None:
        if now is not None and running:
            now.running = False
        else:
            this.begin_writing = True

    reason = refusal(lab, reading)
    # the continuation starts by the button, or with another seed or memory
    begins, this.begin_writing = this.begin_writing, False
    if begins and reason is None:
        now = this.continuation = _begun(lab, key)
        running = now.running
    st.button(_("Stop") if running else _("Continue the text"), key="continue", on_click=start_or_stop,
                  disabled=reason is not None and not running, help=None if running else reason)
    if now is None:
        with st.container(height=HEIGHT + (MEMORY_HEIGHT if state.budgets else 0), border=False):
            st.caption(_("How the model continues the text, unmodified and with your changes."))
        return
    places = _places(bool(state.plan), bool(state.budgets), running)
    _show(now, places, state)
    if not running:
        return
    until = time.perf_counter() + CHUNK
    with serving.computing():
        while now.running and time.perf_counter() < until:
            with now.lock:
                now.running = now.running and _step(now)
    _show(now, places, state)
    try:
        st.rerun(scope="fragment")
    except (StreamlitAPIException, RuntimeError):  # the whole page was running, or the fragment around this one
        st.rerun()


def key_of(reading: Reading, state: LabState) -> tuple:
    """Returns a key of everything that a continuation depends on.

    Args:
        reading: the tokenized text.
        state: the visitor's state.

    Returns:
        A hashable tuple.
    """
    return state.model, reading.prompt, state.plan, state.budgets, state.sampling


def refusal(lab: Lab, reading: Reading) -> str | None:
    """Returns the reason why a text cannot be continued.

    Args:
        lab: the model.
        reading: the tokenized text.

    Returns:
        The reason; None if the text can be continued.
    """
    if reading.error is not None:
        return _("The text cannot be read")
    if len(reading.prompt.ids) >= lab.limit:
        return _("The text already has the {limit} tokens that this model reads at most", limit=lab.limit)
    return None


def _begun(lab: Lab, key: tuple) -> Continuation:
    """Returns a new continuation; `refused` is set if it cannot start."""
    _model, prompt, plan, budgets, sampling = key
    plan = compute.usable(lab, plan, prompt)
    plans = [HeadPlan(), plan] if plan else [plan]
    count = min(MOST, lab.limit - len(prompt.ids))
    try:
        limits.spend(limits.GENERATIONS)
    except limits.LimitError as error:
        return Continuation(key, count, running=False, refused=str(error))
    now = Continuation(key, count, steps=[lab.generate(prompt, its, count, sampling) for its in plans])
    if budgets:
        now.memory = lab.write_within(prompt, budgets, plan.without_patches(), count, sampling)
    return now


def _places(has_plan: bool, has_memory: bool, running: bool) -> list[DeltaGenerator]:
    """Returns the containers of the texts, each with its label, at a fixed total height.

    A container is scrolled to the newest token during generation, and to the beginning afterwards.
    """
    def box(height: int) -> list[DeltaGenerator]:
        label = st.empty()
        # another type of container, because the same one would stay scrolled
        place = st.container() if running else st.columns(1)[0]
        return [label, place.container(height=height, border=False, autoscroll=running).empty()]

    height = (HEIGHT - GAP) // 2 if has_plan else HEIGHT
    shown = box(height - LABEL)
    planned = box(height - LABEL) if has_plan else shown
    return [*shown, *planned, *(box(MEMORY_HEIGHT) if has_memory else ())]


def _step(now: Continuation) -> bool:
    """Generates one token of each text; returns False after the end of all texts."""
    now.done += 1
    words = [next(steps, None) for steps in now.steps]
    now.trained += words[0] or ""
    now.planned += words[-1] or "" if len(words) > 1 else ""
    read = next(now.memory, None)
    if read is not None:
        # the tokens that are kept are drawn only for the last step, because all steps would take 0.5 MB per visitor
        if now.remembered:
            now.remembered[-1] = replace(now.remembered[-1], kept=())
        now.remembered.append(read)
    return read is not None or any(word is not None for word in words)


def _show(now: Continuation, places: list[DeltaGenerator], state: LabState) -> None:
    if now.refused:
        places[0].caption(_(now.refused))
        return
    places[0].caption(_("Unmodified ({left:.0f} s left)", left=now.left) if now.running else _("Unmodified"))
    places[1].text("…" + _line(now.trained))
    if state.plan:
        places[2].caption(_("With your changes"))
        places[3].text("…" + _line(now.planned))
    if now.remembered:
        counts = forgetting.counts(now.remembered)
        places[4].caption(_("With your changes. {counts}", counts=counts) if state.plan else counts)
        places[5].markdown(_("**Layer {layer} reads:** {struck}", layer=state.selection.layer + 1,
                             struck=forgetting.struck(now.remembered, state.selection.layer)))


def _line(text: str) -> str:
    """Returns the text without line breaks, which would make it higher than its container."""
    return " ".join(text.split("\n"))
