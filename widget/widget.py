"""HeadsWidget: an anywidget with the Lab of one or more models, computed by the kernel, and its JavaScript and style.

    widget = attention_lab.show(lab, "Once upon a time")
    widget.plan                                       # the interventions by clicks and keys; may be set
    widget.trace.output.labels[:2]
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from app import texts
from app.content import picture, tools
from app.content.effect import usable
from app.content.tools import TOOLS
from app.content.view import View
from app.state.selection import Selection
from components import channel
from components.bundle import bundle
from components.channel import Channel
from components.colours import COLOURS
from components.mounting import FOLDER as COMPONENTS
from components.mounting import Part, answer, styles
from components.payload import pack
from models import HeadPlan, Lab, Trace
from models.kind import TARGET, largest_shape, policies_of
from models.prompt import Prompt
from widget import fallback
from widget.state import Choices

FOLDER = Path(__file__).parent
# The sizes of the Lab follow the cell, which is narrower than the window. A bar fixed to the window would hide cells.
FRAME = """
:host { container-type: inline-size }
.root .lab { padding-bottom: 8px }
.root .phone-bar { position: static }
"""
Pair = tuple[Trace, Trace]  # the baseline trace and the trace under the plan


@functools.cache
def script() -> str:
    """Returns the module for anywidget, whose default export has `render`. The module sends no network requests."""
    sheet = re.sub(r"@media (?=(?:(?:and )?\((?:max|min)-width: \d+px\) )+\{)", "@container ", styles()["lab"]) + FRAME
    data = {"colours": COLOURS, "texts": {}, "glossary": texts.glossary(), "styles": {"lab": sheet}, "embedded": True}
    names = {tool.name for tool in TOOLS}
    drawings = [path for path in sorted((COMPONENTS / "lab" / "tools").glob("*.js")) if path.stem in names]
    return f"{bundle(FOLDER / 'widget.js', drawings)}\nentry.start({json.dumps(data)});\n" \
           "export default { render: entry.render };\n"


@functools.cache
def style() -> str:
    """Returns the style sheet of the widget's frame."""
    return (FOLDER / "widget.css").read_text("utf-8")


@dataclass(frozen=True, eq=False)
class Shown(View):
    """A view of traces that were computed before."""

    lab: Lab
    state: Choices
    pair: Pair

    @property
    def traces(self) -> Pair:  # noqa: D102
        return self.pair


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
    _parts: Any = traitlets.List().tag(sync=True)  # per model: key and payload of its Lab

    def __init__(self, labs: Sequence[Lab], text: str, plan: HeadPlan = HeadPlan()) -> None:
        self._esm, self._css = script(), style()
        self.labs = tuple(labs)
        self._shape = largest_shape(lab.shape for lab in self.labs)
        self._channel = Channel()
        self._choices = Choices(plan, Selection.default(plan, self._shape).within(self._shape))
        # setting the text tokenizes it for all models
        super().__init__(text=text, plan=plan)
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
        return usable(lab, plan)

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
            parts = [self._part(index) for index in range(len(self.labs))]
            self._channel.end()
            self._parts = [{"key": part.key, "payload": pack(part.header | answer(part.key), part.arrays)}
                           for part in parts]

    def _part(self, index: int) -> Part:
        """Returns the Lab of one model."""
        lab, choices = self.labs[index], self._choices
        view = Shown(lab, replace(choices, selection=choices.selection.within(lab.shape)), self._pairs[index])
        header, arrays = picture.content(view)
        fitting = [tool for tool in tools.TOOLS if tool.fits(view)]
        tool, more = tools.content(view, fitting)
        pins, pinned = tools.pinned(view, fitting)
        written = view.before.written if TARGET in view.before.rows and not view.changed else None
        header |= {"model": picture.model(lab, lab.name), "tools": [each.entry for each in fitting], "tool": tool,
                   "pins": pins, "thing": choices.lab.thing, "text": None, "lesson": None,
                   "written": None if written is None else {"before": written, "after": None}}
        part = Part("lab", f"lab-{index}", header, arrays | more | pinned, self._on_event)
        self._channel.listen(part.key, part.on_event)
        return part

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
        self._choices = self._choices.with_plan(change["new"])
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
