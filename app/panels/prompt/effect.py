"""The effect of a plan: predictions, KL divergence and losses of the baseline trace and the trace under the plan."""

from __future__ import annotations

import numpy
import streamlit as st

from app.compute import AnyTrace
from app.content import effect as effect_content
from app.panels.answer import winning
from app.state.handlers import events
from app.state.lab_state import FIRST_PAGE, LAST, WRITERS, LabState
from app.state.pages.answer_view import NONE
from app.texts import _
from components.effect import effect
from components.mounting import Part, mount
from models import Lab
from models.kind import TEXT
from models.trace import divergence

SENTENCE = 160  # number of characters of the text in the downloaded picture


def draw(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace, key: str = "effect") -> None:
    """Displays the effect panel, or a message if a class must guess the prediction first.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
        after: the trace under the plan.
        key: key of the component.
    """
    if state.hides_answer:
        st.caption(_("Answer the question or press *Show the answer* to see the model's prediction."))
    else:
        mount(part(lab, state, before, after, key))


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace, key: str = "effect") -> Part:
    """Returns the effect panel. For a model without predictions, the panel shows the shift of the output vectors.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
        after: the trace under the plan.
        key: key of the component.

    Returns:
        The component.
    """
    chosen, hint = _chosen(state, before)
    return effect.part(key=key, index=shown_index(state, before, after), on_event=events.on_effect,
                       model=lab.name, sentence=state.text[:SENTENCE], chosen=chosen, hint=hint,
                       **effect_content.content(lab, state.plan, before, after))


def _chosen(state: LabState, before: AnyTrace) -> tuple[tuple[int, int] | None, str]:
    """Returns the tokens that are chosen by their bars, None if bars cannot be chosen, and a sentence about the choice.
    """
    if state.page == FIRST_PAGE and state.section == WRITERS:
        return (state.explanation.token, state.explanation.against), _("Choose one or two tokens to explain.")
    if before.outputs and winning.is_open(state):
        return (winning.wanted(state, winning.output_of(state, before)), NONE), _("Choose the token that should win.")
    return None, ""


def shown_index(state: LabState, before: AnyTrace, after: AnyTrace) -> int:
    """Returns the index of the prediction on display.

    Args:
        state: the visitor's state.
        before: the baseline trace.
        after: the trace under the plan.

    Returns:
        The index of the chosen prediction. If none is chosen, the index of the last prediction. The last prediction of
        a translation is only the end of the sentence: under a plan, the index is that of the prediction with the
        largest KL divergence, and outside lessons without a plan that of the longest token that begins a word.
    """
    if 0 <= state.prediction < len(before.outputs):
        return state.prediction
    if not before.outputs or before.outputs[LAST].row == TEXT or (after is before and state.lesson is not None):
        return LAST
    if after is before:
        words = [output.names[output.top()[0]] for output in before.outputs]
        return max(range(len(words)), key=lambda index: (words[index].startswith(" "), len(words[index])))
    return int(numpy.argmax([divergence(old, new) for old, new in zip(before.outputs, after.outputs, strict=True)]))
