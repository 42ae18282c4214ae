"""HeadsWidget: an anywidget with the grid of heads, the large map and the effect of a plan, computed by the kernel.

    widget = attention_lab.show(lab, "Once upon a time")
    widget.plan                                       # the interventions by clicks and keys; may be set
    widget.trace.output.labels[:2]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anywidget
import traitlets

from app.content import effect as effect_content
from app.content import heads as content
from app.state.pages.selection import Selection
from components import channel
from components.channel import Channel
from components.effect import effect
from components.head_map import head_map
from components.heads import heads
from components.mounting import Part, answer
from components.payload import pack
from models import HeadPlan, Lab, Trace
from models.kind import policies_of
from models.prompt import Prompt
from widget import fallback, script
from widget.state import LAST, Choices

Pair = tuple[Trace, Trace]  # the baseline trace and the trace under the plan


def show(lab: Lab, text: str, plan: HeadPlan = HeadPlan()) -> HeadsWidget:
    """Returns a widget with the heads of one model on a text.

    Args:
        lab: the model.
        text: the input.
        plan: initial interventions on heads.

    Raises:
        InputError: the text cannot be tokenized for the model.
        ValueError: the plan contains a head or a scale that the model does not have.
    """
    lab.check(plan)
    return HeadsWidget([lab], text, plan)


def compare(labs: Sequence[Lab], text: str, plan: HeadPlan = HeadPlan()) -> HeadsWidget:
    """Returns a widget with several models on one text, under one plan.

    Args:
        labs: one or more models; each model must be able to tokenize the text.
        text: the input.
        plan: interventions on heads; each model applies the part for its own heads.

    Raises:
        InputError: a model cannot tokenize the text.
        ValueError: `labs` is empty.
    """
    if not labs:
        raise ValueError("compare needs at least one model")
    return HeadsWidget(labs, text, plan)


class HeadsWidget(anywidget.AnyWidget):
    """A widget with one or more models on one text under one plan.

    Attributes:
        labs: the models.
        text: the input; may be set. If a model cannot tokenize the new text, InputError is raised and nothing changes.
        plan: interventions on heads, changed by clicks and keys; may be set.
    """

    text = traitlets.Unicode()
    plan = traitlets.Instance(HeadPlan)
    _titles = traitlets.List(traitlets.Unicode()).tag(sync=True)
    _parts: Any = traitlets.List().tag(sync=True)  # per component: name, key, index of its model, payload

    def __init__(self, labs: Sequence[Lab], text: str, plan: HeadPlan = HeadPlan()) -> None:
        self._esm, self._css = script.source(), script.style()
        self.labs = tuple(labs)
        self._shape = _shape_of(self.labs)
        self._channel = Channel()
        self._choices = Choices(plan, Selection.default(plan, self._shape).within(self._shape))
        # setting the text tokenizes it for all models
        super().__init__(text=text, plan=plan, _titles=[lab.name for lab in self.labs])
        self._baselines = self._run_baselines()
        self._compute()
        self.observe(self._on_text, "text")
        self.observe(self._on_plan, "plan")
        self.on_msg(self._on_message)

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The trace under the plan of each model, in the order of `labs`."""
        return tuple(after for _before, after in self._pairs)

    @property
    def trace(self) -> Trace:
        """The first model's trace under the plan."""
        return self.traces[0]

    @property
    def baseline(self) -> Trace:
        """The first model's trace without a plan."""
        return self._baselines[0]

    def _read(self, text: str) -> tuple[Prompt, ...]:
        return tuple(lab.anchored(lab.read(text)) for lab in self.labs)

    def _run_baselines(self) -> tuple[Trace, ...]:
        return tuple(lab.run(prompt, [HeadPlan()])[0] for lab, prompt in zip(self.labs, self._prompts, strict=True))

    def _plan_of(self, lab: Lab) -> HeadPlan:
        """Returns the part of the plan that a model can compute."""
        plan = self._choices.plan.without_patches().within(lab.shape, policies_of(lab.kinds))[0]
        return content.usable(lab, plan)

    def _compute(self) -> None:
        """Runs the models under the plan, and sends the results."""
        pairs: list[Pair] = []
        for lab, prompt, before in zip(self.labs, self._prompts, self._baselines, strict=True):
            plan = self._plan_of(lab)
            # One pass runs both plans, as on the pages, so that the baseline has the same rounding.
            pairs.append((before, lab.run(prompt, [HeadPlan(), plan])[-1] if plan else before))
        self._pairs: list[Pair] = pairs
        self._send_parts()

    def _send_parts(self) -> None:
        with channel.use(self._channel):
            self._channel.begin()
            parts = [(index, part) for index, lab in enumerate(self.labs) for part in self._parts_of(index, lab)]
            self._channel.end()
            self._parts = [{"component": part.component, "key": part.key, "index": index,
                            "payload": pack(part.header | answer(part.key), part.arrays)} for index, part in parts]

    def _parts_of(self, index: int, lab: Lab) -> list[Part]:
        """Returns the grids, the large map and the effect panel of one model."""
        before, after = self._pairs[index]
        plan, choices = self._plan_of(lab), self._choices
        selection = choices.selection.within(lab.shape)
        address = (selection.kind, selection.layer, selection.head)
        maps = after.layer(*address[:2])
        changed = after is not before
        base = before.layer(*address[:2]).weights[selection.head] if changed else None
        known = choices.prediction if -len(after.outputs) <= choices.prediction < len(after.outputs) else LAST
        output = after.outputs[known] if after.outputs else None
        parts = [
            heads.part(key=f"heads-{index}", led=not index, on_event=self._on_event, selection={
                "kind": selection.kind, "layer": selection.layer, "head": selection.head, "scope": selection.scope},
                shading=choices.shading, **content.grids(lab, plan, after)),
            head_map.part(key=f"map-{index}", view=choices.view, form=choices.form, mean=choices.mean, changed=changed,
                          shading=choices.shading, on_event=self._on_event,
                          **content.head_map(lab, plan, after, maps, address, base, output)),
            effect.part(key=f"effect-{index}", index=known, on_event=self._on_event,
                        **effect_content.content(lab, plan, before, after))]
        for part in parts:
            self._channel.listen(part.key, part.on_event)
        return parts

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        """Answers the browser's question for a kernel, and handles events of the components."""
        if isinstance(message, dict) and message.get("hello"):
            self.send({"kernel": True})
        events = message.get("events") if isinstance(message, dict) else None
        if not isinstance(events, list):
            return
        before = self._choices
        self._channel.receive(channel.keyed(events))
        if self._choices.plan != before.plan:
            self.plan = self._choices.plan  # setting the plan runs the models, by _on_plan
        else:
            self._send_parts()  # parts are sent even if nothing changed, because they acknowledge the event

    def _on_event(self, event: dict[str, Any]) -> None:
        self._choices = self._choices.after(event, self._shape)

    def _on_plan(self, change: Any) -> None:
        self._choices = replace(self._choices, plan=change["new"])
        self._compute()

    def _on_text(self, change: Any) -> None:
        self._baselines = self._run_baselines()
        self._compute()

    @traitlets.validate("text")
    def _readable(self, proposal: Any) -> str:
        """Raises InputError, before the text is changed, if a model cannot tokenize the new text."""
        self._prompts = self._read(proposal["value"])
        return proposal["value"]

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Returns the widget, and static HTML for a reader without a kernel."""
        representations = super()._repr_mimebundle_(**kwargs)
        if representations is None:
            return None
        selection = self._choices.selection
        pictures = [fallback.html(lab, self._plan_of(lab), *pair, selection.within(lab.shape))
                    for lab, pair in zip(self.labs, self._pairs, strict=True)]
        bundle, metadata = representations if isinstance(representations, tuple) else (representations, {})
        return {**bundle, "text/html": "\n".join(pictures)}, metadata


def _shape_of(labs: Sequence[Lab]) -> dict[str, tuple[int, int]]:
    """Returns attention block -> (layers, heads), each the maximum over the models."""
    shape: dict[str, tuple[int, int]] = {}
    for lab in labs:
        for kind, (layers, heads_) in lab.shape.items():
            most = shape.get(kind, (0, 0))
            shape[kind] = max(layers, most[0]), max(heads_, most[1])
    return shape
