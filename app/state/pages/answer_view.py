"""AnswerView: the settings of the sections about the answer: the token, the token it is compared with, the patch."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from models.plan import OUTPUT, PATTERN

NONE = -1  # no token was chosen
MOST_TOKENS = 10**7  # ids of any vocabulary are below
_FIELD = re.compile(r"(\d{0,7})\.(\d{0,7})(a?)", re.ASCII)


@dataclass(frozen=True)
class AnswerView:
    """See the module's docstring.

    Attributes:
        token: id of the token whose logit is attributed; NONE for the most probable one.
        against: id of the token it is compared with; NONE for none.
        what: what patched heads take from the second prompt, OUTPUT or PATTERN.
    """

    token: int = NONE
    against: int = NONE
    what: str = OUTPUT

    def __str__(self) -> str:
        """Returns the link's field: `262.17`, `.` for the default, with an `a` at the end for attention patterns."""
        ids = ".".join("" if its == NONE else str(its) for its in (self.token, self.against))
        return ids + ("a" if self.what == PATTERN else "")

    def toggled(self, token: int) -> AnswerView:
        """Returns the settings after a click on a token: the first is explained, the second is compared with it, and a
        chosen one is released.
        """
        if token == self.token:
            return replace(self, token=self.against, against=NONE)
        if token == self.against:
            return replace(self, against=NONE)
        return replace(self, token=token) if self.token == NONE else replace(self, against=token)

    @classmethod
    def parse(cls, text: str) -> AnswerView:
        """Returns the settings in a link's field; the inverse of str().

        Raises:
            ValueError: the text is not valid.
        """
        match = _FIELD.fullmatch(text)
        if match is None:
            raise ValueError(f"{text!r} names no tokens")
        token, against = (int(part) if part else NONE for part in match.groups()[:2])
        return cls(token, against, PATTERN if match[3] else OUTPUT)
