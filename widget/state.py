"""The state of a widget and the handling of its events: plan, selected head, and view of the large map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from app.state.pages.selection import SCOPES, Selection
from models.kind import Shape
from models.plan import MAX_BASE, MIN_BASE, POLICIES, HeadPlan

VIEWS = ("used", "live", "constant", "difference", "change", "mask")
CHOICES = {"view": VIEWS, "form": ("words", "matrix"), "mean": ("head", "layer", "all"),
           "shading": ("root", "linear")}
LAST = -1


@dataclass(frozen=True)
class Choices:
    """The state of a widget; immutable.

    Attributes:
        plan: interventions on heads, for all models of the widget.
        selection: the head that the large map shows, and the heads that the controls change.
        view, form, mean, shading: settings of the maps, see CHOICES.
        prediction: index of the prediction in the effect panel, or LAST.
    """

    plan: HeadPlan
    selection: Selection
    view: str = VIEWS[0]
    form: str = "words"
    mean: str = "head"
    shading: str = "root"
    prediction: int = LAST

    def after(self, event: Mapping[str, Any], shape: Shape) -> Choices:
        """Returns the state after an event of a component; the same state if the event is not valid.

        Args:
            event: event from the browser, untrusted.
            shape: attention block -> (layers, heads) of the models.
        """
        kind = event.get("type")
        if kind in CHOICES:
            value = event.get(kind)
            return replace(self, **{kind: value}) if value in CHOICES[kind] else self
        if kind == "prediction":
            return replace(self, prediction=event["index"]) if _is_index(event.get("index"), 10_000) else self
        if kind == "scale":
            return self._scaled(event)
        if kind not in ("select", "heads"):
            return self
        block, layer, head, scope = event.get("kind"), event.get("layer", -1), event.get("head", -1), event.get("scope")
        if block not in [*shape] or scope not in SCOPES or not (
                _is_index(layer, shape[block][0]) and _is_index(head, shape[block][1])):
            return self
        selection = Selection(layer, head, scope, block)
        if kind == "select":
            return replace(self, selection=selection)
        gate, constant = event.get("gate"), event.get("constant")
        if not (gate is None or _is_gate(gate)) or not (constant is None or isinstance(constant, bool)):
            return self
        return replace(self, plan=self.plan.with_heads(selection.heads(shape), constant=constant, gate=gate))

    def _scaled(self, event: Mapping[str, Any]) -> Choices:
        policy, base = event.get("policy"), event.get("base")
        if policy not in POLICIES or policy == "logn" and not (type(base) is int and MIN_BASE <= base <= MAX_BASE):
            return self
        return replace(self, plan=self.plan.with_scale(policy, base if policy == "logn" else None))


def _is_index(value: object, most: int) -> bool:
    return type(value) is int and 0 <= value < most


def _is_gate(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
