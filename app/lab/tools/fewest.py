"""Which heads does it need? A search for the smallest set of heads, three groups, or the fewest that make a token win.

The weights are frozen. The result is a plan.
"""

import contextlib
from dataclasses import dataclass, replace
from typing import Any

import torch

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.lab.view import ERRORS, View, present_view
from app.panels import frame
from app.server import limits, serving
from app.server.jobs import Cancelled, Job, Progress
from app.state import events, visit
from app.state.lab_view import BOUNDS, FEWEST, WANTED, WINNING, Search
from app.state.lab_view import GROUPS as IN_GROUPS
from app.state.session import history
from app.texts import N_, _, spelt
from components.mounting import Content
from models import HeadPlan, Lab, Output
from models.analysis import head_groups, minimal_heads
from models.analysis.answer import winning_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_groups import FACILITATING, GROUPS, INTERFERING, IRRELEVANT, UNDECIDED
from models.analysis.head_measures import confidences, in_one_row
from models.prompt import Prompt
from models.trace import Trace

TITLE, CHECKING, COUNTING = (N_("Learning gates, step"), N_("Exchanging heads"), N_("Evaluating head sets, size"))
# passes that one search counts against the visitor's limit. A search takes as long as 600 passes (18 tokens) to 1,200
# passes (23 tokens).
SEARCH = 250
BY_COST, BY_CONFIDENCE, LEARNED = (N_("by loss when pruned alone"), N_("by confidence"), N_("learned gates"))
KEY = "all.fewest"
ACT = {"type": "act", "tool": KEY}
PACE = 400  # ms between two reports of the search
WORDS = 4  # number of tokens among which one is chosen to win
TITLES = {FEWEST: N_("Smallest set"), IN_GROUPS: N_("Three groups"), WINNING: N_("Make a token win")}
CHANGES = {False: N_("Prune"), True: N_("Constant")}
SCOPES = {False: N_("This prediction"), True: N_("The whole text")}
NAMES = {FACILITATING: N_("facilitating"), INTERFERING: N_("interfering"), IRRELEVANT: N_("irrelevant"),
         UNDECIDED: N_("undecided")}


