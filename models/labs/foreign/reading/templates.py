"""Chat templates: the text that a chat model reads for one message of a user.

The template is a Jinja program in the tokenizer's files. transformers runs it in Jinja's sandbox, without access to
files, modules or attributes of Python; code of a model's folder is never run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from models.errors import InputError
from models.messages import message

SENTINEL = "\ue000the message\ue001"  # a text that occurs in no template, which marks the place of the message
MOST = 65_536  # largest number of characters of a rendered template: four times the longest text


@dataclass(frozen=True)
class Framed:
    """A message inside its template."""

    before: str  # the text that the template adds in front of the message
    content: str  # the message as the template writes it; many templates remove outer blanks
    after: str  # the text that the template adds after the message
    start: int  # index of the content's first character in the message

    @property
    def text(self) -> str:
        """The whole text that the model reads."""
        return self.before + self.content + self.after


def has_template(tokenizer: Any) -> bool:
    """Returns True if the tokenizer has a chat template that contains the message of a user."""
    if not getattr(tokenizer, "chat_template", None):
        return False
    try:
        return SENTINEL in _rendered(tokenizer, SENTINEL)
    except InputError:
        return False


def framed(tokenizer: Any, text: str) -> Framed:
    """Returns a user's message inside the template, up to the point where the assistant's answer begins."""
    before, _, after = _rendered(tokenizer, SENTINEL).partition(SENTINEL)
    whole = _rendered(tokenizer, text)
    content = whole[len(before):len(whole) - len(after)]
    start = text.find(content)
    if not (whole.startswith(before) and whole.endswith(after)) or start < 0:
        raise InputError(message("The model's chat template changes this text"), 0, len(text))
    return Framed(before, content, after, start)


def _rendered(tokenizer: Any, text: str) -> str:
    messages = [{"role": "user", "content": text}]
    try:
        rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except Exception as error:  # a template can raise every error of Python and of Jinja
        raise InputError(message("The model's chat template fails on this text"), 0, len(text)) from error
    if not isinstance(rendered, str) or len(rendered) > MOST:
        raise InputError(message("The model's chat template fails on this text"), 0, len(text))
    return rendered
