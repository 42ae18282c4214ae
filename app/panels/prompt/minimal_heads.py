"""Minimal heads: searches for the smallest set of heads that keeps the prediction, or that makes a chosen token win.

A third search divides the heads into three groups. The weights are frozen. The result is a plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st
import torch
from streamlit.delta_generator import DeltaGenerator

from app import compute
from app.compute import AnyTrace
from app.panels.answer import winning
from app.panels.answer.winning import Won
from app.panels.page import progress
from app.server import limits, serving
from app.server.jobs import Cancelled, Job, Progress
from app.state import session, visitor_models
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.state.pages.search import BOUNDS, FEWEST, WANTED, WINNING, Search
from app.state.pages.search import GROUPS as IN_GROUPS
from app.texts import N_, _
from components.figure import figure, spec_of
from figures.curves.pruning import minimal_heads_curve
from figures.squares import group_squares
from models import HeadPlan, Lab
from models.analysis import head_groups, minimal_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_groups import FACILITATING, GROUPS, INTERFERING, IRRELEVANT, UNDECIDED
from models.analysis.head_measures import confidences, in_one_row
from models.labs.foreign import ForeignError
from models.prompt import Prompt
from models.storage.checkpoint import CheckpointError
from models.trace import Trace

TITLES = {FEWEST: N_("Smallest set"), IN_GROUPS: N_("Three groups"), WINNING: N_("Make a token win")}
CHANGES = {False: N_("Prune"), True: N_("Constant")}
SCOPES = {False: N_("This prediction"), True: N_("The whole text")}
TITLE, CHECKING, COUNTING = (N_("Learning gates, step"), N_("Exchanging heads"), N_("Evaluating head sets, size"))
# passes that one search counts against the visitor's limit. A search takes as long as 600 passes (18 tokens) to 1,200
# passes (23 tokens).
SEARCH = 250
BY_COST, BY_CONFIDENCE, LEARNED = (N_("by loss when pruned alone"), N_("by confidence"), N_("learned gates"))
NAMES = {FACILITATING: N_("facilitating"), INTERFERING: N_("interfering"), IRRELEVANT: N_("irrelevant"),
         UNDECIDED: N_("undecided")}
MEANINGS = {
    FACILITATING: N_("**Facilitating** ({n}): gates that stay open with both penalties. Without these heads the loss "
                     "is {loss:.3f}."),
    INTERFERING: N_("**Interfering** ({n}): gates that close with both penalties. Without these heads the loss is "
                    "{loss:.3f}."),
    IRRELEVANT: N_("**Irrelevant** ({n}): gates that follow the penalty. Without these heads the loss is {loss:.3f}."),
    UNDECIDED: N_("**Undecided** ({n}): gates that close although closed gates are penalised, and open although open "
                  "gates are; the two fits found different solutions. Without these heads the loss is {loss:.3f}.")}


@dataclass(frozen=True, eq=False)
class Fewest:
    """The sets of heads that the search found, and curves of simpler pruning orders for comparison.

    Attributes:
        plans: number of remaining heads -> (KL divergence in nats, the plan that prunes all other heads).
        orders: name of a pruning order -> list of (remaining heads, KL divergence in nats).
        heads: number of heads of the model.
    """

    plans: dict[int, tuple[float, HeadPlan]]
    orders: dict[str, list[tuple[int, float]]]
    heads: int

    def answer(self, bound: float) -> int:
        """Returns the smallest number of heads with a KL divergence within the bound.

        Args:
            bound: KL divergence in nats.

        Returns:
            Number of heads.
        """
        return min((size for size, (divergence, _) in self.plans.items() if divergence <= bound), default=self.heads)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The three groups of heads and the addresses of the heads, in the same order.

    Attributes:
        groups: the fitted groups.
        heads: addresses of the heads.
        known: True if the gates were fitted to right answers, False if to the model's own answers.
    """

    groups: head_groups.Groups
    heads: list[tuple[str, int, int]]
    known: bool

    def of(self, name: str) -> list[tuple[str, int, int]]:
        """Returns the heads of a group.

        Args:
            name: name of the group.

        Returns:
            Addresses.
        """
        return [head for head, group in zip(self.heads, self.groups.names, strict=True) if group == name]


@dataclass
class Under:
    """A running or completed search, and a key of everything that the search depends on."""

    key: tuple[Any, ...]
    job: Job[Any]


