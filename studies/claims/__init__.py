"""The statements of our sources, their numbers and ours, and a verdict on each statement that a rule computes.

    python -m studies.claims             # judges all statements and prints the verdicts
    python -m studies.claims --write     # judges them and writes verdicts.json, which pages and documents read
    python -m studies.claims all         # measures again the numbers that no card has, then prints the verdicts

One file per claim in sources/; verdict.py has the rules, evidence.py reads the measurements, measure.py measures.
"""

import functools
import json
import string
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from models.errors import broken, in_repository
from models.messages import N_, message
from studies.claims.stored_text import NOTHING, Points, Table, Text

STATEMENTS = Path(__file__).parents[1] / "statements"
TEXTS = ("text", "source", "basis", "contrast")
VERDICTS = Path(__file__).with_name("verdicts.json")
COMMAND = "python -m studies.claims --write"
# keys of the claims, in the order of the page; each key is the name of a module in sources/
KEYS = ("synthesizer", "selective", "normalisation", "papa", "heads", "disagreement", "gated")
HOLDS, SMALL, FAILS = N_("holds"), N_("no difference larger than the margin"), N_("does not hold here")
UNVERIFIED = "†"  # mark after a source's number that was not checked in the paper itself
FADES, ONCE, BUILT = N_("fades"), N_("seen once"), N_("by construction")
OPEN, MISSING = N_("open"), N_("not measured yet")
WORDS = {HOLDS: N_("the 90% interval is beyond the margin, or inside the limit"),
         ONCE: N_("the same, of a single training"),
         FADES: N_("significant: holds after a shorter training, not the longest"),
         SMALL: N_("the 90% interval is within ± the margin"),
         FAILS: N_("the 90% interval is on the other side"),
         OPEN: N_("the 90% interval does not decide"),
         BUILT: N_("follows from the computation or the training objective"),
         MISSING: N_("the primary contrast has not been measured")}
_STORED = with_config(ConfigDict(extra="forbid"))  # `read` refuses files with other fields


@_STORED
@dataclass(frozen=True)
class Verdict:
    """The result of the rule for one statement."""

    word: Text  # HOLDS or another of WORDS
    why: Text  # additions to the interval, for the reader
    # seeds, steps: number of trainings with different seeds, and their steps; 0 if no training is involved
    seeds: int = 0
    steps: int = 0
    # p, q: one-sided p-value of the word, raised for added seeds, and the same corrected for all statements
    p: float | None = None
    q: float | None = None
    parts: Table = field(default_factory=list)  # table rows with value, limits and p-values of each part
    # value, low, high: the primary contrast and its 90% interval, in `unit`; None if not measured
    value: float | None = None
    low: float | None = None
    high: float | None = None
    # bound, is_limit, is_least: margin or limit of the contrast, in `unit`; `is_least`: values must be above it
    bound: float | None = None
    is_limit: bool = False
    is_least: bool = False
    unit: Text = ""  # unit of these numbers; empty for none

    @property
    def bound_text(self) -> str:
        """The margin or limit with its unit. Units are in the plural, so 1 is written 1.0."""
        return "" if self.bound is None else self._with_unit(self.bound)

    def _with_unit(self, value: float) -> str:
        number = _written(value)
        return with_unit("1.0" if number == "1" else number, self.unit)

    @property
    def bounds(self) -> list[float]:
        """The limit, or the margin on both sides of 0; empty if not measured."""
        return [] if self.bound is None else [self.bound] if self.is_limit else [-self.bound, self.bound]

    @property
    def interval(self) -> str:
        """The contrast with its 90% interval and the margin or limit; empty if it is not measured."""
        if self.value is None or self.low is None or self.high is None or self.bound is None:
            return ""
        numbers = {"value": self._with_unit(self.value), "low": _written(self.low), "high": self._with_unit(self.high),
                   "bound": self.bound_text}
        template = N_("{value} (90% interval {low} to {high}; limit {bound})") if self.is_limit else \
            N_("{value} (90% interval {low} to {high}; margin {bound})")
        return message(template, **numbers)


