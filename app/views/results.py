"""The Results page: every statement with the paper's number, our number and a verdict; details can be unfolded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.markdown import linked, literal, plain, translated
from app.panels.page import frame
from app.server import caches, serving
from app.state import session
from app.state.handlers import events
from app.texts import _, ngettext
from components.figure import Spec, figure, spec_of
from figures.curves import claims as claim_charts
from figures.theme import Look
from models.csv_table import records_to_csv
from models.storage.damage import CheckpointError
from studies import claims, series
from studies.claims import (
    BUILT,
    FADES,
    FAILS,
    HOLDS,
    MISSING,
    ONCE,
    OPEN,
    SMALL,
    WORDS,
    Chart,
    Claim,
    Statement,
    verdict_file,
)
from studies.claims.statement import UNVERIFIED

Colour = Literal["green", "orange", "blue", "red", "gray"]
BADGES: dict[str, tuple[Colour, str]] = {
    HOLDS: ("green", ":material/check_circle:"), ONCE: ("green", ":material/looks_one:"),
    SMALL: ("blue", ":material/arrow_range:"), FADES: ("orange", ":material/trending_down:"),
    FAILS: ("red", ":material/cancel:"), BUILT: ("gray", ":material/functions:"),
    MISSING: ("gray", ":material/schedule:"), OPEN: ("blue", ":material/balance:")}

# verdict -> mark in the picture of all statements; the shapes resemble the icons of BADGES
CROSS = "M-.8,-.8L.8,.8M.8,-.8L-.8,.8"
LOOKS = {HOLDS: Look(2, "circle", True), ONCE: Look(2, "circle", False), FADES: Look(1, "triangle-down", True),
         SMALL: Look(1, "diamond", True), FAILS: Look(6, CROSS, False), BUILT: Look("faint", "square", True),
         MISSING: Look("faint", "square", False), OPEN: Look(0, "diamond", False)}


def page() -> None:
    frame.in_one_column(_claims)


def _claims() -> None:
    with st.container(key="about-claims"):
        st.markdown(_("Compare statements of papers about attention with the results of our small models. Choose a "
                      "statement to see its contrast, its numbers and its chart. A verdict is about these models and "
                      "this training, not about the paper."))
    stamp = _stamp()
    try:
        by_key = _claims_by_key(stamp)
    except CheckpointError as error:
        st.error(plain(_(str(error))))
        return
    _overview(stamp)
    titles = {key: _short_title(claim) for key, claim in by_key.items()}
    chosen = session.history().present.claim
    st.session_state[session.CLAIM] = chosen if chosen in by_key else next(iter(by_key))
    key = st.segmented_control(_("Claim"), list(titles), format_func=titles.__getitem__, key=session.CLAIM,
                               required=True, on_change=events.on_claim, label_visibility="collapsed")
    claim = by_key[key or next(iter(by_key))]
    st.markdown(f"#### {plain(_(claim.title))}")
    with st.container(key="about-claim"):
        st.caption(linked(f"{plain(claim.source)}. {plain(_(claim.setting))}"))
    if claim.waiting:
        st.caption(_("These models will be trained again, because a better learning rate was found. Until then their "
                     "weights are not compared with others. Results over several seeds come from models that were "
                     "trained at the better rate. {names}", names=literal(", ".join(claim.waiting))))
    statements = _ordered(claim)
    _summary(statements)
    specs = _specs(claim.key, stamp)
    earlier: list[Statement] = []
    place = st.container()
    for statement in statements:
        serving.give_way()
        if statement.verdict.word == OPEN and not any(other.verdict.word == OPEN for other in earlier):
            place = _folded([other for other in statements if other.verdict.word == OPEN], is_open=not earlier)
        above = next((other for other in earlier if other.table == statement.table and other.table), None)
        with place:
            _statement(statement, specs.get(statement.key), above, is_first=not earlier)
        earlier.append(statement)
    _trainings(claim, specs.get(CURVES))
    with st.expander(_("Methods")):
        st.markdown(translated(METHOD.read_text(encoding="utf-8")))


def _short_title(claim: Claim) -> str:
    return re.split("[:：]", _(claim.title))[0]


def _folded(statements: Sequence[Statement], is_open: bool = False) -> DeltaGenerator:
    """Returns the closed group of the open statements; its title has their number."""
    return st.expander(_("{verdict}: {count}", verdict=_(OPEN), count=len(statements)), expanded=is_open,
                       icon=BADGES[OPEN][1])


def _overview(stamp: int) -> None:
    """Displays the picture of all statements in two parts; a click on a statement shows its details.

    The second part has the open statements. It is folded.
    """
    statements = [statement for claim in _claims_by_key(stamp).values() for statement in claim.statements]
    unsure = [statement for statement in statements if statement.verdict.word == OPEN]
    if len(unsure) < len(statements):
        if unsure:
            st.caption(_("{unsure} of {total} statements are open. They are in a list below the picture, which "
                         "is closed at first.", unsure=len(unsure), total=len(statements)))
        _picture("overview", False, stamp)
    if unsure:
        with _folded(unsure):
            _picture("overview unsure", True, stamp)


def _picture(key: str, is_unsure: bool, stamp: int) -> None:
    spec, title = _overview_spec(stamp, is_unsure)
    figure(key=key, spec=spec, title=title, models=["results"], what="statements",
           about=[_("A verdict is about these models and this training, not about the paper.")],
           on_event=events.on_statement)


@caches.remembered(4, worded=True)
def _overview_spec(stamp: int, is_unsure: bool) -> tuple[Spec, str]:
    """Returns the specification and the title of the picture of the open statements, or of all others."""
    rows = [{"short": _short_title(claim), "key": statement.key, "text": _(statement.text),
             "source": _(statement.sourced), "ours": _unbroken(_(statement.ours)), "verdict": _(statement.verdict.word),
             "meaning": _("{verdict}: {meaning}", verdict=_(statement.verdict.word),
                          meaning=_(WORDS[statement.verdict.word]))}
            for word in BADGES for claim in _claims_by_key(stamp).values() for statement in claim.statements
            if statement.verdict.word == word and (word == OPEN) == is_unsure]
    title = ngettext("The verdict on {n} statement", "The verdicts on {n} statements", len(rows))
    words = {"text": _("statement"), "source": _("source"), "ours": _("here"), "verdict": _("verdict")}
    looks = {_(word): look for word, look in LOOKS.items()}
    return spec_of(claim_charts.statements.spec(rows, title, looks, words)), title


def _ordered(claim: Claim) -> list[Statement]:
    """Returns the statements in the order of the page: by verdict."""
    return sorted(claim.statements, key=lambda statement: [*BADGES].index(statement.verdict.word))


def _summary(statements: Sequence[Statement]) -> None:
    """Displays the number of statements per verdict, with a legend."""
    words = [statement.verdict.word for statement in statements]
    with st.container(horizontal=True, gap="small", key="verdicts"):
        for word in dict.fromkeys(words):
            colour, icon = BADGES[word]
            st.badge(_("{verdict}: {count}", verdict=_(word), count=words.count(word)), icon=icon, color=colour,
                     help=_("{sentence}.", sentence=_(WORDS[word])))
    if not all(statement.verified for statement in statements):
        st.caption(_("{mark} not checked in the paper itself", mark=UNVERIFIED))


def _trainings(claim: Claim, spec: Spec | None) -> None:
    """Displays training data, steps, seeds and learning curves of the claim's models."""
    with st.expander(_("Training steps, seeds and evaluation texts of the models of this claim")):
        _table(claim.trainings)
        if spec is None:
            st.caption(_("These weights were trained before learning curves were stored."))
        else:
            st.markdown(_("**Learning curves**: loss on texts that are neither trained on nor reported."))
            figure(key="learning curves", spec=spec, title=_("Learning curves"), models=[claim.key], what="curves")
        if claim.rates:
            st.markdown(_("**Learning rates that were tried**: loss after a short training, on the validation split."))
            _table(claim.rates)


