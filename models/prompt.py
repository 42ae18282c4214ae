"""Prompt: an input text as token ids, with the positions to predict and their targets.

This file imports neither torch nor numpy.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Self

from models.messages import message
from models.plan import HeadPlan

LONGEST_TEXT = 16_384  # largest number of characters of an input text that are read: 32 per token, for 512 tokens


def readable(text: str) -> str:
    """Returns the first LONGEST_TEXT characters; line breaks become line feeds, a lone surrogate a question mark."""
    return unix_lines(text[:LONGEST_TEXT].encode("utf-8", "replace").decode())


def unix_lines(text: str) -> str:
    """Returns the text with a line feed in place of each line break of Windows or of old Macintosh files."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def trailing_space(text: str) -> str:
    """Returns a hint for a text that ends in a space, which most tokens begin with; else an empty string."""
    return message("the final space changes the prediction") if text[-1:].isspace() else ""


@dataclass(frozen=True)
class Prompt:
    """An input text as tokens of a model.

    Attributes:
        ids: N token ids, BOS first.
        tokens: the N tokens as strings.
        predict_at: positions whose next-token distributions are shown as predictions, in order.
        targets: for each of the N positions, the id of its target token; -1 for a position without a loss.
        omitted: number of tokens over the limit that were not read; a lower bound for a text over LONGEST_TEXT.
        read_chars: number of characters of the text that `tokens` cover; the characters after them were left out.
        hint: a suggestion for the visitor, or an empty string.
        source: the second prompt, from which patched heads take their values, with as many tokens; None without one.
        template: positions of the tokens that a chat template added.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    predict_at: tuple[int, ...]
    targets: tuple[int, ...]
    omitted: int = 0
    read_chars: int = 0
    hint: str = ""
    source: Prompt | None = None
    template: tuple[int, ...] = ()

    def with_source(self, source: Prompt | None) -> Self:
        """Returns the prompt with this second prompt; raises ValueError if their numbers of tokens differ."""
        if source is not None and len(source.ids) != len(self.ids):
            raise ValueError(message("The second text has {m} tokens; {n} are needed.", n=len(self.ids),
                                     m=len(source.ids)))
        return replace(self, source=source)

    def source_for(self, plan: HeadPlan) -> Prompt | None:
        """Returns the second prompt, None for a plan without patches; raises ValueError if it is missing."""
        if not plan.patches:
            return None
        if self.source is None:
            raise ValueError(message("the plan patches heads: give a second prompt"))
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
        return cls(**{field.name: getattr(prompt, field.name) for field in fields(Prompt)}, target=target)
