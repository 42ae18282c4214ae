"""Settings of the Lab: LabView (open tool, looking word, layers of the picture), AnswerView and Search (of tools)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

from app.state.selection import is_index
from models.plan import OUTPUT, PATTERN

THINGS = ("head", "layer", "all", "word", "answer")
CONTRIBUTIONS, GUESSES = "c", "g"
LAST = -1  # the looking word is the one whose prediction is shown
MOST = 1000  # upper bound of the positions of any text
MOST_SETTINGS, MOST_PINS = 12, 4
SCOPE_THINGS = {"head": "head", "row": "layer", "all": "all"}  # scope of a selection -> the thing that it opens
_TOOL = re.compile(r"(?:head|layer|all|word|answer)\.[a-z]{1,16}", re.ASCII)
_SETTING = re.compile(r"([a-z]{1,16}\.[a-z]{1,16})!([\w .+-]{0,40})", re.ASCII)
NONE = -1  # no token was chosen
MOST_TOKENS = 10**7  # upper bound of the token ids of any vocabulary
DIRECT, HEADS, TOKENS = "direct", "heads", "tokens"
MEASURES = {"": DIRECT, "h": HEADS, "t": TOKENS}  # letter in the link -> how a logit is split into parts
_FIELD = re.compile(r"(\d{0,7})\.(\d{0,7})(a?)([ht]?)", re.ASCII)
FEWEST, GROUPS, WINNING = WANTED = ("fewest", "groups", "winning")
BOUNDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # largest KL divergences to choose from, in nats
_WHOLE, _CONSTANT = "text", "constant"


@dataclass(frozen=True)
class LabView:
    """The settings of the Lab's picture and tools."""

    tool: str = "head.looks"  # thing and name of the open tool, like `head.looks`
    look: int = LAST  # position of the looking word; LAST for the position of the shown prediction
    marks: str = ""  # CONTRIBUTIONS, GUESSES, both or none: the layers of the picture beside attention
    # `tool.name` -> value of the settings that differ from their defaults; each tool checks its own
    settings: tuple[tuple[str, str], ...] = ()
    pins: tuple[str, ...] = ()  # tools that stay below the inspector, in order

    @property
    def thing(self) -> str:
        """The thing that the open tool belongs to, one of THINGS."""
        return self.tool.split(".")[0]

    def setting(self, name: str, default: str = "") -> str:
        """Returns the value of a setting, like `find.role`."""
        return dict(self.settings).get(name, default)

    def with_setting(self, name: str, value: str) -> LabView:
        """Returns the view with one setting changed; an empty value restores the default."""
        kept = {key: old for key, old in self.settings if key != name} | ({name: value} if value else {})
        return replace(self, settings=tuple(sorted(kept.items())[:MOST_SETTINGS]))

    def with_pin(self, tool: str, on: bool) -> LabView:
        """Returns the view with a tool pinned or not; one more than MOST_PINS takes the place of the first."""
        pins = [pin for pin in self.pins if pin != tool]
        return replace(self, pins=tuple([*pins, tool][-MOST_PINS:]) if on else tuple(pins))

    def after(self, event: Mapping[str, Any], first_tools: Mapping[str, str]) -> LabView:
        """Returns the view after an untrusted event, the same if it is another part's; `first_tools`: thing -> tool."""
        name, thing = event.get("name"), event.get("thing")
        match event.get("type"):
            case "select":
                thing = SCOPE_THINGS.get(str(event.get("scope")), self.thing)
                return self if thing == self.thing else replace(self, tool=first_tools[thing])
            case "thing" if thing in THINGS:
                return replace(self, tool=first_tools[thing])
            case "tool" if is_tool(name):
                return replace(self, tool=name)
            case "pin" if is_tool(name):
                return self.with_pin(name, event.get("on") is True)
            case "look" if is_index(event.get("position"), MOST) or event.get("position") == LAST:
                return replace(self, look=event["position"])
            case "marks":
                return replace(self, marks=(CONTRIBUTIONS if event.get("contributions") is True else "")
                               + (GUESSES if event.get("guesses") is True else ""))
            case "set" if is_setting(name, event.get("value")):
                return self.with_setting(name, event["value"])
        return self

    def __str__(self) -> str:
        """Returns the link's field, like `head.looks~22~cg~find.role!first`; parts at the end are left out."""
        settings = "'".join(f"{name}!{value}" for name, value in self.settings)
        parts = [self.tool, "" if self.look == LAST else str(self.look), self.marks, settings, "'".join(self.pins)]
        return "~".join(parts).rstrip("~")

    @classmethod
    def parse(cls, text: str) -> LabView:
        """Returns the view of a link's field; raises ValueError if the text is not valid."""
        tool, look, marks, settings, pinned, *more = [*text.split("~"), *[""] * 4][:max(5, text.count("~") + 1)]
        pins = tuple(pinned.split("'")) if pinned else ()
        pairs = [_SETTING.fullmatch(part) for part in settings.split("'")] if settings else []
        is_place = re.fullmatch(r"\d{0,3}", look, re.ASCII) is not None
        is_valid = is_tool(tool) and is_place and marks in ("", "c", "g", "cg") and None not in pairs and not more
        is_valid = is_valid and all(map(is_tool, pins)) and len(set(pins)) == len(pins) <= MOST_PINS
        if not is_valid or len(pairs) > MOST_SETTINGS:
            raise ValueError(f"{text!r} is no view of the lab")
        return cls(tool, int(look) if look else LAST, marks,
                   tuple(sorted((match[1], match[2]) for match in pairs if match and match[2])), pins)


def is_tool(text: object) -> TypeGuard[str]:
    """Returns whether a value has the form of LabView.tool."""
    return isinstance(text, str) and _TOOL.fullmatch(text) is not None


def is_setting(name: object, value: object) -> TypeGuard[str]:
    """Returns whether a name and a value have the form of a setting."""
    return isinstance(name, str) and isinstance(value, str) and _SETTING.fullmatch(f"{name}!{value}") is not None


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
