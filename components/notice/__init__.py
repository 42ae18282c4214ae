"""The line under the text box: the number of tokens, or the part of the text that is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NotRequired, TypedDict

from components.mounting import Content, OnEvent, component


class Action(TypedDict):
    """A button in the line.

    Attributes:
        name: sent when the button is pressed.
        label: text of the button.
        pressed: for a switch, True if it is on; None for a button that acts once.
        tip: a sentence about the effect.
    """

    name: str
    label: str
    pressed: NotRequired[bool]
    tip: NotRequired[str]


@component("notice")
def notice(*, key: str, status: str = "", messages: Sequence[str] = (),
           excerpt: tuple[str, str, str] | None = None, is_problem: bool = False, actions: Sequence[Action] = (),
           on_event: OnEvent | None = None) -> Content:
    """Displays the line. Several messages, or a long message, use several lines.

    Args:
        key: key of the mount.
        status: status for a text without problems, like `14 tokens`; shown after the messages, if there are any.
        messages: plain texts, one per line.
        excerpt: the text before the wrong part, the wrong part, which is underlined, and the text after it. An empty
            part is shown as a gap.
        is_problem: True if screen readers must announce the messages immediately (role=alert), else role=status.
        actions: buttons after the status.
        on_event: called with {type: act, name, sequence} when a button is pressed.
    """
    header = {"status": status, "messages": list(messages), "excerpt": list(excerpt) if excerpt else None,
              "problem": bool(is_problem), "actions": list(actions)}
    return header, {}
