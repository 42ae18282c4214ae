"""Prompt: an input text as token ids, with the positions to predict and their targets.

This file imports neither torch nor numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

from models.messages import message
from models.plan import HeadPlan

LONGEST_TEXT = 16_384  # most characters read of an input text: 32 per token, for the page that reads the most tokens


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
    """An input text as tokens of a model.

    Attributes:
        ids: N token ids, BOS first.
        tokens: the N tokens as texts.
        predict_at: positions whose next-token distributions are shown as predictions, in order.
        targets: N ids of the token that should follow each position; -1 if the loss does not count.
        omitted: number of tokens over the limit that were not read; for a text over LONGEST_TEXT a lower bound.
        read_chars: number of characters of the text that these tokens came from; the others were left out.
        hint: a suggestion for the visitor, or an empty string.
        source: the prompt that patched heads take their values from, of as many tokens; None without a second prompt.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    predict_at: tuple[int, ...]
    targets: tuple[int, ...]
    omitted: int = 0
    read_chars: int = 0
    hint: str = ""
    source: Prompt | None = None

    def with_source(self, source: Prompt | None) -> Self:
        """Returns the prompt with this second prompt.

        Raises:
            ValueError: the two prompts have different numbers of tokens.
        """
        if source is not None and len(source.ids) != len(self.ids):
            raise ValueError(message("a patch needs two prompts of one length: this one has {n} tokens, the second "
                                     "{m}", n=len(self.ids), m=len(source.ids)))
        return replace(self, source=source)

    def source_for(self, plan: HeadPlan) -> Prompt | None:
        """Returns the second prompt; None for a plan without patches.

        Raises:
            ValueError: the plan patches heads and there is no second prompt.
        """
        if not plan.patches:
            return None
        if self.source is None:
            raise ValueError(message("the plan patches heads, which take their values from a second prompt: give one"))
        return self.source


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
