"""The state of a widget and the handling of its events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.content.tools import FIRST_TOOLS
from app.state.pages.answer_view import MOST_TOKENS, NONE, AnswerView
from app.state.pages.lab_view import LabView
from app.state.pages.selection import Selection, is_index, is_scope
from models.kind import Shape
from models.plan import MAX_BASE, MIN_BASE, POLICIES, HeadPlan

LAST = -1
MOST_PREDICTIONS, MOST_STEPS = 10_000, 100


@dataclass(frozen=True)
class Choices:
    """The state of a widget; immutable.

    Attributes:
        plan: interventions on heads, for all models of the widget.
        selection: the head that is shown, and the heads that the controls change.
        prediction: index of the prediction that is shown, or LAST.
        lab: the open tool, the looking word and the marks of the picture.
        explanation: the token whose logit is explained.
        past, future: the plans before and after this one, for undo and redo.
        drags: True while a slider moves: the plans of a move are one step.
        lesson, hides_answer: a notebook has no lessons.
    """

    plan: HeadPlan
    selection: Selection
    prediction: int = LAST
    lab: LabView = LabView()
    explanation: AnswerView = AnswerView()
    past: tuple[HeadPlan, ...] = ()
    future: tuple[HeadPlan, ...] = ()
    drags: bool = False
    lesson: None = None
    hides_answer: bool = False

    def with_plan(self, plan: HeadPlan, drags: bool = False) -> Choices:
        """Returns the state with another plan, as one step of undo."""
        if plan == self.plan:
            return replace(self, drags=drags)
        past = self.past if self.drags else (*self.past, self.plan)[-MOST_STEPS:]
        return replace(self, plan=plan, past=past, future=(), drags=drags)

    def after(self, event: Mapping[str, Any], shape: Shape) -> Choices:
        """Returns the state after an event of the Lab; the same state if the event is not valid.

        Args:
            event: event from the browser, untrusted.
            shape: attention block -> (layers, heads) of the models.
        """
        match event.get("type"):
            case "select" | "heads":
                return self._on_heads(event, shape)
            case "scale":
                return self._scaled(event)
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
        block, layer, head, scope = (event.get(name) for name in ("kind", "layer", "head", "scope"))
        if block not in [*shape] or not is_scope(scope) or not (
                is_index(layer, shape[block][0]) and is_index(head, shape[block][1])):
            return self
        selection = Selection(layer, head, scope, block).within(shape)
        if event["type"] == "select":
            return replace(self, selection=selection, lab=self.lab.after(event, FIRST_TOOLS))
        gate, constant = event.get("gate"), event.get("constant")
        if not (gate is None or _is_gate(gate)) or not (constant is None or isinstance(constant, bool)):
            return self
        plan = self.plan.with_heads(selection.heads(shape), constant=constant, gate=gate)
        return self.with_plan(plan, drags=event.get("drag") is True)

    def _scaled(self, event: Mapping[str, Any]) -> Choices:
        policy, base = event.get("policy"), event.get("base")
        if policy not in POLICIES or policy == "logn" and not (type(base) is int and MIN_BASE <= base <= MAX_BASE):
            return self
        return self.with_plan(self.plan.with_scale(policy, base if policy == "logn" else None))


def _is_gate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
