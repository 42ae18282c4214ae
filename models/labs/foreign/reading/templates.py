"""Chat templates: the text that a chat model reads for one message of a user.

The template is a Jinja program in the tokenizer's files. A child process (rendering.py) runs it in Jinja's sandbox,
without access to files, modules or attributes of Python; code of a model's folder is never run.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from models.errors import InputError
from models.labs.foreign.reading.rendering import in_child
from models.messages import message

SENTINEL = "\ue000the message\ue001"  # a text that occurs in no template, which marks the place of the message

Form = Callable[[str], list[dict[str, Any]]]
Render = Callable[[str, dict[str, Any], list[dict[str, Any]]], str | None]
FORMS: tuple[Form, ...] = (  # a user's message as a text, as a list of parts, and after a system message
    lambda text: [{"role": "user", "content": text}],
    lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    lambda text: [{"role": "system", "content": "You are a helpful assistant."}, {"role": "user", "content": text}])


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


def has_template(tokenizer: Any, render: Render = in_child) -> bool:
    """Returns True if the tokenizer has a chat template that contains the message of a user."""
    return bool(getattr(tokenizer, "chat_template", None)) and _form(tokenizer, render) is not None


def writes_date(tokenizer: Any) -> bool:
    """Returns True if the tokenizer's chat template asks for today's date."""
    return "strftime_now" in str(tokenizer.chat_template)


def framed(tokenizer: Any, text: str) -> Framed:
    """Returns a user's message inside the template, up to the point where the assistant's answer begins."""
    form = _form(tokenizer) or FORMS[0]
    before, _, after = _rendered(tokenizer, form, SENTINEL).partition(SENTINEL)
    whole = _rendered(tokenizer, form, text)
    content = whole[len(before):len(whole) - len(after)]
    start = text.find(content)
    if not (whole.startswith(before) and whole.endswith(after)) or start < 0:
        raise InputError(message("The chat template changes this text"), 0, len(text))
    return Framed(before, content, after, start)


def _form(tokenizer: Any, render: Render = in_child) -> Form | None:
    """Returns the first form of a chat in which the template writes the message exactly once; None if there is none."""
    for form in FORMS:
        with suppress(InputError):
            if _rendered(tokenizer, form, SENTINEL, render).count(SENTINEL) == 1:
                return form
    return None


def _rendered(tokenizer: Any, form: Form, text: str, render: Render = in_child) -> str:
    try:
        rendered = render(tokenizer.get_chat_template(), tokenizer.special_tokens_map, form(text))
    except Exception as error:  # the tokenizer's file can have anything in place of a template
        raise InputError(message("The chat template fails on this text"), 0, len(text)) from error
    if rendered is None:
        raise InputError(message("The chat template fails on this text"), 0, len(text))
    return rendered
