"""The line under the text box: how the text was read, or what is wrong with it and where."""

from __future__ import annotations

from collections.abc import Sequence

from components.mounting import Content, component


@component("notice")
def notice(*, key: str, status: str = "", messages: Sequence[str] = (),
           excerpt: tuple[str, str, str] | None = None, is_problem: bool = False) -> Content:
    """Draws the line; several messages or a long one wrap.

    Args:
        status: what is said if all is well, like `14 tokens`; behind messages, what is shown in spite of them.
        messages: plain texts, each on a line of its own.
        excerpt: what stands before the place that a message is about, the place, and what follows; the place
            is underlined. It may be any text; an empty place is shown as a gap.
        is_problem: True announces the messages at once (role=alert), False quietly (role=status).
    """
    header = {"status": status, "messages": list(messages), "excerpt": list(excerpt) if excerpt else None,
              "problem": bool(is_problem)}
    return header, {}
