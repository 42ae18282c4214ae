"""Minimal heads: searches for the smallest set of heads that keeps the prediction, or that makes a chosen token win.

A third search divides the heads into three groups. The weights are frozen. The result is a plan.
"""

from dataclasses import dataclass
from typing import Any

import torch

from app import compute
from app.panels.answer import winning
from app.panels.answer.winning import Won
from app.server import limits, serving
from app.server.jobs import Cancelled, Job, Progress
from app.state.pages.search import FEWEST, WINNING, Search
from app.state.pages.search import GROUPS as IN_GROUPS
from app.texts import N_
from models import HeadPlan, Lab
from models.analysis import head_groups, minimal_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_groups import FACILITATING, INTERFERING, IRRELEVANT, UNDECIDED
from models.analysis.head_measures import confidences, in_one_row
from models.prompt import Prompt
from models.trace import Trace

TITLES = {FEWEST: N_("Smallest set"), IN_GROUPS: N_("Three groups"), WINNING: N_("Make a token win")}
CHANGES = {False: N_("Prune"), True: N_("Constant")}
SCOPES = {False: N_("This prediction"), True: N_("The whole text")}
TITLE, CHECKING, COUNTING = (N_("Learning gates, step"), N_("Exchanging heads"), N_("Evaluating head sets, size"))
# passes that one search counts against the visitor's limit. A search takes as long as 600 passes (18 tokens) to 1,200
# passes (23 tokens).
SEARCH = 250
BY_COST, BY_CONFIDENCE, LEARNED = (N_("by loss when pruned alone"), N_("by confidence"), N_("learned gates"))
NAMES = {FACILITATING: N_("facilitating"), INTERFERING: N_("interfering"), IRRELEVANT: N_("irrelevant"),
         UNDECIDED: N_("undecided")}
@dataclass(frozen=True, eq=False)
class Fewest:
    """The sets of heads that the search found, and curves of simpler pruning orders for comparison.

    Attributes:
        plans: number of remaining heads -> (KL divergence in nats, the plan that prunes all other heads).
        orders: name of a pruning order -> list of (remaining heads, KL divergence in nats).
        heads: number of heads of the model.
    """

    plans: dict[int, tuple[float, HeadPlan]]
    orders: dict[str, list[tuple[int, float]]]
    heads: int

    def answer(self, bound: float) -> int:
        """Returns the smallest number of heads with a KL divergence within the bound, in nats."""
        return min((size for size, (divergence, _) in self.plans.items() if divergence <= bound), default=self.heads)


@dataclass(frozen=True, eq=False)
class Grouped:
    """The three groups of heads and the addresses of the heads, in the same order.

    Attributes:
        groups: the fitted groups.
        heads: addresses of the heads.
        known: True if the gates were fitted to right answers, False if to the model's own answers.
    """

    groups: head_groups.Groups
    heads: list[tuple[str, int, int]]
    known: bool

    def of(self, name: str) -> list[tuple[str, int, int]]:
        """Returns the addresses of the heads of a group."""
        return [head for head, group in zip(self.heads, self.groups.names, strict=True) if group == name]


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
        groups = head_groups.fit(gating, tell=tell, cancelled=cancelled, turn=serving.computing)
        return Grouped(groups, gating.heads, question.known)

    def won(tell: Progress, cancelled: Cancelled) -> Won:
        token, constant = key[-1]
        return winning.find(lab, prompt, question, token, constant, tell, cancelled)

    work: dict[str, Any] = {FEWEST: fewest, IN_GROUPS: grouped, WINNING: won}
    job: Job[Any] = Job(COUNTING if search.wanted == WINNING else TITLE, work[search.wanted])
    return job
