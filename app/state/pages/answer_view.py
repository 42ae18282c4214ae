"""AnswerView: the settings of the tools that explain the prediction (token, compared token, patched value)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from models.plan import OUTPUT, PATTERN

NONE = -1  # no token was chosen
MOST_TOKENS = 10**7  # upper bound of the token ids of any vocabulary
DIRECT, HEADS, TOKENS = "direct", "heads", "tokens"
MEASURES = {"": DIRECT, "h": HEADS, "t": TOKENS}  # letter in the link -> how a logit is split into parts
_FIELD = re.compile(r"(\d{0,7})\.(\d{0,7})(a?)([ht]?)", re.ASCII)


@dataclass(frozen=True)
class AnswerView:
    """The settings of the tools that explain the prediction."""

    token: int = NONE  # id of the token whose logit is attributed; NONE for the most probable token
    against: int = NONE  # id of the token whose logit is subtracted; NONE for no subtraction
    what: str = OUTPUT  # the value that patched heads take from the second prompt, OUTPUT or PATTERN
    # how the logit is split: by direct contributions (DIRECT), or by gradient x input of the linearised model, per head
    # (HEADS) or per token of the text (TOKENS)
    measure: str = DIRECT

    def __str__(self) -> str:
        """Returns the link's field: for example `262.17` for two tokens, or `.` for the defaults.

        An `a` follows if patches take attention patterns, then the letter of the measure.
        """
        ids = ".".join("" if value == NONE else str(value) for value in (self.token, self.against))
        letter = next(letter for letter, measure in MEASURES.items() if measure == self.measure)
        return ids + ("a" if self.what == PATTERN else "") + letter

    @classmethod
    def parse(cls, text: str) -> AnswerView:
        """Returns the settings in a link's field; the inverse of str()."""
        match = _FIELD.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} names no tokens")
        token, against = (int(part) if part else NONE for part in match.group(1, 2))
        return cls(token, against, PATTERN if match[3] else OUTPUT, MEASURES[match[4]])
