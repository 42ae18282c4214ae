"""Winning heads: the fewest heads whose removal, or whose constant pattern, makes a chosen token the most probable."""

from dataclasses import dataclass

from app import compute
from app.compute import AnyTrace
from app.server import serving
from app.server.jobs import Cancelled, Progress
from app.state.lab_state import LabState
from models import HeadPlan, Lab, Output
from models.analysis.answer.winning_heads import search
from models.analysis.gated_predictions import Gating, Question
from models.prompt import Prompt


@dataclass(frozen=True, eq=False)
class Won:
    """The sets of heads that the search found.

    Attributes:
        plans: number of changed heads -> (margin of the token in nats, the plan that changes these heads).
        fewest: the smallest number of heads under which the token wins; None if no set was found.
        nearest: `fewest`, or the number of heads with the largest margin.
        heads: number of heads of the model.
        token, other: ids of the chosen token and of the most probable other token under the nearest plan.
        probabilities: their probabilities under the nearest plan.
    """

    plans: dict[int, tuple[float, HeadPlan]]
    fewest: int | None
    nearest: int
    heads: int
    token: int
    other: int
    probabilities: tuple[float, float]


def output_of(state: LabState, before: AnyTrace) -> Output:
    """Returns the prediction in which the chosen token should win."""
    return compute.shown_output(before.outputs, state.prediction)


def wanted(state: LabState, output: Output) -> int:
    """Returns the id of the chosen token; by default the second most probable token of the prediction."""
    token = state.explanation.token
    return token if 0 <= token < len(output.names) else int(output.top(2)[-1])


def changes_patterns(lab: Lab, state: LabState) -> bool:
    """Returns True if the search makes heads constant, False if it prunes heads."""
    return state.search.constant and lab.constant is not None


def find(lab: Lab, prompt: Prompt, question: Question, token: int, constant: bool, tell: Progress,
         cancelled: Cancelled) -> Won:
    """Runs the search; see models/analysis/answer/winning_heads.py."""
    with serving.computing():
        gating = Gating.of(lab, prompt, question, constant)
    winning = search(gating, token, tell, cancelled, serving.computing)
    with serving.computing():
        probabilities = gating.log_probabilities(1 - winning.best[winning.nearest][1][None].float())[0, 0].exp()
    other = next(int(i) for i in probabilities.argsort(descending=True) if int(i) != token)
    return Won({size: (margin, gating.plan(~changed)) for size, (margin, changed) in winning.best.items()},
               winning.fewest, winning.nearest, len(gating.heads), token, other,
               (float(probabilities[token]), float(probabilities[other])))