def draw(lab: Lab, state: LabState, prompt: Prompt, before: AnyTrace) -> None:
    """Displays the settings, the start button, and the results.

    Args:
        lab: the model.
        state: the visitor's state.
        prompt: the tokenized input.
        before: the baseline trace.
    """
    search = state.search
    if search.wanted != WINNING or not before.outputs:
        st.markdown(_("**Minimal heads** are the heads that the answer needs. Gates are learned for this text alone; "
                      "the model's weights do not change. The search shows the time left and can be cancelled. Apply "
                      "the result to see it on the grid and to share it as a link."))
    if not before.outputs:
        st.caption(_("This text has no prediction, so there are no minimal heads to search for.")
                   if before.vectors is None else _("This model makes no predictions, so there are no minimal heads to "
                                                    "search for."))
        return
    row = _choose(lab, search)
    wins = search.wanted == WINNING
    question = Question.of(before, None if search.whole and not wins else state.prediction)
    token = winning.wanted(state, winning.output_of(state, before)) if wins else -1
    settings = {FEWEST: (search.bound,), WINNING: (token, winning.changes_patterns(lab, state))}
    key = (lab.identity, prompt, question, search.wanted, settings.get(search.wanted))
    under: Under | None = st.session_state.get(session.SEARCH)
    if under is not None and under.key != key:
        under.job.cancel()
        under = st.session_state[session.SEARCH] = None
    if under is not None and under.job.running:
        progress.draw(under.job, lambda job: None)
        return
    if wins and not winning.introduce(lab, state, before):
        return
    row.button(_("Search"), key="find out", type="primary" if under is None else "secondary", on_click=_start,
               args=(lab.name, prompt, question, search, key))
    if under is None:
        return
    if under.job.problem:
        st.caption(_(under.job.problem))
    elif isinstance(under.job.result, Fewest):
        _fewest(lab.name, under.job.result, search)
    elif isinstance(under.job.result, Grouped):
        _groups(lab, under.job.result)
    elif isinstance(under.job.result, Won):
        winning.draw(lab, state, before, under.job.result)


def _choose(lab: Lab, search: Search) -> DeltaGenerator:
    """Displays the settings and returns their container."""
    st.session_state[session.WANTED] = search.wanted
    st.session_state[session.WHOLE] = search.whole
    st.session_state[session.BOUND] = search.bound
    st.session_state[session.CHANGE] = search.constant
    row = st.container(horizontal=True, vertical_alignment="bottom")
    with row:
        st.segmented_control(_("Search for"), WANTED, key=session.WANTED, format_func=lambda value: _(TITLES[value]),
                             on_change=head_events.on_search, required=True, label_visibility="collapsed")
        if search.wanted != WINNING:
            st.segmented_control(_("Scope"), [*SCOPES], key=session.WHOLE, format_func=lambda value: _(SCOPES[value]),
                                 on_change=head_events.on_search, required=True, label_visibility="collapsed")
        elif lab.constant is not None:
            st.segmented_control(_("Change"), [*CHANGES], key=session.CHANGE,
                                 format_func=lambda value: _(CHANGES[value]),
                                 on_change=head_events.on_search, required=True, label_visibility="collapsed")
        if search.wanted == FEWEST:
            st.selectbox(_("Largest KL divergence allowed"), BOUNDS, key=session.BOUND, on_change=head_events.on_search,
                         format_func=lambda bound: _("KL at most {bound:g} nats", bound=bound),
                         width=250, filter_mode=None, label_visibility="collapsed")
    return row


def _start(model: str, prompt: Prompt, question: Question, search: Search, key: tuple[Any, ...]) -> None:
    """Starts the search. Takes the model's name instead of the model, because Streamlit stores a button's arguments."""
    try:
        job = begin(visitor_models.opened(model), prompt, question, search, key).start()
    except (limits.LimitError, CheckpointError, ForeignError) as error:
        job = Job[Any](TITLE, None).refuse(str(error))
    st.session_state[session.SEARCH] = Under(key, job)


