"""The Results page: each source's claims, statement by statement, with our numbers beside theirs, a verdict that a rule
computed, a chart, and the command that measures it again."""

from __future__ import annotations

import copy
import csv
import io
from pathlib import Path
from typing import Any, Literal

import altair
import streamlit as st

from app import caches
from app.markdown import plain
from app.panels import frame
from app.state import events, session
from app.state.lab_state import FIRST_CLAIM
from components import charts
from models import checkpoint
from models.studies import seeds
from models.studies.claims import FAILS, HOLDS, OPEN, PART, Chart, Claim, Statement, claims, evidence
from models.studies.store import MEASUREMENTS

Colour = Literal["green", "orange", "red", "gray"]
BADGES: dict[str, tuple[Colour, str]] = {
    HOLDS: ("green", ":material/check_circle:"), PART: ("orange", ":material/contrast:"),
    FAILS: ("red", ":material/cancel:"), OPEN: ("gray", ":material/schedule:")}


NUMBERS = "models/studies/measurements"


def page() -> None:
    frame.in_one_column(_claims)


def _claims() -> None:
    st.markdown("Papers say what these kinds of attention do. Here is each statement that can be checked, the source's "
                "number, ours from the small models of this site, and a verdict that a rule computes from the numbers. "
                "A verdict is about these models and this training, not about the paper.")
    stamp = _stamp()
    for problem in _damaged(stamp):
        st.error(plain(problem))
    try:
        found = {claim.key: claim for claim in _found(stamp)}
    except (LookupError, TypeError, ValueError, AttributeError):  # numbers of another shape than they were written in
        st.error(plain(f"{NUMBERS} cannot be read. Restore them with: git checkout -- {NUMBERS}"))
        return
    titles = {key: claim.title.split(":")[0] for key, claim in found.items()}
    asked = session.history().present.claim
    st.session_state[session.CLAIM] = asked if asked in found else next(iter(found))
    key = st.segmented_control("Claim", list(titles), format_func=titles.__getitem__, key=session.CLAIM, required=True,
                               on_change=events.on_claim, label_visibility="collapsed")
    claim = found[key or FIRST_CLAIM]
    st.markdown(f"#### {plain(claim.title)}")
    st.caption(f"{plain(claim.source)}. {plain(claim.setting)}")
    _summary(claim)
    specs = _specs(claim.key, stamp)
    for statement in claim.statements:
        _statement(statement, specs.get(statement.key))
    with st.expander("How verdicts are computed"):
        st.markdown(RULES)


def _summary(claim: Claim) -> None:
    """How many statements have which verdict."""
    words = [statement.verdict.word for statement in claim.statements]
    with st.container(horizontal=True, gap="small"):
        for word, (colour, icon) in BADGES.items():
            if word in words:
                st.badge(f"{word}: {words.count(word)}", icon=icon, color=colour)


def _statement(statement: Statement, spec: dict[str, Any] | None) -> None:
    colour, icon = BADGES[statement.verdict.word]
    with st.container(border=True, key=f"claim-{statement.key}"):
        st.markdown(f"**{plain(statement.text)}**")
        st.badge(statement.verdict.word, icon=icon, color=colour)
        if statement.verdict.why:
            st.caption(f"{plain(statement.verdict.why)}.")
        st.markdown(f"Source: {plain(statement.source)}. *{plain(statement.sure)}*  \n"
                    f"Asked here: {plain(statement.rule)}.")
        if statement.chart is not None:
            # A copy, because Streamlit takes the data out of what it is given.
            st.vega_lite_chart(copy.deepcopy(spec), width="stretch", alt=statement.chart.alt)
        st.table([{plain(name): plain(value) for name, value in row.items()} for row in statement.table],
                 border="horizontal", hide_index=True)
        if statement.reason and statement.verdict.word in (PART, FAILS):
            how = f"tested: {plain(statement.tested)}" if statement.tested else "a guess, not tested"
            st.markdown(f"Likeliest reason (*{how}*): {plain(statement.reason)}")
        with st.container(horizontal=True, vertical_alignment="top"):
            st.download_button("Table as CSV", as_csv(statement), file_name=f"{statement.key}.csv", mime="text/csv",
                               key=f"csv-{statement.key}", on_click="ignore", icon=":material/download:")
            with st.popover("Measure it again"):
                st.code(statement.command, language="bash", wrap_lines=True)


RULES = """
- A difference between two models is taken seed by seed: same seed, same texts in the same order, same number of steps.
- Models that ship are trained once, in full. Three seeds of each are trained for fewer steps, without being kept, to
  see how much is chance: a quarter of the steps for stories, a third for masked words, all of them for variable
  assignment.
- The longest training decides. A difference is *clear* if chance alone would make one as large less than once in
  twenty: by Student's t over its own seeds, or, where it has one, over those of the shorter training. Three seeds
  settle large differences only. What was measured once and has no other seeds must differ by 2% of perplexity or two
  points of accuracy, and the verdict says *one seed*.
- *No worse* and *as good as* allow 1% of perplexity or one point of accuracy.
- If the shorter training clearly says the opposite, that part holds in part.
- **holds**: every part, clearly. **does not hold here**: no part, or none clearly; the verdict says which. **holds in
  part**: anything between. **not measured yet**: what is missing could still decide.
"""


def as_csv(statement: Statement) -> str:
    """The statement's table, as a file."""
    file = io.StringIO()
    columns = list(dict.fromkeys(name for row in statement.table for name in row))
    writer = csv.DictWriter(file, columns, restval="")
    writer.writeheader()
    writer.writerows(statement.table)
    return file.getvalue()


def drawn(chart: Chart) -> altair.LayerChart:
    """The picture of a chart's numbers."""
    if chart.kind == "dots":
        return charts.dots_chart(chart.points, chart.title, chart.rule, chart.form)
    return charts.lines_chart(chart.points, chart.title, chart.across, chart.rule, chart.form)


@caches.remembered(8)
def _specs(key: str, stamp: tuple[tuple[str, int], ...]) -> dict[str, dict[str, Any]]:
    """Key of a statement of this claim -> its chart as Vega-Lite. Altair takes 35 ms for each, so they are made once,
    not once a visitor."""
    (claim,) = (claim for claim in _found(stamp) if claim.key == key)
    return {s.key: charts.to_spec(drawn(s.chart)) for s in claim.statements if s.chart is not None}


def _stamp() -> tuple[tuple[str, int], ...]:
    """Changes when anything that was measured does; a visitor's page costs a look at some forty files."""
    patterns = ((checkpoint.CHECKPOINTS, "*/card.json"), (seeds.SEEDS, "*.json"), (MEASUREMENTS, "*.json"))
    return tuple((str(path), path.stat().st_mtime_ns) for folder, pattern in patterns
                 for path in sorted(Path(folder).glob(pattern)))


@caches.remembered(2)
def _damaged(stamp: tuple[tuple[str, int], ...]) -> list[str]:
    return evidence.damaged()


@caches.remembered(2)
def _found(stamp: tuple[tuple[str, int], ...]) -> list[Claim]:
    return claims()