def _table(rows: list[dict[str, str]]) -> None:
    if not rows:
        return
    st.table([{plain(_(name)): plain(_unbroken(_(value))) for name, value in row.items()} for row in rows],
             border="horizontal", hide_index=True)


_TOGETHER = re.compile(r"\S+ ± \S+|\([^()]{1,16}\)")
_HYPHEN = re.compile(r"(?<![\w-])-(?=\d)")  # a hyphen before a number is a minus


def _unbroken(cell: str) -> str:
    """Returns the text of a table cell with minus signs for hyphens, and no line breaks at ± or in brackets."""
    return _TOGETHER.sub(lambda match: match[0].replace(" ", "\u00a0"), _HYPHEN.sub("−", cell))


def _statement(statement: Statement, spec: Spec | None, above: Statement | None, is_first: bool) -> None:
    """Displays one statement: verdict, source and our number; details can be unfolded.

    Args:
        statement: the statement.
        spec: the chart of the statement, or None.
        above: an earlier statement with the same table; the table is not shown again. None if there is none.
        is_first: True for the first statement on the page, whose details are unfolded.
    """
    verdict = statement.verdict
    colour, icon = BADGES[verdict.word]
    with st.container(border=True, key=f"claim-{colour}-{statement.key}"):
        st.subheader(plain(_(statement.text)), anchor=statement.key)
        with st.container(horizontal=True, gap="small"):
            st.badge(_(verdict.word), icon=icon, color=colour)
            if verdict.word in (SMALL, FAILS) and verdict.seeds == 1:
                st.badge(_("one training"), color="gray")
        st.markdown(linked(_("**Source**: {source}  \n**Here**: {ours}", source=plain(_(statement.sourced)),
                             ours=plain(_unbroken(_(statement.ours))))))
        # the first statement is an example: its table and chart are visible without a click
        with st.expander(_("Details: contrast, reason, table, chart"), expanded=is_first):
            _details(statement, spec, above)


