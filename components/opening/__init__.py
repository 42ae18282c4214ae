"""The experiment of the start page: tokens, the last token's attention, the answer, and buttons that prune heads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from components.mounting import Content, OnEvent, component


class Token(TypedDict):
    """A token of the input line.

    Attributes:
        text: text of the token.
        before, weight: attention of the last token to this token, 0 to 1, in the unmodified model and now.
    """

    text: str
    before: float
    weight: float


class Link(TypedDict):
    """The attention of one token to an earlier token in the first layer.

    Attributes:
        source, target: indices into the tokens; the source attends to the target.
        before, weight: attention weight, 0 to 1, in the unmodified model and now.
    """

    source: int
    target: int
    before: float
    weight: float


class Bar(TypedDict):
    """A possible answer with its probability in the unmodified model and now; `right` marks the right answer."""

    label: str
    before: float
    after: float
    right: bool


class Choice(TypedDict):
    """A button that applies a plan.

    Attributes:
        plan: the HeadPlan as a string, which is part of the event.
        name: label of the button.
        present: True for the current plan.
    """

    plan: str
    name: str
    present: bool


class Words(TypedDict):
    """All texts; text between asterisks is emphasised."""

    purpose: str
    title: str
    question: str
    head: str
    looks: str
    verdict: str
    reason: str
    next: str


@component("opening")
def opening(*, key: str, words: Words, tokens: Sequence[Token], links: Sequence[Link], bars: Sequence[Bar],
            answer_now: str, is_right: bool, changed: bool, choices: Sequence[Choice], on_event: OnEvent) -> Content:
    """Displays the experiment. Bars and answer are animated from their former to their present values.

    Args:
        key: key of the mount.
        words: all texts, for the current state.
        tokens: tokens of the line, in order; the prediction is made at the last token.
        links: the arcs below the line, of an earlier layer than the arcs above it.
        bars: the most probable answers.
        answer_now: the model's answer.
        is_right: True if the answer is right.
        changed: True if heads are pruned.
        choices: the buttons; a button with an empty plan restores all heads.
        on_event: called with {type: plan, plan}, {type: lesson}, {type: lab} or {type: skip}, each with `sequence`.
    """
    header: dict[str, Any] = {"words": words, "tokens": list(tokens), "links": list(links), "bars": list(bars),
                              "answer": answer_now, "right": bool(is_right), "changed": bool(changed),
                              "choices": list(choices)}
    return header, {}
