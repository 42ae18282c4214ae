"""Winning heads: the fewest heads whose removal, or whose constant pattern, makes a chosen token the most probable."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from app import compute
from app.compute import AnyTrace
from app.markdown import literal
from app.server import serving
from app.server.jobs import Cancelled, Progress
from app.state.handlers import head_events
from app.state.lab_state import FIRST_PAGE, NEEDS, LabState
from app.state.pages.search import WINNING
from app.texts import _, ngettext, spelt, tip
from components.figure import figure, spec_of
from figures.curves.pruning import winning_heads_curve
from models import HeadPlan, Lab, Output
from models.analysis.answer.winning_heads import LARGEST, search
from models.analysis.gated_predictions import Gating, Question
from models.prompt import Prompt


@dataclass(frozen=True, eq=False)
class Won:
    """The sets of heads that the search found.

    Attributes:
        plans: number of changed heads -> (margin of the token in nats, the plan that changes these heads).
        fewest: the smallest number of heads under which the token wins; None if no set was found.
        nearest: `fewest`, or the number of heads with the largest margin.
        heads: number of heads of the model.
        token, other: ids of the chosen token and of the most probable other token under the nearest plan.
        probabilities: their probabilities under the nearest plan.
    """

    plans: dict[int, tuple[float, HeadPlan]]
    fewest: int | None
    nearest: int
    heads: int
    token: int
    other: int
    probabilities: tuple[float, float]


def is_open(state: LabState) -> bool:
    """Returns True if the page shows this search, so that a click on an answer's bar chooses the token."""
    return state.page == FIRST_PAGE and state.section == NEEDS and state.search.wanted == WINNING


def output_of(state: LabState, before: AnyTrace) -> Output:
    """Returns the prediction in which the chosen token should win."""
    return compute.shown_output(before.outputs, state.prediction)


def wanted(state: LabState, output: Output) -> int:
    """Returns the id of the chosen token; by default the second most probable token of the prediction."""
    token = state.explanation.token
    return token if 0 <= token < len(output.names) else int(output.top(2)[-1])


def changes_patterns(lab: Lab, state: LabState) -> bool:
    """Returns True if the search makes heads constant, False if it prunes heads."""
    return state.search.constant and lab.constant is not None


def introduce(lab: Lab, state: LabState, before: AnyTrace) -> bool:
    """Displays the purpose of the search; returns True if the token does not win already."""
    output = output_of(state, before)
    token = wanted(state, output)
    word = _word(output, token)
    if token == int(output.top()[0]):
        st.markdown(_("{token} is already the most probable token. Click another bar of the answer to choose the token "
                      "that should win.", token=word), help=tip("winning"))
        return False
    st.markdown(
        _("**Which heads hold {token} back?** The search finds the fewest heads that make it the most probable token "
          "if their patterns are constant. Click another bar of the answer to choose another token.", token=word)
        if changes_patterns(lab, state) else
        _("**Which heads hold {token} back?** The search finds the fewest heads that make it the most probable token "
          "if they are pruned. Click another bar of the answer to choose another token.", token=word),
        help=tip("winning"))
    return True


def find(lab: Lab, prompt: Prompt, question: Question, token: int, constant: bool, tell: Progress,
         cancelled: Cancelled) -> Won:
    """Runs the search; see models/analysis/answer/winning_heads.py."""
    with serving.computing():
        gating = Gating.of(lab, prompt, question, constant)
    winning = search(gating, token, tell, cancelled, serving.computing)
    with serving.computing():
        probabilities = gating.log_probabilities(1 - winning.best[winning.nearest][1][None].float())[0, 0].exp()
    other = next(int(i) for i in probabilities.argsort(descending=True) if int(i) != token)
    return Won({size: (margin, gating.plan(~changed)) for size, (margin, changed) in winning.best.items()},
               winning.fewest, winning.nearest, len(gating.heads), token, other,
               (float(probabilities[token]), float(probabilities[other])))


def draw(lab: Lab, state: LabState, before: AnyTrace, won: Won) -> None:
    """Displays the result, a button that applies it, and the margin by number of heads."""
    output = output_of(state, before)
    constant = changes_patterns(lab, state)
    plan = won.plans[won.nearest][1]
    index = compute.existing_index(before.outputs, state.prediction)
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(_sentence(output, won, constant) + " " + _heads(lab, plan))
        label = _("Apply: make them constant") if constant else _("Apply: prune them")
        st.button(label, key="apply winning", on_click=head_events.set_plan, args=(plan, index))
    spec = winning_heads_curve.spec(sorted((size, margin) for size, (margin, _plan) in won.plans.items()),
                                    won.nearest, constant)
    title = _("Margin of “{token}” by the number of changed heads", token=_word(output, won.token, quoted=False))
    figure(key="winning", spec=spec_of(spec), models=[lab.name], what="winning-heads", title=title, alt=title)


def _sentence(output: Output, won: Won, constant: bool) -> str:
    token, other = _word(output, won.token), _word(output, won.other)
    values = {"heads": won.heads, "token": token, "other": other, "p": won.probabilities[0], "q": won.probabilities[1]}
    if won.fewest is None:
        return ngettext(
            "The search found no set of up to {most} heads that makes {token} the most probable token. The nearest is "
            "one head: {token} then has {p:.1%} and {other} {q:.1%}.",
            "The search found no set of up to {most} heads that makes {token} the most probable token. The nearest has "
            "{n} heads: {token} then has {p:.1%} and {other} {q:.1%}.", won.nearest,
            most=min(LARGEST, won.heads), **values)
    if constant:
        return ngettext(
            "**One of {heads} heads** is enough: with its constant pattern, {token} has {p:.1%} and {other} {q:.1%}.",
            "**{n} of {heads} heads** are enough: with their constant patterns, {token} has {p:.1%} and {other} "
            "{q:.1%}.", won.fewest, **values)
    return ngettext(
        "**One of {heads} heads** is enough: without it, {token} has {p:.1%} and {other} {q:.1%}.",
        "**{n} of {heads} heads** are enough: without them, {token} has {p:.1%} and {other} {q:.1%}.", won.fewest,
        **values)


def _heads(lab: Lab, plan: HeadPlan) -> str:
    """Returns the names of the changed heads, layer and head counted from 1."""
    names = [(f"{_(lab.kind(kind).title)} " if len(lab.kinds) > 1 else "") + f"{layer + 1}.{head + 1}"
             for kind, layer, head in plan.heads]
    return _("Heads (layer.head): {names}.", names=", ".join(names))


def _word(output: Output, token: int, quoted: bool = True) -> str:
    """Returns a token for a sentence in Markdown, or for a title if it is not quoted."""
    word = spelt([output.names[token]])[0].strip() or output.names[token]
    return f"“{literal(word)}”" if quoted else word
