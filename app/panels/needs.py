"""What does this text need? Gates learned live on frozen weights: the fewest heads that keep the prediction, and the
three groups of heads for its right answers. What is found is a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
import torch

from app import serving
from app.compute import Seen
from app.jobs import Cancelled, Job, Progress
from app.panels import progress
from app.state import events, session
from app.state.lab_state import LabState
from app.state.search import BOUNDS, FEWEST, WANTED, Search
from components import found_charts
from models import HeadPlan, Lab, groups, needs
from models.gating import Gating, Question
from models.groups import FACILITATING, GROUPS, INTERFERING, IRRELEVANT, UNDECIDED
from models.measures import confidences, in_one_row
from models.tasks.base import Prompt
from models.trace import Trace

TITLES = {"fewest": "The fewest heads", "groups": "Three groups"}
SCOPES = {False: "This prediction", True: "The whole text"}
MEANINGS = {
    FACILITATING: "open under both pushes: the answer needs them",
    INTERFERING: "closed under both: the answer is better without them",
    IRRELEVANT: "they go where they are pushed",
    UNDECIDED: "closed when pushed open, and open when pushed shut: the two fits found different ways"}


@dataclass(frozen=True, eq=False)
class Fewest:
    """A curve of learned sets, and what simpler orders give.

    Attributes:
        plans: number of open heads -> KL in nats, and the plan that prunes the others.
        orders: name -> (heads, KL) by another order.
        heads: of the model.
    """

    plans: dict[int, tuple[float, HeadPlan]]
    orders: dict[str, list[tuple[int, float]]]
    heads: int

    def answer(self, bound: float) -> int:
        """The fewest heads whose KL is within the bound."""
        return min(size for size, (divergence, _) in self.plans.items() if divergence <= bound)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The groups, the heads' addresses in the same order, and the plans that prune a group."""

    groups: groups.Groups
    heads: list[tuple[str, int, int]]
    known: bool

    def of(self, name: str) -> list[tuple[str, int, int]]:
        """The heads of a group."""
        return [head for head, its in zip(self.heads, self.groups.names, strict=True) if its == name]


@dataclass
class Under:
    """A search under way or done, and what it was begun for."""

    key: tuple[Any, ...]
    job: Job[Any]


def draw(lab: Lab, state: LabState, prompt: Prompt, before: Seen) -> None:
    """The section: what is asked, the button, and what was found."""
    st.markdown("**What does this text need?** Gates are learned on the model's frozen weights for this text alone, "
                "in seconds. What they find is a plan: apply it, look at it on the grid, send it as a link.")
    if not before.outputs:
        st.caption("This text asks for no prediction that heads could be needed for."
                   if before.vectors is None else "This model predicts nothing, so nothing can be kept.")
        return
    search = state.search
    _choose(search)
    question = Question.of(before, None if search.whole else state.asked)
    key = (lab.identity, prompt, question, search.wanted, search.bound if search.wanted == FEWEST else None)
    under: Under | None = st.session_state.get(session.SEARCH)
    if under is not None and under.key != key:
        under.job.cancel()
        under = st.session_state[session.SEARCH] = None
    if under is not None and under.job.running:
        progress.draw(under.job, lambda job: None)
        return
    st.button("Find out", key="find out", type="primary" if under is None else "secondary", on_click=_start,
              args=(lab, prompt, before, question, search, key))
    if under is None:
        return
    if under.job.problem:
        st.caption(under.job.problem)
    elif isinstance(under.job.result, Fewest):
        _fewest(under.job.result, search)
    elif isinstance(under.job.result, Grouped):
        _groups(lab, under.job.result)


