"""Data classes of claims, statements and verdicts, made by judge.py and stored by verdict_file.py."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic import ConfigDict, with_config

from models.messages import N_, message
from studies.claims.stored_text import Points, Table, Text

# keys of the claims, in the order of the page; each key is the name of a module in sources/
KEYS = ("synthesizer", "selective", "normalisation", "papa", "heads", "disagreement", "gated")
HOLDS, PART, FAILS = N_("holds"), N_("holds in part"), N_("does not hold here")
UNVERIFIED = "†"  # mark after a source's number that was not checked in the paper itself
FADES, ONCE, BUILT = N_("fades with training"), N_("seen once"), N_("by construction")
UNSURE, OPEN = N_("inconclusive"), N_("not measured yet")
WORDS = {HOLDS: N_("every part is significant over three or more trainings, and at least half of the effect remains "
                   "after the longest training"),
         FADES: N_("every part is significant, but less than half of the effect remains after the longest training"),
         ONCE: N_("every part is significant over the choice of texts, but there are fewer than three trainings"),
         BUILT: N_("it follows from the computation or from the training objective, so it could hardly be otherwise"),
         PART: N_("some parts clearly hold, others clearly do not"),
         FAILS: N_("a part clearly does not hold, and no part clearly holds"),
         UNSURE: N_("the numbers do not decide"),
         OPEN: N_("a part that could change the verdict has not been measured")}
_STORED = with_config(ConfigDict(extra="forbid"))  # verdict_file.py refuses files with other fields


@_STORED
@dataclass(frozen=True)
class Verdict:
    """The result of the rules of verdict.py for one statement.

    Attributes:
        word: HOLDS or another of WORDS.
        why: the reason, for the reader.
        seeds: number of trainings with different seeds, for the part of the statement with the fewest trainings; 0 if
            no part depends on a training.
        steps: number of steps of these trainings; 0 if unknown.
        p: two-sided p-value of the verdict; None if the parts are not statistical.
        q: p corrected for all statements (Benjamini-Hochberg).
        parts: table rows with the value, limits and p-values of each part that is tested as one number.
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
    """The data of a chart, which figures/curves/claims.py draws.

    Attributes:
        kind: `dots` (one row per name, values on the horizontal axis), `lines` (one line per name, values on the
            vertical axis), or `scatter` (as `lines`, with a linear x axis).
        points: dicts with name, value and which for `dots`; with name, value, x and seed for `lines` and `scatter`.
        title: title of the value axis, with its unit.
        across: title of the x axis, for lines and scatters.
        rule: value and label of a reference line; or None.
        alt: text alternative for screen readers.
        form: d3 number format of the value axis, for example `.0%` for fractions.
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
        key: the claim's key, a dash, and a word; also the file name of the download.
        text: the sentence.
        source: the source's number in words; starts with `no number` if there is none.
        ours: our number in words, with its spread.
        basis: the place of the number in the source, for example `abstract` or `figure, no table`.
        rule: the test that decides, in words.
        verdict: the computed verdict.
        table: rows with the source's numbers and ours.
        chart: the chart; None if there is nothing to draw.
        command: the command that recomputes our numbers.
        reason: the most likely reason if the statement does not hold.
        tested: evidence for this reason; empty if it is a guess.
        verified: False if the source's number was not checked in the paper itself.
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
        """The parts of the verdict; see Verdict."""
        return self.verdict.parts

    @property
    def sourced(self) -> str:
        """The source's number, followed by UNVERIFIED if it was not checked in the paper."""
        return self.source if self.verified else message("{source} {mark}", source=self.source, mark=UNVERIFIED)


@_STORED
@dataclass(frozen=True)
class Claim:
    """A source's claim with its statements.

    Attributes:
        key: a word that identifies the claim in links and files.
        title: title of the claim's section.
        source: the publication.
        setting: differences between the source's experiments and ours.
        models: names of the models that the statements are about.
        family: family of these models.
        statements: statements in the order of the page.
        trainings: table rows with steps, seeds and test texts of each model.
        curves: chart of the validation loss during training; None if no card has a curve.
        rates: table rows with the validation loss at each learning rate of the family's sweep.
        waiting: models that have to be trained again before they are compared, see recipes.is_current.
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