def _details(statement: Statement, spec: Spec | None, above: Statement | None) -> None:
    verdict = statement.verdict
    lines = [_("The source's number rests on: {basis}.", basis=plain(_(statement.basis))),
             _("Primary contrast: {contrast}: {interval}.", contrast=plain(_(statement.contrast)),
               interval=plain(_(verdict.interval))) if verdict.interval else
             _("Primary contrast: {contrast}.", contrast=plain(_(statement.contrast)))]
    if verdict.why:
        lines.append(_("Note: {why}.", why=plain(_(verdict.why))))
    if verdict.p is not None and verdict.q is not None:
        lines.append(_("Significance: p = {p:.3g}; corrected for all statements q = {q:.3g} (significant up to 0.05).",
                       p=verdict.p, q=verdict.q))
    if statement.reason and verdict.word in (SMALL, FAILS, FADES):
        how = _("tested: {test}", test=plain(_(statement.tested))) if statement.tested \
            else _("a hypothesis, not tested")
        lines.append(_("Most likely explanation (*{how}*): {reason}", how=how, reason=plain(_(statement.reason))))
    st.markdown(linked("  \n".join(lines)))
    if statement.parts:
        st.markdown(_("**Parts**, which do not decide, with limits of 95% on each side and p-values after Holm:"))
        _table(statement.parts)
    if above is not None:
        st.markdown(_("The numbers of this statement are in the table above: [{statement}](#{key})",
                      statement=plain(_(above.text)), key=above.key))
    else:
        _table(statement.table)
    if statement.chart is not None and spec is not None:
        what = _(statement.chart.title)
        figure(key=f"chart {statement.key}", spec=spec, title=_(statement.text), models=[statement.key],
               what="results", about=[what], alt=_(statement.chart.alt))
    with st.container(horizontal=True, vertical_alignment="top"):
        st.download_button(_("Table as CSV"), partial(as_csv, statement), file_name=f"{statement.key}.csv",
                           mime="text/csv", key=f"csv-{statement.key}", on_click="ignore",
                           icon=":material/download:")
        with st.popover(_("Measure again")):
            st.code(statement.command, language="bash", wrap_lines=True)


METHOD = Path(__file__).parents[2] / "assets" / "method.md"
CURVES = "learning curves"  # the key of the learning curves among a claim's charts


def as_csv(statement: Statement) -> str:
    """Returns the statement's table as a CSV file."""
    return records_to_csv(statement.table)


def chart_spec(chart: Chart, learning: bool = False) -> Spec:
    """Returns the Vega-Lite specification of a chart; `learning` is True for learning curves."""
    words = {name: _(name) for point in chart.points for name in (point["name"], point.get("which")) if name}
    rule = None if chart.rule is None else (chart.rule[0], _(chart.rule[1]))
    percent, title = chart.form.endswith("%"), _(chart.title)
    if chart.kind == "dots":
        return spec_of(claim_charts.dots.spec(chart.points, title, rule, percent, words))
    styles = {name: series.style(name) for name in {point["name"] for point in chart.points}}
    if learning:
        return spec_of(claim_charts.learning_curves.spec(chart.points, title, _(chart.across), styles, words))
    return spec_of(claim_charts.seed_lines.spec(chart.points, title, _(chart.across), styles, rule, percent,
                                                chart.kind == "scatter", words))


@caches.remembered(8, worded=True)
def _specs(key: str, stamp: int) -> dict[str, Spec]:
    """Returns key of a statement of this claim -> the specification of its chart."""
    claim = _claims_by_key(stamp)[key]
    charts = {s.key: s.chart for s in claim.statements} | {CURVES: claim.curves}
    return {name: chart_spec(chart, name == CURVES) for name, chart in charts.items() if chart is not None}


def _stamp() -> int:
    """Returns a number that changes with verdicts.json; 0 while the file is missing."""
    path = verdict_file.VERDICTS
    return path.stat().st_mtime_ns if path.exists() else 0


@caches.remembered(2)
def _claims_by_key(stamp: int) -> dict[str, Claim]:
    """Returns the claims by key; raises CheckpointError if verdicts.json cannot be read."""
    return {claim.key: claim for claim in claims.read()}