def _choose(search: Search) -> None:
    st.session_state[session.WANTED] = search.wanted
    st.session_state[session.WHOLE] = search.whole
    st.session_state[session.BOUND] = search.bound
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Wanted", WANTED, key=session.WANTED, format_func=lambda its: TITLES[its],
                             on_change=events.on_search, required=True, label_visibility="collapsed")
        st.segmented_control("For", [*SCOPES], key=session.WHOLE, format_func=lambda its: SCOPES[its],
                             on_change=events.on_search, required=True, label_visibility="collapsed")
        if search.wanted == FEWEST:
            st.selectbox("Most KL", BOUNDS, key=session.BOUND, on_change=events.on_search, width=190,
                         format_func=lambda bound: f"KL at most {bound:g} nats", label_visibility="collapsed")


def _start(lab: Lab, prompt: Prompt, before: Seen, question: Question, search: Search, key: tuple[Any, ...]) -> None:
    def fewest(tell: Progress, cancelled: Cancelled) -> Fewest:
        with serving.computing():
            gating = Gating.of(lab, prompt, question)
        curve = needs.learn(gating, len(before.prompt.ids), search.bound, tell=tell, cancelled=cancelled,
                            turn=serving.computing)
        with serving.computing():
            alone = gating.alone(gating.divergence)
            orders = {"by what each costs alone": needs.by_order(gating, alone.argsort(descending=True))}
            if isinstance(before, Trace):
                sure = torch.tensor(in_one_row(lab.kinds, confidences(lab, before)))
                orders["by confidence"] = needs.by_order(gating, sure.argsort(descending=True))
        plans = {size: (divergence, gating.plan(stays)) for size, (divergence, stays) in curve.found.items()}
        return Fewest(plans, orders, len(gating.heads))

    def grouped(tell: Progress, cancelled: Cancelled) -> Grouped:
        with serving.computing():
            gating = Gating.of(lab, prompt, question)
        found = groups.fit(gating, tell=tell, cancelled=cancelled, turn=serving.computing)
        return Grouped(found, gating.heads, question.known)

    job: Job[Any] = Job("Learning gates, step", fewest if search.wanted == FEWEST else grouped)
    st.session_state[session.SEARCH] = Under(key, job.start())


def _fewest(found: Fewest, search: Search) -> None:
    size = found.answer(search.bound)
    divergence, plan = found.plans[size]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{size} of {found.heads} heads** keep it: KL {divergence:.3f} nats, at most {search.bound:g}.")
        st.button("Apply: prune the others", key="apply needed", on_click=events.set_plan, args=(plan,))
    learned = sorted(((its, divergence) for its, (divergence, _) in found.plans.items()), reverse=True)
    st.altair_chart(found_charts.kept_chart({"learned gates": learned, **found.orders}, (size, divergence),
                                            search.bound),
                    alt=f"KL by number of heads left; learned gates keep it with {size}")


def _groups(lab: Lab, found: Grouped) -> None:
    losses = found.groups.losses
    what = "its right answer" if found.known else "what the model says itself"
    st.markdown(f"Gates fitted to {what}, loss {found.groups.loss:.3f} nats, once pushed open and once pushed shut.")
    titled = len(lab.kinds) > 1
    titles = {kind.name: kind.title for kind in lab.kinds}
    rows = [{"kind": titles[kind], "layer": layer + 1, "head": head + 1, "group": name, "kept": round(kept, 3),
             "removed": round(removed, 3)}
            for (kind, layer, head), name, kept, removed in zip(
                found.heads, found.groups.names, found.groups.kept.tolist(), found.groups.removed.tolist(), strict=True)]
    counts = ", ".join(f"{len(found.of(name))} {name}" for name in GROUPS)
    st.altair_chart(found_charts.groups_chart(rows, GROUPS, titled), alt=f"Heads by group: {counts}", width="content")
    for name in GROUPS:
        heads = found.of(name)
        if heads:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(f"**{len(heads)} {name}**: {MEANINGS[name]}. Without them the loss is {losses[name]:.3f}.")
                st.button("Prune these", key=f"prune {name}", on_click=events.set_plan,
                          args=(HeadPlan().with_heads(heads, gate=0.0),))