@dataclass(frozen=True, eq=False)
class Fewest:
    """The sets of heads that the search found, and curves of simpler pruning orders for comparison."""

    plans: dict[int, tuple[float, HeadPlan]]  # number of remaining heads -> (KL in nats, the plan that prunes others)
    orders: dict[str, list[tuple[int, float]]]  # name of a pruning order -> (remaining heads, KL divergence in nats)
    heads: int  # number of heads of the model

    def answer(self, bound: float) -> int:
        """Returns the smallest number of heads with a KL divergence within the bound, in nats."""
        return min((size for size, (divergence, _) in self.plans.items() if divergence <= bound), default=self.heads)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The three groups of heads, and the addresses of the heads in the same order."""

    groups: head_groups.Groups
    heads: list[tuple[str, int, int]]

    def of(self, name: str) -> list[tuple[str, int, int]]:
        return [head for head, group in zip(self.heads, self.groups.names, strict=True) if group == name]


@dataclass(frozen=True, eq=False)
class Won:
    """The sets of heads under whose intervention a token wins, or nearly wins."""

    plans: dict[int, tuple[float, HeadPlan]]  # number of changed heads -> (margin of the token in nats, the plan)
    fewest: int | None  # the smallest number of heads under which the token wins; None if no set was found
    nearest: int  # `fewest`, or the number of heads with the largest margin
    heads: int  # number of heads of the model
    token: int  # id of the chosen token
    other: int  # id of the most probable other token under the nearest plan
    probabilities: tuple[float, float]  # of the token and of the other one, under the nearest plan


@dataclass
class Under:
    """A running or completed search, and a key of everything that the search depends on."""

    key: tuple[Any, ...]
    job: Job[Any]


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
        return Grouped(head_groups.fit(gating, tell=tell, cancelled=cancelled, turn=serving.computing), gating.heads)

    def won(tell: Progress, cancelled: Cancelled) -> Won:
        token, constant = key[-1]
        with serving.computing():
            gating = Gating.of(lab, prompt, question, constant)
        winning = winning_heads.search(gating, token, tell, cancelled, serving.computing)
        with serving.computing():
            nearest = winning.best[winning.nearest][1]
            probabilities = gating.log_probabilities(1 - nearest[None].float())[0, 0].exp()
        other = next(int(i) for i in probabilities.argsort(descending=True) if int(i) != token)
        return Won({size: (margin, gating.plan(~changed)) for size, (margin, changed) in winning.best.items()},
                   winning.fewest, winning.nearest, len(gating.heads), token, other,
                   (float(probabilities[token]), float(probabilities[other])))

    work: dict[str, Any] = {FEWEST: fewest, IN_GROUPS: grouped, WINNING: won}
    job: Job[Any] = Job(COUNTING if search.wanted == WINNING else TITLE, work[search.wanted])
    return job


def content(view: View, tool: Tool) -> Content:
    """Returns the settings of the search, its progress or its result."""
    search, this = view.state.search, visit.current()
    question, key = _question(view)
    under: Under | None = this.search
    if under is not None and under.key != key:
        under.job.cancel()
        under = this.search = None
    running = under is not None and under.job.running
    title = parts.title(_("Which heads does it need?"), _("gates learned for this text"),
                        parts.button(_("Cancel") if running else _("Search"), ACT | {"search": not running}))
    head = [title, parts.row(*_settings(view, search))]
    if under is None:
        return parts.composed(head)
    if running:
        under.job.poll()
        text = " · ".join([_(under.job.what), *frame.amounts(under.job)])
        return parts.composed(head, {"part": "progress", "text": text, "share": under.job.share}, again=PACE)
    if under.job.problem:
        return parts.composed(head, parts.note(_(under.job.problem)))
    result = under.job.result
    assert result is not None
    return parts.composed(head, *(_fewest(result, search) if isinstance(result, Fewest) else
                                  _groups(view, result) if isinstance(result, Grouped) else _won(view, result)))


def _question(view: View) -> tuple[Question, tuple[Any, ...]]:
    """Returns the predictions that the search keeps, and a key of everything that the search depends on."""
    search, before = view.state.search, view.before
    wins = search.wanted == WINNING
    question = Question.of(before, None if search.whole and not wins else view.index)
    settings = {FEWEST: (search.bound,), WINNING: (
        _token(view, _output(view)) if wins else -1, search.constant and view.lab.constant is not None)}
    return question, (view.lab.identity, before.prompt, question, search.wanted, settings.get(search.wanted))


def _output(view: View) -> Output:
    """Returns the prediction in which the chosen token should win."""
    return compute.shown_output(view.before.outputs, view.state.prediction)


def _token(view: View, output: Output) -> int:
    """Returns the id of the chosen token; by default the second most probable token of the prediction."""
    token = view.state.explanation.token
    return token if 0 <= token < len(output.names) else int(output.top(2)[-1])


def _settings(view: View, search: Search) -> list[parts.Part]:
    def choose(label: str, options: dict[str, str], value: str, name: str) -> parts.Part:
        return parts.choice(label, options, value, act=ACT, field=name)

    row = [choose(_("Search for"), {key: _(text) for key, text in TITLES.items()}, search.wanted, "wanted")]
    if search.wanted != WINNING:
        row.append(choose(_("Scope"), {str(int(key)): _(text) for key, text in SCOPES.items()}, str(int(search.whole)),
                          "whole"))
    elif view.lab.constant is not None:
        row.append(choose(_("Change"), {str(int(key)): _(text) for key, text in CHANGES.items()},
                          str(int(search.constant)), "constant"))
    if search.wanted == FEWEST:
        row.append(parts.choice(_("Largest KL divergence"), {f"{bound:g}": _(
            "KL at most {bound:g} nats", bound=bound) for bound in BOUNDS}, f"{search.bound:g}", act=ACT, field="bound",
            many=True))
    if search.wanted == WINNING:
        output = _output(view)
        token = _token(view, output)
        ids = list(dict.fromkeys([*map(int, output.top(WORDS)), token]))
        row.append(parts.choice(_("Token that should win"), dict(zip(map(str, ids), spelt(
            output.names[i] for i in ids), strict=True)), str(token), act={"type": "contribution", "token": 0},
            field="token", many=True))
    return row


def _fewest(result: Fewest, search: Search) -> list[parts.Part]:
    size = result.answer(search.bound)
    divergence, _plan = result.plans[size]
    learned = [(curve, kl) for curve, (kl, _plan) in result.plans.items()]
    curves = [(name, _(name), points) for name, points in {LEARNED: learned, **result.orders}.items()]
    return [parts.note(_("{size} of {heads} heads are enough: KL {kl:.3f} nats (at most {bound:g}).",
                         size=size, heads=result.heads, kl=divergence, bound=search.bound)),
            parts.button(_("Prune the others"), ACT | {"apply": FEWEST}),
            *parts.lines(_("KL by the number of heads left"), curves, _("heads left"), at=size)]


def _groups(view: View, result: Grouped) -> list[parts.Part]:
    rows = []
    for name in GROUPS:
        heads = result.of(name)
        if heads:
            rows.append([_(NAMES[name]), str(len(heads)), f"{result.groups.losses[name]:.3f}",
                         ", ".join(map(parts.short, heads)), parts.press(_("Prune these"), ACT | {"apply": name})])
    return [parts.table([_("group"), _("heads"), _("loss without them"), "", ""], rows), parts.note(_(
        "Unmodified loss: {loss:.3f} nats. Gates were fitted twice, with a penalty on closed and on open gates. Open "
        "in both: facilitating; closed in both: interfering.", loss=result.groups.loss))]


def _won(view: View, won: Won) -> list[parts.Part]:
    output = _output(view)
    token, other = (parts.word(label) for label in spelt([output.names[won.token], output.names[won.other]]))
    plan = won.plans[won.nearest][1]
    slots = {"n": str(won.nearest), "heads": str(won.heads), "token": token, "other": other,
             "p": {"share": won.probabilities[0]}, "q": {"share": won.probabilities[1]}}
    text = _("No set makes {token} win. The nearest changes {n} of {heads} heads: "
             "{token} has {p}, {other} {q}.") if won.fewest is None else _(
        "{n} of {heads} heads are enough: {token} has {p}, {other} {q}.")
    margins = [(size, margin) for size, (margin, _plan) in won.plans.items()]
    return [parts.note(parts.said(text, **slots)), parts.note(", ".join(map(parts.short, plan.heads))),
            parts.button(_("Change these heads"), ACT | {"apply": WINNING}),
            *parts.lines(_("Margin of the token by changed heads"),
                         [("margin", _("margin, nats"), margins)], _("changed heads"), at=won.nearest)]


def act(event: dict[str, Any]) -> None:
    """Changes the settings, starts or cancels the search, or applies its result; every value is untrusted."""
    present, this = history().present, visit.current()
    old = present.search
    bounds = {f"{bound:g}": bound for bound in BOUNDS}
    flags = {"0": False, "1": True}

    def known(name: str, values: dict[str, Any], default: Any) -> Any:
        value = event.get(name)
        return values.get(value, default) if isinstance(value, str) else default

    search = Search(known("wanted", dict(zip(WANTED, WANTED, strict=True)), old.wanted),
                    known("whole", flags, old.whole), known("bound", bounds, old.bound),
                    known("constant", flags, old.constant))
    if search != old:
        history().do(replace(present, search=search), merge="viewing")
    if event.get("search") is True:
        with contextlib.suppress(*ERRORS):
            view = present_view()
            question, key = _question(view)
            if view.before.outputs:
                this.search = Under(key, _job(view, question, key))
    elif event.get("search") is False and this.search is not None:
        this.search.job.cancel()
    plan = _plan(event.get("apply"))
    if plan is not None:
        events.set_plan(plan)


def _job(view: View, question: Question, key: tuple[Any, ...]) -> Job[Any]:
    try:
        job = begin(view.lab, view.before.prompt, question, view.state.search, key)
        return job.start(polled=True)
    except limits.LimitError as error:
        return Job[Any](TITLE, None).refuse(str(error))


def _plan(name: object) -> HeadPlan | None:
    """Returns the plan that applies a part of the finished search."""
    under: Under | None = visit.current().search
    result = under.job.result if under is not None else None
    if name == FEWEST and isinstance(result, Fewest):
        return result.plans[result.answer(history().present.search.bound)][1]
    if name == WINNING and isinstance(result, Won):
        return result.plans[result.nearest][1]
    if isinstance(result, Grouped) and isinstance(name, str) and name in GROUPS:
        return HeadPlan().with_heads(result.of(name), gate=0.0)
    return None


TOOLS = [
    Tool(KEY, N_("Which heads does it need?"), N_("minimal heads"), content,
         fits=lambda view: bool(view.before.outputs) and not view.lab.task.sees, act=act)]
