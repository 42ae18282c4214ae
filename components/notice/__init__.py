"""The line under the text box: the number of tokens, or the part of the text that is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from components.mounting import Content, component


@component("notice")
def notice(*, key: str, status: str = "", messages: Sequence[str] = (),
           excerpt: tuple[str, str, str] | None = None, is_problem: bool = False) -> Content:
    """Displays the line. Several messages, or a long message, use several lines.

    Args:
        key: key of the mount.
        status: status for a text without problems, like `14 tokens`; shown after the messages, if there are any.
        messages: plain texts, one per line.
        excerpt: the text before the wrong part, the wrong part, which is underlined, and the text after it. An empty
            part is shown as a gap.
        is_problem: True if screen readers must announce the messages immediately (role=alert), else role=status.
    """
    header = {"status": status, "messages": list(messages), "excerpt": list(excerpt) if excerpt else None,
              "problem": bool(is_problem)}
    return header, {}
