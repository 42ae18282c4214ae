"""Settings of tools: AnswerView explains the prediction (tokens, patched value), Search looks for minimal heads."""

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


FEWEST, GROUPS, WINNING = WANTED = ("fewest", "groups", "winning")
BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # largest KL divergences to choose from, in nats
_WHOLE, _CONSTANT = "text", "constant"


@dataclass(frozen=True)
class Search:
    """The settings of the search for minimal heads."""

    # FEWEST for a minimal set of heads that keeps the prediction, GROUPS for three groups of heads, WINNING for the
    # fewest heads whose removal makes a chosen token the most probable
    wanted: str = FEWEST
    whole: bool = False  # False for the prediction that is shown, True for all predictions of the text
    bound: float = 0.1  # maximum KL divergence of the minimal set in nats, one of BOUNDS
    constant: bool = False  # True if WINNING makes heads constant, False if it prunes them

    def __str__(self) -> str:
        """Returns the link's field: `fewest-0.1`, `groups-text-0.1`, `winning-constant-0.1`."""
        return "-".join((self.wanted, *([_WHOLE] if self.whole else []), *([_CONSTANT] if self.constant else []),
                         f"{self.bound:g}"))

    @classmethod
    def parse(cls, text: str) -> Search:
        """Returns the settings in a link's field; the inverse of str()."""
        known = {str(search): search for wanted in WANTED for whole in (False, True) for bound in BOUNDS
                 for constant in (False, True) for search in (cls(wanted, whole, bound, constant),)}
        if text not in known:
            raise ValueError(f"{text!r} asks for nothing that can be searched")
        return known[text]
