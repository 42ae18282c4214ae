"""AnswerView: the settings of the sections that explain the prediction (token, compared token, patched value)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from models.plan import OUTPUT, PATTERN

NONE = -1  # no token was chosen
MOST_TOKENS = 10**7  # upper bound of the token ids of any vocabulary
KEY, QUERY, DIMENSIONS, POSITION = "key", "query", "dimensions", "position"
DIRECT, HEADS, TOKENS = "direct", "heads", "tokens"
MEASURES = {"": DIRECT, "h": HEADS, "t": TOKENS}  # letter in the link -> how a logit is split into parts
SPLITS = {"": KEY, "q": QUERY, "d": DIMENSIONS, "p": POSITION}  # letter in the link -> how a score is split into parts
MOST_PLACES = 1000  # upper bound of the positions of any text
_FIELD = re.compile(r"(\d{0,7})\.(\d{0,7})(a?)([ht]?)(?:-(\d{0,3})\.(\d{0,3})([qdp]?))?", re.ASCII)


@dataclass(frozen=True)
class AnswerView:
    """The settings of the sections that explain the prediction.

    Attributes:
        token: id of the token whose logit is attributed; NONE for the most probable token.
        against: id of the token whose logit is subtracted; NONE for no subtraction.
        what: the value that patched heads take from the second prompt, OUTPUT or PATTERN.
        measure: how the logit is split: by direct contributions (DIRECT), or by gradient x input of the linearised
            model, per head (HEADS) or per token of the text (TOKENS).
        query, key: the two positions whose score is explained; NONE for the last query, and for the key with the
            largest weight of this query.
        split: how the score is split: by the components that wrote the key (KEY) or the query (QUERY), by head
            dimensions (DIMENSIONS), or into content and distance (POSITION).
    """

    token: int = NONE
    against: int = NONE
    what: str = OUTPUT
    measure: str = DIRECT
    query: int = NONE
    key: int = NONE
    split: str = KEY

    def __str__(self) -> str:
        """Returns the link's field: for example `262.17` for two tokens, or `.` for the defaults.

        An `a` follows if patches take attention patterns, then the letter of the measure. Then `-9.3d` names query, key
        and split of a score.
        """
        ids, positions = (".".join("" if value == NONE else str(value) for value in pair)
                          for pair in ((self.token, self.against), (self.query, self.key)))
        letter = next(letter for letter, split in SPLITS.items() if split == self.split)
        ids += "a" if self.what == PATTERN else ""
        ids += next(letter for letter, measure in MEASURES.items() if measure == self.measure)
        return ids + (f"-{positions}{letter}" if positions + letter != "." else "")

    def toggled(self, token: int) -> AnswerView:
        """Returns the settings after a click on a token.

        The first clicked token is explained, the second is compared with the first. A click on a chosen token
        deselects this token.
        """
        if token == self.token:
            return replace(self, token=self.against, against=NONE)
        if token == self.against:
            return replace(self, against=NONE)
        return replace(self, token=token) if self.token == NONE else replace(self, against=token)

    @classmethod
    def parse(cls, text: str) -> AnswerView:
        """Returns the settings in a link's field; the inverse of str()."""
        match = _FIELD.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} names no tokens")
        token, against, query, key = (int(part) if part else NONE for part in match.group(1, 2, 5, 6))
        return cls(token, against, PATTERN if match[3] else OUTPUT, MEASURES[match[4]], query, key,
                   SPLITS[match[7] or ""])
