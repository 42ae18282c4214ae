"""A first visit's experiment: a line of tokens, where its last one looks, the model's answer in words, and one button
that takes heads away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from components.mounting import Content, OnEvent, component


class Token(TypedDict):
    """A token of the line.

    Attributes:
        text: as it reads.
        before, weight: 0 to 1, how strongly the last token looks at it as trained, and now.
    """

    text: str
    before: float
    weight: float


class Bar(TypedDict):
    """A possible answer, with its probability as trained and now; `right` marks the right one."""

    label: str
    before: float
    after: float
    right: bool


class Choice(TypedDict):
    """What can be done to the heads.

    Attributes:
        plan: what it does, as HeadPlan's text; events carry it.
        name: on its button.
        present: True if it is what is done now.
    """

    plan: str
    name: str
    present: bool


class Words(TypedDict):
    """All that is told; *what stands between stars* is marked."""

    title: str
    question: str
    head: str
    looks: str
    verdict: str
    reason: str
    next: str


@component("opening")
def opening(*, key: str, words: Words, tokens: Sequence[Token], bars: Sequence[Bar], answer_now: str, is_right: bool,
            changed: bool, choices: Sequence[Choice], on_event: OnEvent) -> Content:
    """Draws it; bars and answer move from what they were to what they are.

    Args:
        words: what is told, of the present state.
        tokens: of the line, in order; the last one asks.
        bars: the answers that the line makes likely.
        answer_now: the model's answer, and `is_right` whether it is right.
        changed: True if heads have been taken away.
        choices: what to do, the first one first; the one without a plan brings all back.
        on_event: called with {type: plan, plan}, {type: lesson}, {type: lab} or {type: skip}, each with `sequence`.
    """
    header: dict[str, Any] = {"words": words, "tokens": list(tokens), "bars": list(bars), "answer": answer_now,
                              "right": bool(is_right), "changed": bool(changed), "choices": list(choices)}
    return header, {}
