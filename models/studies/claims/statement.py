"""Claims, statements and verdicts as values: judge.py makes them, verdict_file.py stores them, pages show them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ConfigDict, with_config

from models.messages import N_, told
from models.studies.claims.stored_text import Points, Table, Text

KEYS = ("synthesizer", "selective", "normalisation", "papa", "heads", "disagreement", "gated")  # of claims, in order
HOLDS, PART, FAILS = N_("holds"), N_("holds in part"), N_("does not hold here")
UNVERIFIED = "†"  # behind a number of the source that was not checked in the paper itself
FADES, ONCE, BUILT = N_("fades with training"), N_("seen once"), N_("by construction")
UNSURE, OPEN = N_("inconclusive"), N_("not measured yet")
WORDS = {HOLDS: N_("every part is clear, by three trainings or more, and at least half of the effect is still there "
                   "after the longest training"),
         FADES: N_("every part is clear, but less than half of the effect is left after the longest training"),
         ONCE: N_("every part is clear by the choice of texts, but from fewer than three trainings"),
         BUILT: N_("it follows from what is computed or trained for, so it could hardly be otherwise"),
         PART: N_("some parts clearly hold, others clearly do not"),
         FAILS: N_("a part clearly does not hold, and no part clearly holds"),
         UNSURE: N_("the numbers cannot tell"), OPEN: N_("a part that could decide is not measured")}
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
        p: two-sided p-value of what the word says; None where chance has no share.
        q: the same corrected for all statements (Benjamini-Hochberg).
        parts: rows of a table: value, limits and p-value of each part that is one number.
    """

    word: Text
    why: Text
    seeds: int = 0
    steps: int = 0
    p: float | None = None
    q: float | None = None
    parts: Table = field(default_factory=list)


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
        source: the source's number in words; starts with `no number` where none is available.
        ours: our number in words, with its spread.
        basis: what the source's number rests on, as `abstract` or `figure, no table`.
        rule: what is asked of our numbers, in words.
        verdict: computed.
        table: rows of one table, theirs and ours.
        chart: None while there is nothing to draw.
        reason: likeliest reason if it does not hold.
        verified: False where the number was not checked in the paper itself.
        tested: what showed that reason; empty for a guess.
        command: recomputes our numbers.
    """

    key: str
    text: Text
    source: Text
    ours: Text
    basis: Text
    rule: Text
    verdict: Verdict
    table: Table
    chart: Chart | None
    command: str
    reason: Text = ""
    tested: Text = ""
    verified: bool = True

    @property
    def parts(self) -> list[dict[str, str]]:
        """The verdict's parts."""
        return self.verdict.parts

    @property
    def sourced(self) -> str:
        """The source's number, with UNVERIFIED behind it where that is due."""
        return self.source if self.verified else told("{source} {mark}", source=self.source, mark=UNVERIFIED)


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