def _written(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def with_unit(number: str, unit: str) -> str:
    """Returns a number with its unit."""
    return message("{number} {unit}", number=number, unit=unit) if unit not in ("", "%") else number + unit


@_STORED
@dataclass(frozen=True)
class Chart:
    """The data of a chart, which figures/curves.py draws."""

    # `dots` (one row per name, values on the horizontal axis), `lines` (one line per name, values on the vertical
    # axis), or `scatter` (as `lines`, with a linear x axis)
    kind: str
    # dicts with name, value and which for `dots`; with name, value, x and seed for `lines` and `scatter`
    points: Points
    title: Text  # title of the value axis, with its unit
    across: Text = ""  # title of the x axis, for lines and scatters
    rule: tuple[float, Text] | None = None  # value and label of a reference line; or None
    alt: Text = ""  # text alternative for screen readers
    form: str = ".4~r"  # d3 number format of the value axis, for example `.0%` for fractions


@_STORED
@dataclass(frozen=True)
class Statement:
    """One checkable sentence of a source."""

    key: str  # the claim's key, a dash, and a word; also the file name of the download
    text: Text  # the sentence
    source: Text  # the source's number in words; starts with `no number` if there is none
    ours: Text  # our number in words, with its spread
    basis: Text  # the place of the number in the source, for example `abstract` or `figure, no table`
    contrast: Text  # the primary contrast, in words
    verdict: Verdict  # the computed verdict
    table: Table  # rows with the source's numbers and ours
    chart: Chart | None  # the chart; None if there is nothing to draw
    command: str  # the command that recomputes our numbers
    verified: bool = True  # False if the source's number was not checked in the paper itself

    @property
    def parts(self) -> list[dict[str, str]]:
        """The parts of the verdict; see Verdict."""
        return self.verdict.parts

    @property
    def sourced(self) -> str:
        """The source's number, followed by UNVERIFIED if it was not checked in the paper."""
        return self.source if self.verified else message("{source} {mark}", source=self.source, mark=UNVERIFIED)


@_STORED
@dataclass(frozen=True)
class Claim:
    """A source's claim with its statements."""

    key: str  # a word that identifies the claim in links and files
    title: Text  # title of the claim's section
    source: Text  # the publication
    setting: Text  # differences between the source's experiments and ours
    models: tuple[str, ...]  # names of the models that the statements are about
    family: str  # family of these models
    statements: list[Statement] = field(default_factory=list)  # statements in the order of the page
    trainings: Table = field(default_factory=list)  # table rows with steps, seeds and test texts of each model
    curves: Chart | None = None  # chart of the validation loss during training; None if no card has a curve
    # table rows with the validation loss at each learning rate of the family's sweep
    rates: Table = field(default_factory=list)
    # models that have to be trained again before they are compared, see recipes.is_current
    waiting: tuple[str, ...] = ()


def statement_keys() -> list[str]:
    """Returns the keys of all statements, sorted."""
    return sorted(path.stem for path in STATEMENTS.glob("*.toml"))


@functools.cache
def entry(key: str) -> dict[str, Any]:
    """Returns the content of a statement's file."""
    return tomllib.loads((STATEMENTS / f"{key}.toml").read_text(encoding="utf-8"))


def stated(key: str, ours: str, verdict: Verdict, table: Table, chart: Chart | None, command: str,
           **values: Any) -> Statement:
    """Returns the statement with the texts of its file, into which `values` are put; an empty table gets one row."""
    own = entry(key)
    texts = {name: message(own[name], **{field: values[field] for _, field, _, _ in
                                         string.Formatter().parse(own[name]) if field})
             for name in TEXTS if name in own}
    return Statement(key, ours=ours, verdict=verdict, table=table or [{N_("source"): NOTHING}], chart=chart,
                     command=command, verified=own.get("verified", True), **texts)


_CLAIMS = TypeAdapter(list[Claim])


def as_json(claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Returns the content of verdicts.json for these claims."""
    return _CLAIMS.dump_python(list(claims), mode="json")


def write(claims: Sequence[Claim], path: Path | None = None) -> None:
    """Writes verdicts.json, one line per statement, so that a change of a verdict is a change of one line."""
    parts = []
    for claim in as_json(claims):
        statements = ",\n".join(f"    {_line(statement)}" for statement in claim.pop("statements"))
        fields = "".join(f'  "{name}": {_line(value)},\n' for name, value in claim.items())
        parts.append(f'{{\n{fields}  "statements": [\n{statements}\n  ]\n}}')
    (path or VERDICTS).write_text("[" + ", ".join(parts) + "]\n", encoding="utf-8")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read(path: Path | None = None) -> list[Claim]:
    """Returns the stored claims."""
    path = path or VERDICTS
    try:
        return _CLAIMS.validate_json(path.read_bytes())
    except FileNotFoundError as error:
        raise broken(in_repository(path), message("is missing"), COMMAND) from error
    except (OSError, ValidationError) as error:
        raise broken(in_repository(path), message("is damaged"), COMMAND) from error
