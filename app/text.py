"""The text box and the line under it, which says what was read, or what is wrong and where."""

from __future__ import annotations

import re

import streamlit as st

from app import session
from app.state import MAX_LINK_TEXT, History, example_text
from components import notice
from models import Lab
from models.tasks.base import InputError, Prompt

EXCERPT = 28  # characters shown on either side of a mistake


def plain(text: str) -> str:
    """`text` with what Markdown would interpret made literal."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!$:<>|~&])", r"\\\1", text)


def text_row(lab: Lab, history: History) -> Prompt:
    """Draws box, examples and notice; returns the text to show: this one, or the last that could be read."""
    box, examples = st.columns([5, 1.3], vertical_alignment="bottom")
    box.text_input("Text", key=session.TEXT, on_change=session.on_text, live="200ms", label_visibility="collapsed",
                   placeholder=lab.task.examples[0][1], autocomplete="off")
    titles = {text: title for title, text in lab.task.examples}
    examples.selectbox("Examples", list(titles), key=session.EXAMPLE, index=None, placeholder="Examples",
                       format_func=titles.get, on_change=session.on_example, label_visibility="collapsed")
    text = history.present.text
    try:
        prompt = lab.task.read(text)
    except InputError as error:
        shown = history.readable.get(lab.name, example_text(lab.name))
        _notice([*history.problems, str(error)], excerpt(text, error.start, error.stop), problem=True)
        return lab.task.read(shown)
    history.readable[lab.name] = text
    messages = history.problems + left_out(prompt, lab, text)
    status = "" if messages else f"{len(prompt.ids)} tokens" + (f" · {prompt.hint}" if prompt.hint else "")
    _notice(messages, None, problem=bool(messages), status=status)
    return prompt


def left_out(prompt: Prompt, lab: Lab, text: str) -> list[str]:
    """What is told of a text that is longer than what a model reads."""
    if not prompt.left_out:
        return []
    link = f" A link holds its first {MAX_LINK_TEXT:,} characters." if len(text) > MAX_LINK_TEXT else ""
    return [f"{prompt.left_out:,} tokens at the end were left out: this model reads {lab.task.limit} at most. "
            f"The box keeps the whole text.{link}"]


def excerpt(text: str, start: int, stop: int) -> tuple[str, str, str]:
    """What stands before a mistake, the mistake, what follows: short enough for one line."""
    stop = max(start, min(stop, start + EXCERPT))
    head = text[max(0, start - EXCERPT):start]
    return ("…" if start > EXCERPT else "") + head, text[start:stop], text[stop:stop + EXCERPT]


def _notice(messages: list[str], where: tuple[str, str, str] | None, *, problem: bool, status: str = "") -> None:
    notice(key="notice", messages=messages, excerpt=where, status=status, is_problem=problem)
