"""The text box: the input text of a page."""

from __future__ import annotations

from components.mounting import Content, OnEvent, component


@component("text_box")
def text_box(*, key: str, text: str, placeholder: str, most: int, on_event: OnEvent) -> Content:
    """Draws the box. Each change of its text is an event; text that an input method is composing is not.

    Args:
        key: key of the mount.
        text: the text; the box keeps a newer one that was typed and is not answered yet.
        placeholder: shown in the empty box.
        most: maximum length of the text in UTF-16 units; the browser cuts a longer one.
        on_event: called with {type: text, text, count?, sequence}; `count` is the length of a text that was cut.
    """
    return {"text": text, "placeholder": placeholder, "most": most}, {}
