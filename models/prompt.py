"""Prompt: an input text as token ids, with the positions to predict and their targets.

This file imports neither torch nor numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from models.messages import message

LONGEST_TEXT = 16_384  # characters of an input text that are read: 32 a token, where a page reads most


def readable(text: str) -> str:
    """Returns the first LONGEST_TEXT characters, so that a long paste costs no more than a page can show.

    A lone surrogate cannot be encoded; it becomes a question mark.
    """
    return text[:LONGEST_TEXT].encode("utf-8", "replace").decode()


def trailing_space(text: str) -> str:
    """Returns a hint where a text to be continued ends in a space, which most next tokens begin with; else nothing.

    Args:
        text: as it was typed.
    """
    return message("the text ends in a space, which changes the prediction: remove it") if text[-1:].isspace() else ""


@dataclass(frozen=True)
class Prompt:
    """An input text as a model reads it.

    Attributes:
        ids: N token ids, BOS first.
        tokens: the same as text, N of them.
        asked: positions whose next-token distribution is a prediction that the page shows, in order.
        targets: N ids of the token that should follow each position; -1 where the loss does not count.
        left_out: number of tokens over the limit that were not read; of a text over LONGEST_TEXT at least so many.
        read_chars: characters of the text that these tokens came from; the rest was left out.
        hint: what the person could add, or an empty string.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    asked: tuple[int, ...]
    targets: tuple[int, ...]
    left_out: int = 0
    read_chars: int = 0
    hint: str = ""


@dataclass(frozen=True)
class TargetPrompt(Prompt):
    """A prompt with a teacher-forced target: attention maps of two plans are then over the same tokens.

    Attributes:
        target: ids of the decoder's tokens, the start token first.
    """

    target: tuple[int, ...] = ()

    @classmethod
    def of(cls, prompt: Prompt, target: tuple[int, ...]) -> TargetPrompt:
        """Returns the prompt with this target."""
        return cls(**{field.name: getattr(prompt, field.name) for field in fields(Prompt)}, target=target)
