"""The state of a widget and the handling of its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.content.tools import FIRST_TOOLS
from app.state.lab_view import MOST_TOKENS, NONE, AnswerView, LabView
from app.state.selection import Selection, changed, is_index, scaled, selected
from models.kind import Shape
from models.plan import POLICIES, HeadPlan

LAST = -1
MOST_PREDICTIONS, MOST_STEPS = 10_000, 100


@dataclass(frozen=True)
class Choices:
    """The state of a widget; immutable."""

    plan: HeadPlan  # interventions on heads, for all models of the widget
    selection: Selection  # the head that is shown, and the heads that the controls change
    prediction: int = LAST  # index of the prediction that is shown, or LAST
    lab: LabView = LabView()  # the open tool, the looking word and the marks of the picture
    explanation: AnswerView = AnswerView()  # the token whose logit is explained
    # past and future: the plans before and after this one, for undo and redo
    past: tuple[HeadPlan, ...] = ()
    future: tuple[HeadPlan, ...] = ()
    drags: bool = False  # True while a slider moves: the plans of a move are one step
    # lesson and hides_answer: a notebook has no lessons
    lesson: None = None
    hides_answer: bool = False

    def with_plan(self, plan: HeadPlan, drags: bool = False) -> Choices:
        """Returns the state with another plan, as one step of undo."""
        if plan == self.plan:
            return replace(self, drags=drags)
        past = self.past if self.drags else (*self.past, self.plan)[-MOST_STEPS:]
        return replace(self, plan=plan, past=past, future=(), drags=drags)

    def after(self, event: Mapping[str, Any], shape: Shape) -> Choices:
        """Returns the state after an untrusted event of the Lab; the same state if the event is not valid."""
        match event.get("type"):
            case "select" | "heads":
                return self._on_heads(event, shape)
            case "scale":
                return self.with_plan(scaled(self.plan, event, POLICIES))
            case "prediction" if is_index(event.get("index"), MOST_PREDICTIONS):
                return replace(self, prediction=event["index"])
            case "contribution" if event.get("token") == NONE or is_index(event.get("token"), MOST_TOKENS):
                return replace(self, explanation=replace(self.explanation, token=event["token"]))
            case "reset":
                return self.with_plan(HeadPlan())
            case "undo" if self.past:
                return replace(self, plan=self.past[-1], past=self.past[:-1], future=(*self.future, self.plan))
            case "redo" if self.future:
                return replace(self, plan=self.future[-1], future=self.future[:-1], past=(*self.past, self.plan))
        return replace(self, lab=self.lab.after(event, FIRST_TOOLS))

    def _on_heads(self, event: Mapping[str, Any], shape: Shape) -> Choices:
        selection = selected(event, shape)
        if selection is None:
            return self
        if event["type"] == "select":
            return replace(self, selection=selection, lab=self.lab.after(event, FIRST_TOOLS))
        plan = changed(self.plan, event, selection, shape)
        return self if plan is None else self.with_plan(plan, drags=event.get("drag") is True)
