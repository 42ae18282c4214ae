"""The payload of one statement: its row in the list with the small plot, the open statement, its link into the Lab."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from app import texts
from app.state.lab_state import CLAIMS, LAB
from app.texts import _, ngettext
from studies import claims
from studies.claims import Claim, Statement, Verdict

# verdict -> its mark in components/findings/marks.js, in the order of the page
MARKS = {claims.HOLDS: "disc", claims.ONCE: "ring", claims.FADES: "half", claims.SMALL: "equal",
         claims.FAILS: "cross", claims.BUILT: "square", claims.OPEN: "dash", claims.MISSING: "dotted"}
_TOGETHER = re.compile(r"\S+ ± \S+|\([^()]{1,16}\)")
_HYPHEN = re.compile(r"(?<![\w-])-(?=\d)")  # a hyphen before a number is a minus


def row(statement: Statement) -> dict[str, Any]:
    """Returns the statement in the list: text, mark, a line about the contrast, and the data of the small plot."""
    verdict = statement.verdict
    return {"key": statement.key, "text": _(statement.text), "mark": MARKS[verdict.word], "word": _(verdict.word),
            "about": _about(statement), "plot": plot(verdict)}


def _about(statement: Statement) -> str:
    verdict = statement.verdict
    if verdict.bound is None:
        return _(statement.contrast)
    values = {"contrast": _(statement.contrast), "bound": _(verdict.bound_text)}
    return _("{contrast}; limit {bound}", **values) if verdict.is_limit else _("{contrast}; margin {bound}", **values)


def plot(verdict: Verdict) -> dict[str, Any] | None:
    """Returns value, interval and bounds of the primary contrast in its unit, and on which side of them it holds."""
    if verdict.value is None or verdict.low is None or verdict.high is None or verdict.bound is None:
        return None
    return {"value": verdict.value, "low": verdict.low, "high": verdict.high, "bounds": verdict.bounds,
            "holds_below": verdict.is_limit and not verdict.is_least, "unit": _(verdict.unit)}


def detail(claim: Claim, statement: Statement) -> dict[str, Any]:
    """Returns the opened statement without its charts; every text is data."""
    methods = [_(claim.setting)]
    if claim.waiting:
        methods.append(_("Not compared until trained again at a better learning rate; results over several seeds are "
                         "at that rate. {names}", names=", ".join(claim.waiting)))
    return row(statement) | {
        "word": _word(statement.verdict), "source": claim.source,
        "facts": _facts(statement),
        "table": _table(statement.table), "parts": _table(statement.parts), "command": statement.command,
        "lab": query(statement.key), "methods": methods, "trainings": _table(claim.trainings),
        "rates": _table(claim.rates)}


def place(key: str) -> list[str]:
    """Returns the model, the tool, and the models beside it of a statement; empty without a place in the Lab."""
    return (claims.entry(key).get("lab", "") if key in CLAIMS and "-" in key else "").split()


def query(key: str) -> str:
    """Returns the query of a statement's state in the Lab, in the visitor's language; empty without one."""
    if not place(key):
        return ""
    model, tool, *beside = place(key)
    language = "" if texts.language() == texts.ENGLISH else texts.language()
    fields = {"page": LAB, "model": model, "with": " ".join(beside), "lab": tool, "lang": language}
    return urlencode({name: value for name, value in fields.items() if value})


def _word(verdict: Verdict) -> str:
    """Returns the verdict; of a statement with a limit that holds, also the limit, because only a bound was shown."""
    if verdict.bound is None or not verdict.is_limit or verdict.word not in (claims.HOLDS, claims.ONCE):
        return _(verdict.word)
    return _("{verdict}: inside the limit of {bound}", verdict=_(verdict.word), bound=_(verdict.bound_text))


def _facts(statement: Statement) -> list[tuple[str, str]]:
    verdict = statement.verdict
    facts = [(_("Paper"), f"{_(statement.sourced)} ({_(statement.basis)})"), (_("Our result"), _(statement.ours))]
    if not statement.verified:
        facts.append(("†", _("not checked in the paper")))
    if verdict.seeds:
        basis = ngettext("{n} training", "{n} trainings with different seeds", verdict.seeds)
        facts.append((_("Basis"), _("{trainings}, {steps:,} steps", trainings=basis, steps=verdict.steps)
                      if verdict.steps else basis))
    facts.append((_("Test"), _("{contrast}: {interval}", contrast=_(statement.contrast), interval=_(verdict.interval))
                  if verdict.interval else _(statement.contrast)))
    meaning = _(claims.WORDS[claims.HOLDS if verdict.word == claims.ONCE else verdict.word])
    if verdict.word == claims.ONCE:
        meaning = _("{meaning}; of a single training", meaning=meaning)
    facts.append((_("Rule"), _("{verdict}: {meaning}", verdict=_(verdict.word), meaning=meaning)))
    if verdict.bound is not None:
        facts.append((_("Limit") if verdict.is_limit else _("Margin"),
                      _("the most that the statement allows") if verdict.is_limit else
                      _("half of the source's effect, or a small difference")))
    if verdict.why:
        facts.append((_("Note"), _(verdict.why)))
    if verdict.p is not None and verdict.q is not None:
        facts.append((_("Significance"), _("p = {p:.3g}; corrected q = {q:.3g} "
                                           "(significant up to 0.05)", p=verdict.p, q=verdict.q)))
    return [(name, unbroken(text)) for name, text in facts]


def unbroken(cell: str) -> str:
    """Returns the text with minus signs for hyphens before numbers, and no line breaks at ± or in brackets."""
    return _TOGETHER.sub(lambda match: match[0].replace(" ", "\u00a0"), _HYPHEN.sub("−", cell))


def _table(rows: Sequence[Mapping[str, str]]) -> dict[str, Any] | None:
    """Returns columns and rows; None for an empty table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    return {"columns": [_(name) for name in columns],
            "rows": [[unbroken(_(row.get(name, ""))) for name in columns] for row in rows]} if rows else None
