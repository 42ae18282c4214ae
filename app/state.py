"""LabState: everything that a visitor can set, as one immutable value that a link holds.

    ?model=assignment-selective&text=x%3D1%3B+x%3D%3F&plan=self-0.3c&at=0.3&view=mask

What has its default value is left out of the link. Reading never fails: what cannot be read becomes a
sentence for the visitor, and the rest opens.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

import models
from models.claims import MODULES as CLAIMS
from models.heads import HeadPlan
from models.lab import type_of
from models.recipes import RECIPES, task_of

DEFAULT_MODEL = "stories-selective"
SCOPES = ("head", "row", "column", "all")
VIEWS = ("used", "live", "constant", "difference", "mask")
SECTIONS = {"entropy": "Entropy", "memory": "Memory", "card": "Model card"}  # below Explore, closed at first
FIRST_CLAIM = next(iter(CLAIMS))
LAST = -1  # of a text's predictions
MAX_LINK_TEXT = 4000  # characters; of a longer text a link holds what the model reads
MAX_TEXT = 200_000  # characters that are kept of a text
MIN_BUDGET = 2  # tokens that a layer keeps at least: the first one and the present one
MAX_COMPARED = 3  # models beside the first
MAX_STEPS = 200  # states that undo remembers
MAX_HELD = 1_000_000  # characters of all texts that undo remembers
MERGE_SECONDS = 3.0  # changes of one kind that follow each other faster are one step of undo


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


def task_name(model: str) -> str:
    """`stories` of `stories-selective`."""
    return model.split("-")[0]


def shape_of(model: str) -> tuple[int, int]:
    """Layers and heads of a model, which need not be loaded."""
    config = RECIPES[model].config
    return config.layers, config.heads


def size_of(models_: Iterable[str]) -> tuple[int, int]:
    """The most layers and the most heads that one of the models has: where a selection may stand."""
    layers, heads = zip(*map(shape_of, models_), strict=True)
    return max(layers), max(heads)


def policies_of(models_: Iterable[str]) -> frozenset[str]:
    """The scale policies that at least one of the models knows."""
    return frozenset(policy for model in models_ for policy in type_of(model).policies)


def fit(plan: HeadPlan, model: str, *others: str) -> tuple[HeadPlan, list[str]]:
    """The part of a plan that at least one of the models has heads and scales for, and what was left out."""
    shape, *beside = ({"self": shape_of(name)} for name in (model, *others))
    return plan.within(shape, policies_of((model, *others)), beside)


def views_of(*models_: str) -> tuple[str, ...]:
    """What can be shown large: the mask F only where one of the models has it."""
    return VIEWS if any(type_of(model).selects for model in models_) else VIEWS[:-1]


def family_of(model: str) -> list[str]:
    """The models that are here and read the same texts, itself among them."""
    return [name for name in models.names() if task_name(name) == task_name(model)]


@dataclass(frozen=True)
class LabState:
    """What a visitor has set; see the module's docstring.

    Attributes:
        model: name of a model.
        text: as typed, whole.
        plan: what was done to the heads; only heads that one of the models has.
        selection: only heads that one of the models has.
        view: which matrix is shown large, one of views_of its models.
        asked: which of the text's predictions is shown, counted from 0, or LAST.
        compared: models of the same family that stand beside `model` on the Compare and Length pages.
        length: tokens, the length that the Length page looks at; 0 for the trained one.
        budgets: tokens that each layer of a selective model keeps while it writes; none for all.
        section: what is open below Explore, one of SECTIONS; empty for nothing.
        claim: which of CLAIMS the Results page shows.
    """

    model: str = DEFAULT_MODEL
    text: str = example_text(DEFAULT_MODEL)
    plan: HeadPlan = HeadPlan()
    selection: Selection = Selection()
    view: str = "used"
    asked: int = LAST
    compared: tuple[str, ...] = ()
    length: int = 0
    budgets: tuple[int, ...] = ()
    section: str = ""
    claim: str = FIRST_CLAIM

    def query(self, read_chars: int = MAX_LINK_TEXT) -> str:
        """The link's query string, without `?`; the empty string for the default state.

        Args:
            read_chars: how much of a text over MAX_LINK_TEXT the model reads: that much stands in the link.
        """
        text = self.text if len(self.text) <= MAX_LINK_TEXT else self.text[:min(read_chars, MAX_LINK_TEXT)]
        pairs = {
            "model": self.model if self.model != DEFAULT_MODEL else None,
            "text": text if text != example_text(self.model) else None,
            "plan": str(self.plan) or None,
            "at": str(self.selection) if self.selection != Selection() else None,
            "view": self.view if self.view != "used" else None,
            "ask": str(self.asked) if self.asked != LAST else None,
            "with": " ".join(self.compared) or None,
            "n": str(self.length) if self.length else None,
            "keep": "-".join(map(str, self.budgets)) or None,
            "open": self.section or None,
            "claim": self.claim if self.claim != FIRST_CLAIM else None,
        }
        # A lone surrogate cannot be written as UTF-8; the link holds a question mark in its place.
        return urlencode({key: value for key, value in pairs.items() if value is not None}, errors="replace")

    @property
    def models(self) -> tuple[str, ...]:
        """All models of this state, `model` first."""
        return (self.model, *self.compared)

    def alone(self, name: str) -> LabState:
        """What of this state concerns one of its models: a plan and a selection that it has the heads for."""
        return replace(self, compared=()).with_model(name)

    def with_model(self, name: str) -> LabState:
        """The same experiment on another model; what does not fit it goes back to its default."""
        same = task_name(name) == task_name(self.model)
        compared = tuple(n for n in self.compared if n != name) if same else ()
        layers, _ = shape_of(name)
        return LabState(
            name, self.text if same else example_text(name),
            fit(self.plan, name, *compared)[0] if same else HeadPlan(),
            self.selection.within(*size_of((name, *compared))),
            self.view if self.view in views_of(name, *compared) else "used", self.asked if same else LAST, compared,
            self.length if same else 0,
            self.budgets if same and type_of(name).selects and len(self.budgets) == layers else (),
            self.section, self.claim)


def read_query(params: Mapping[str, str]) -> tuple[LabState, list[str]]:
    """The state that a link describes, and a sentence for each part of it that could not be read."""
    problems = []
    model = params.get("model", DEFAULT_MODEL)
    if model not in RECIPES:
        problems.append(f"This link asks for a model “{_cut(model)}”, which is not here; "
                        f"{DEFAULT_MODEL} was opened instead.")
        model = DEFAULT_MODEL
    text = params.get("text", example_text(model))
    if len(text) > MAX_TEXT:
        problems.append(f"This link's text has {len(text):,} characters; the first {MAX_TEXT:,} were kept.")
    compared, unfit = _read_compared(params.get("with", ""), model)
    plan, unread = HeadPlan.read(params.get("plan", ""))
    plan, outside = fit(plan, model, *compared)
    if unread or outside:
        problems.append(f"Part of this link's plan was left out: {'; '.join((unread + outside)[:4])}.")
    selection = _read_selection(params.get("at", ""), *size_of((model, *compared)))
    if selection is None:
        problems.append(f"This link selects “{_cut(params['at'])}”, which is no head of this model.")
    view = params.get("view", "used")
    if view not in views_of(model, *compared):
        problems.append(f"This link asks for a view “{_cut(view)}”, which this model has not.")
        view = "used"
    asked = params.get("ask", "")
    asked = int(asked) if re.fullmatch(r"\d{1,3}", asked, re.ASCII) else LAST
    length = params.get("n", "")
    length = int(length) if re.fullmatch(r"\d{1,4}", length, re.ASCII) else 0
    budgets = params.get("keep", "")
    kept = tuple(map(int, budgets.split("-"))) if re.fullmatch(r"\d{1,4}(-\d{1,4})*", budgets, re.ASCII) else ()
    if budgets and not (type_of(model).selects and len(kept) == shape_of(model)[0] and min(kept) >= MIN_BUDGET):
        unfit.append(f"This link asks for a memory of “{_cut(budgets)}”, which this model has not.")
        kept = ()
    section, claim = params.get("open", ""), params.get("claim", FIRST_CLAIM)
    if section not in ("", *SECTIONS):
        unfit.append(f"This link opens “{_cut(section)}”, which is not here.")
        section = ""
    if claim not in CLAIMS:
        unfit.append(f"This link asks for the claim “{_cut(claim)}”, which is not here.")
        claim = FIRST_CLAIM
    return LabState(model, text[:MAX_TEXT], plan, selection or Selection(), view, asked, compared, length, kept,
                    section, claim), problems + unfit


def _read_compared(text: str, model: str) -> tuple[tuple[str, ...], list[str]]:
    """The models of a link that can stand beside `model`, and a sentence for those that cannot."""
    fit, unknown, strange = [], [], []
    for name in dict.fromkeys(text[:MAX_LINK_TEXT].split()):
        if name not in RECIPES:
            unknown.append(f"“{_cut(name)}”")
        elif task_name(name) != task_name(model):
            strange.append(name)
        elif name != model:
            fit.append(name)
    problems = [f"This link compares with {', '.join(unknown[:3])}, which is not here."] if unknown else []
    if strange:
        problems.append(f"{', '.join(strange[:3])} cannot stand beside {model}: they do not read the same texts.")
    if len(fit) > MAX_COMPARED:
        problems.append(f"Four models fit beside each other; {', '.join(fit[MAX_COMPARED:][:3])} was left out.")
    return tuple(fit[:MAX_COMPARED]), problems


def _read_selection(text: str, layers: int, heads: int) -> Selection | None:
    if not text:
        return Selection()
    match = re.fullmatch(rf"(\d{{1,3}})\.(\d{{1,3}})(?:\.({'|'.join(SCOPES[1:])}))?", text, re.ASCII)
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
        readable: task -> the last text that could be read, whose picture stays while another cannot.
    """

    present: LabState = field(default_factory=LabState)
    problems: list[str] = field(default_factory=list)
    past: list[LabState] = field(default_factory=list)
    future: list[LabState] = field(default_factory=list)
    push: bool = False
    readable: dict[str, str] = field(default_factory=dict)
    _merging: str = ""
    _changed: float = field(default=0.0, compare=False)

    def last_readable(self, model: str) -> str:
        """The last text that this model's family could read."""
        return self.readable.get(task_name(model), example_text(model))

    def do(self, state: LabState, merge: str = "") -> None:
        """Goes to a new state.

        Args:
            merge: a name for a run of changes, like the letters of a word or a slider's way, that undo takes
                back at once; the empty string for a change of its own.
        """
        if state == self.present:
            return
        now = time.monotonic()
        if not merge or merge != self._merging or now - self._changed > MERGE_SECONDS:
            self.past = [*self.past, self.present][-MAX_STEPS:]
            while sum(len(old.text) for old in self.past) > MAX_HELD:
                self.past.pop(0)
            self.push = True
        self.present, self.future, self.problems, self._merging, self._changed = state, [], [], merge, now

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

    def open(self, state: LabState, problems: list[str]) -> None:
        """Goes to a link's state: the first one of a visit, or the browser's back and forward."""
        self.do(state)
        self.problems, self.push = problems, False