def begin(lab: Lab, prompt: Prompt, question: Question, search: Search, key: tuple[Any, ...]) -> Job[Any]:
    """Returns the job of a search, which is not started yet; raises LimitError if the visitor is over the limit."""
    before = compute.traces_of(lab, prompt, HeadPlan())[0]
    limits.spend(limits.PASSES, SEARCH)

    def fewest(tell: Progress, cancelled: Cancelled) -> Fewest:
        with serving.computing():
            gating = Gating.of(lab, prompt, question)
        curve = minimal_heads.learn(gating, len(before.prompt.ids), tell=tell, cancelled=cancelled,
                                    turn=serving.computing)
        tell(0, 0)  # the number of exchanges is not known before
        job.what = CHECKING
        minimal_heads.polish(curve, search.bound, cancelled=cancelled, turn=serving.computing)
        with serving.computing():
            alone = gating.prune_each(gating.divergence)
            orders = {BY_COST: minimal_heads.by_order(gating, alone.argsort(descending=True))}
            if isinstance(before, Trace):
                sure = torch.tensor(in_one_row(lab.kinds, confidences(lab, before)))
                orders[BY_CONFIDENCE] = minimal_heads.by_order(gating, sure.argsort(descending=True))
        plans = {size: (divergence, gating.plan(stays)) for size, (divergence, stays) in curve.best.items()}
        return Fewest(plans, orders, len(gating.heads))

    def grouped(tell: Progress, cancelled: Cancelled) -> Grouped:
        with serving.computing():
            gating = Gating.of(lab, prompt, question)
        groups = head_groups.fit(gating, tell=tell, cancelled=cancelled, turn=serving.computing)
        return Grouped(groups, gating.heads, question.known)

    def won(tell: Progress, cancelled: Cancelled) -> Won:
        token, constant = key[-1]
        return winning.find(lab, prompt, question, token, constant, tell, cancelled)

    work: dict[str, Any] = {FEWEST: fewest, IN_GROUPS: grouped, WINNING: won}
    job: Job[Any] = Job(COUNTING if search.wanted == WINNING else TITLE, work[search.wanted])
    return job


def _fewest(name: str, result: Fewest, search: Search) -> None:
    size = result.answer(search.bound)
    divergence, plan = result.plans[size]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_("**{size} of {heads} heads** are enough: the KL divergence is {kl:.3f} nats (at most {bound:g} "
                      "is allowed).",
                      size=size, heads=result.heads, kl=divergence, bound=search.bound))
        st.button(_("Apply: prune the others"), key="apply needed", on_click=head_events.set_plan, args=(plan,))
    learned = sorted(((curve, divergence) for curve, (divergence, _) in result.plans.items()), reverse=True)
    curves = {_(name): curve for name, curve in {LEARNED: learned, **result.orders}.items()}
    spec = minimal_heads_curve.spec(curves, (size, divergence), search.bound)
    figure(key="kept", spec=spec_of(spec), models=[name],
           what="needs", title=_("KL by the number of heads that are left"),
           alt=_("KL by number of heads left; learned gates keep the prediction with {size}", size=size))


def _in_words(grouped: Grouped) -> str:
    """Returns the groups and their heads in words."""
    return "; ".join(f"{_(NAMES[name])}: {', '.join(f'{layer + 1}.{head + 1}' for _kind, layer, head in heads)}"
                     for name in GROUPS if (heads := grouped.of(name)))


def _groups(lab: Lab, grouped: Grouped) -> None:
    losses, untouched = grouped.groups.losses, grouped.groups.loss
    st.markdown(_("The unmodified model's loss is {loss:.3f} nats. Gates were fitted to the right answers, once with "
                  "a penalty on closed gates and once with a penalty on open gates.",
                  loss=untouched) if grouped.known else
                _("The unmodified model's loss is {loss:.3f} nats. Gates were fitted to the model's own answers, once "
                  "with a penalty on closed gates and once with a penalty on open gates.", loss=untouched))
    titles = {kind.name: _(kind.title) for kind in lab.kinds}
    rows = [{"kind": titles[kind], "layer": layer + 1, "head": head + 1, "group": _(NAMES[name]),
             "kept": round(kept, 3), "removed": round(removed, 3)}
            for (kind, layer, head), name, kept, removed in zip(
                grouped.heads, grouped.groups.names, grouped.groups.kept.tolist(), grouped.groups.removed.tolist(),
                strict=True)]
    spec = group_squares.spec(rows, [_(NAMES[name]) for name in GROUPS], len(lab.kinds) > 1)
    figure(key="groups", spec=spec_of(spec),
           title=_("Every head and its group"), alt=_in_words(grouped), models=[lab.name], what="groups")
    for name in GROUPS:
        heads = grouped.of(name)
        if heads:
            with st.container(horizontal=True, vertical_alignment="center"):
                st.markdown(_(MEANINGS[name], n=len(heads), loss=losses[name]))
                st.button(_("Prune these"), key=f"prune {name}", on_click=head_events.set_plan,
                          args=(HeadPlan().with_heads(heads, gate=0.0),))
