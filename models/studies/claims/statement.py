"""Claims, statements and verdicts as values: judge.py makes them, verdict_file.py stores them, pages show them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ConfigDict, with_config

from models.messages import N_
from models.studies.claims.stored_text import Points, Table, Text

KEYS = ("synthesizer", "selective", "normalisation", "papa", "heads", "disagreement", "gated")  # of claims, in order
HOLDS, PART, FAILS = N_("holds"), N_("holds in part"), N_("does not hold here")
UNSURE, OPEN = N_("inconclusive"), N_("not measured yet")
_STORED = with_config(ConfigDict(extra="forbid"))  # as verdict_file.py reads them


@_STORED
@dataclass(frozen=True)
class Verdict:
    """What the rules of verdict.py say of a statement.

    Attributes:
        word: HOLDS or another of the words above.
        why: the reason in words.
        seeds: trainings that differ by their seed, in the part with the fewest; 0 where no training comes into it.
        steps: of these trainings; 0 where they have no common number.
    """

    word: Text
    why: Text
    seeds: int = 0
    steps: int = 0


@_STORED
@dataclass(frozen=True)
class Chart:
    """Numbers to draw; components/charts.py draws them.

    Attributes:
        kind: `dots`, one row a name, values along x; `lines`, values along y against x, one line a name; or `scatter`,
            the same with x at its distances.
        points: dots have name, value, which; the others have name, value, x, seed.
        title: of the values, with their unit.
        across: of x, for lines.
        rule: value that a rule marks, and what it means; or None.
        alt: what is to be seen, for those who cannot see it.
        form: of the values on their axis, as d3 has it: `.0%` for shares.
    """

    kind: str
    points: Points
    title: Text
    across: Text = ""
    rule: tuple[float, Text] | None = None
    alt: Text = ""
    form: str = ".4~r"


@_STORED
@dataclass(frozen=True)
class Statement:
    """One checkable sentence of a source.

    Attributes:
        key: of the claim, a dash, a word; also names its download.
        text: the sentence.
        source: the source's number in words; starts with `not recoverable` where nobody whom we read has it.
        ours: our number in words, with its spread.
        sure: how sure that number is.
        rule: what is asked of our numbers, in words.
        verdict: computed.
        table: rows of one table, theirs and ours.
        chart: None while there is nothing to draw.
        reason: likeliest reason if it does not hold.
        tested: what showed that reason; empty for a guess.
        command: recomputes our numbers.
    """

    key: str
    text: Text
    source: Text
    ours: Text
    sure: Text
    rule: Text
    verdict: Verdict
    table: Table
    chart: Chart | None
    command: str
    reason: Text = ""
    tested: Text = ""


@_STORED
@dataclass(frozen=True)
class Claim:
    """A source's claim.

    Attributes:
        key: a word, for links and files.
        title: of its section.
        source: where it was published.
        setting: what differs between the source's experiments and ours.
        models: that its statements speak of.
        family: what these are called.
        trainings: rows of a table: how long each of these was trained, how often, and on what it was measured.
        curves: loss while they were trained; None where no card has it.
        rates: rows of a table: validation loss with each learning rate of the family's sweep.
        waiting: those that are compared with nothing until they are trained again, see recipes.is_current.
    """

    key: str
    title: Text
    source: Text
    setting: Text
    models: tuple[str, ...]
    family: str
    statements: list[Statement] = field(default_factory=list)
    trainings: Table = field(default_factory=list)
    curves: Chart | None = None
    rates: Table = field(default_factory=list)
    waiting: tuple[str, ...] = ()
