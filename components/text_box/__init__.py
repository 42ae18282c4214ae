"""The text box: the input text of a page."""

from __future__ import annotations

from components.mounting import Content, OnEvent, component


@component("text_box")
def text_box(*, key: str, text: str, placeholder: str, most: int, on_event: OnEvent) -> Content:
    """Displays the box. Each change of the text is an event, except while an input method composes characters.

    Args:
        key: key of the mount.
        text: the text. The box keeps a newer typed text that Python has not handled yet.
        placeholder: shown in the empty box.
        most: maximum length of the text in UTF-16 units; the browser cuts a longer text.
        on_event: called with {type: text, text, count?, sequence}; `count` is the length of a text that was cut.
    """
    return {"text": text, "placeholder": placeholder, "most": most}, {}
