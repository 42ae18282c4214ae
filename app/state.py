"""LabState: everything that a visitor can set, as one immutable value that a link holds.

    ?model=assignment-selective&text=x%3D1%3B+x%3D%3F&plan=self-0.3c&at=0.3&view=mask

What has its default value is left out of the link. Reading never fails: what cannot be read becomes a
sentence for the visitor, and the rest opens.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import models
from models.checkpoint import CheckpointError
from models.heads import MAX_INDEX, HeadPlan
from models.recipes import task_of

DEFAULT_MODEL = "stories-selective"
SCOPES = ("head", "row", "column", "all")
VIEWS = ("used", "live", "constant", "difference", "mask")
MAX_LINK_TEXT = 2000  # characters: more than the 128 tokens that a model reads; the rest stays in the box only
MAX_STEPS = 200  # states that undo remembers


@dataclass(frozen=True)
class Selection:
    """The head that is shown large, and which heads a control acts on.

    Attributes:
        layer, head: counted from 0.
        scope: `head`, its `row` (the layer), its `column` (the head in all layers), or `all`.
    """

    layer: int = 0
    head: int = 0
    scope: str = "head"

    def heads(self, layers: int, heads: int) -> list[tuple[str, int, int]]:
        """The (kind, layer, head) that a control acts on."""
        return [("self", layer, head) for layer in range(layers) for head in range(heads)
                if (self.scope in ("column", "all") or layer == self.layer)
                and (self.scope in ("row", "all") or head == self.head)]

    def within(self, layers: int, heads: int) -> Selection:
        """The nearest selection that exists in a model of this size."""
        return replace(self, layer=min(self.layer, layers - 1), head=min(self.head, heads - 1))

    def __str__(self) -> str:
        """`1.2`, `1.2.row`"""
        return f"{self.layer}.{self.head}" + ("" if self.scope == "head" else f".{self.scope}")


def example_text(model: str) -> str:
    """The text that a model shows first."""
    return task_of(model).examples[0][1]


def shape_of(model: str) -> tuple[int, int]:
    """Layers and heads of a model; of a damaged one as many as there can be, for the page to tell of the damage."""
    try:
        return models.load(model).shape["self"]
    except CheckpointError:
        return MAX_INDEX + 1, MAX_INDEX + 1


@dataclass(frozen=True)
class LabState:
    """What a visitor has set; see the module's docstring.

    Attributes:
        model: name of a shipped model.
        text: as typed, whole.
        plan: what was done to the heads; only heads that the model has.
        selection: only heads that the model has.
        view: which matrix is shown large, one of VIEWS.
    """

    model: str = DEFAULT_MODEL
    text: str = example_text(DEFAULT_MODEL)
    plan: HeadPlan = HeadPlan()
    selection: Selection = Selection()
    view: str = "used"

    def query(self) -> str:
        """The link's query string, without `?`; the empty string for the default state."""
        pairs = {
            "model": self.model if self.model != DEFAULT_MODEL else None,
            "text": self.text[:MAX_LINK_TEXT] if self.text != example_text(self.model) else None,
            "plan": str(self.plan) or None,
            "at": str(self.selection) if self.selection != Selection() else None,
            "view": self.view if self.view != "used" else None,
        }
        # A lone surrogate cannot be written as UTF-8; the link holds a question mark in its place.
        return urlencode({key: value for key, value in pairs.items() if value is not None}, errors="replace")

    def with_model(self, name: str) -> LabState:
        """The same experiment on another model; what does not fit it goes back to its default."""
        same_task = name.split("-")[0] == self.model.split("-")[0]
        layers, heads = shape_of(name)
        return replace(
            self, model=name,
            text=self.text if same_task else example_text(name),
            plan=self.plan if same_task else HeadPlan(),
            selection=self.selection.within(layers, heads),
            view=self.view if self.view != "mask" or name.endswith("selective") else "used")


def read_query(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """The state that a link describes, and a sentence for each part of it that could not be read."""
    problems = []
    model = params.get("model", DEFAULT_MODEL)
    if model not in models.names():
        problems.append(f"This link asks for a model “{_cut(model)}”, which is not here; "
                        f"{DEFAULT_MODEL} was opened instead.")
        model = DEFAULT_MODEL
    layers, heads = shape_of(model)
    plan, unread = HeadPlan.read(params.get("plan", ""))
    plan, outside = plan.within({"self": (layers, heads)})
    if unread or outside:
        what = "; ".join((unread + list(dict.fromkeys(outside)))[:4])
        problems.append(f"Part of this link's plan was left out: {what}.")
    selection = _read_selection(params.get("at", ""), layers, heads)
    if selection is None:
        problems.append(f"This link selects “{_cut(params['at'])}”, which is no head of this model.")
    view = params.get("view", "used")
    if view not in VIEWS or (view == "mask" and not model.endswith("selective")):
        problems.append(f"This link asks for a view “{_cut(view)}”, which this model has not.")
        view = "used"
    return LabState(model, params.get("text", example_text(model)), plan, selection or Selection(), view), problems


def _read_selection(text: str, layers: int, heads: int) -> Selection | None:
    if not text:
        return Selection()
    match = re.fullmatch(r"(\d{1,3})\.(\d{1,3})(?:\.(row|column|all))?", text, re.ASCII)
    if not match or int(match[1]) >= layers or int(match[2]) >= heads:
        return None
    return Selection(int(match[1]), int(match[2]), match[3] or "head")


def _cut(text: str) -> str:
    return text if len(text) <= 40 else text[:40] + "…"


@dataclass
class History:
    """One visitor's states: where they are, and where undo and redo lead.

    Attributes:
        present: the state on screen.
        problems: what the opened link said that could not be read; gone with the next change.
        push: True if the browser should remember the state before as an entry of its own.
        readable: for each model, the last text that could be read, whose picture stays meanwhile.
    """

    present: LabState = field(default_factory=LabState)
    problems: list[str] = field(default_factory=list)
    past: list[LabState] = field(default_factory=list)
    future: list[LabState] = field(default_factory=list)
    push: bool = False
    readable: dict[str, str] = field(default_factory=dict)
    _merging: str = ""

    def do(self, state: LabState, merge: str = "") -> None:
        """Goes to a new state.

        Args:
            merge: a name for a run of changes, like the letters of a word or a slider's way, that undo takes
                back at once; the empty string for a change of its own.
        """
        if state == self.present:
            return
        if not merge or merge != self._merging:
            self.past = [*self.past, self.present][-MAX_STEPS:]
            self.push = True
        self.present, self.future, self.problems, self._merging = state, [], [], merge

    def settle(self) -> None:
        """Ends a run of changes: the next one is a step of its own."""
        self._merging = ""

    def undo(self) -> None:
        if self.past:
            self._go(self.past, self.future)

    def redo(self) -> None:
        if self.future:
            self._go(self.future, self.past)

    def _go(self, source: list[LabState], other: list[LabState]) -> None:
        other.append(self.present)
        self.present, self.problems, self._merging, self.push = source.pop(), [], "", True

    def open(self, params: Mapping[str, str]) -> None:
        """Goes to a link's state: the first one of a visit, or the browser's back and forward."""
        state, problems = read_query(params)
        self.do(state)
        self.problems, self.push = problems, False
