"""Searches over heads: the smallest set that keeps the prediction, three groups, or the fewest that make a token win.

The weights are frozen. The result is a plan.
"""

from dataclasses import dataclass
from typing import Any

import torch

from app import compute
from app.server import limits, serving
from app.server.jobs import Cancelled, Job, Progress
from app.state.pages.answer_view import FEWEST, GROUPS, WINNING, Search
from app.texts import N_
from models import HeadPlan, Lab
from models.analysis import head_groups, minimal_heads
from models.analysis.answer import winning_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_measures import confidences, in_one_row
from models.prompt import Prompt
from models.trace import Trace

TITLE, CHECKING, COUNTING = (N_("Learning gates, step"), N_("Exchanging heads"), N_("Evaluating head sets, size"))
# passes that one search counts against the visitor's limit. A search takes as long as 600 passes (18 tokens) to 1,200
# passes (23 tokens).
SEARCH = 250
BY_COST, BY_CONFIDENCE, LEARNED = (N_("by loss when pruned alone"), N_("by confidence"), N_("learned gates"))


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
        """Returns the addresses of the heads of a group."""
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

    work: dict[str, Any] = {FEWEST: fewest, GROUPS: grouped, WINNING: won}
    job: Job[Any] = Job(COUNTING if search.wanted == WINNING else TITLE, work[search.wanted])
    return job
