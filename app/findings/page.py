"""The page Findings: one component below the header, for the Streamlit script and the events route; its events."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.findings import statement
from app.findings.statement import MARKS
from app.panels import frame, matrix
from app.server import caches
from app.state import session
from app.state.lab_state import CLAIMS, MATRIX, TRAINING, LabState
from app.state.link import read_query, settled
from app.state.session import history
from app.state.training_view import TrainingView
from app.texts import _
from components.mounting import Part
from studies import claims
from studies.claims import WORDS, Claim, Statement


def on_findings(event: dict[str, Any]) -> None:
    """Opens a statement, its state in the Lab, or a training; the event `chart` only asks for the charts."""
    match event.get("type"):
        case "open" if event.get("statement") in [*CLAIMS]:
            history().do(replace(history().present, claim=event["statement"]), merge="viewing")
        case "cell" if recipe := matrix.chosen(event):
            history().do(replace(history().present, page=TRAINING, training=TrainingView(recipe)))
        case "lab" if isinstance(event.get("statement"), str) and (query := statement.query(event["statement"])):
            history().do(settled(history().present, read_query(session.fields_of(query))[0]))


def page() -> None:
    """Displays the page in the Streamlit script. The charts follow over the events route."""
    frame.draw(_parts)


def _parts(state: LabState, problems: Sequence[str], follows: bool = False, drawn: bool = False) -> list[Part]:
    """Returns the component, with its charts if `drawn`; `follows`: they come in a later block of the same answer."""
    stamp = _stamp()
    key = _opened(state.claim, stamp)
    shown = _detail(key, stamp) | {"charts": _charts(key, stamp) if drawn else None, "follows": follows}
    header = _list(stamp) | {"open": shown, "problems": [_(problem) for problem in problems], "large": state.teach,
                              "matrix": matrix.table() | {"open": state.claim == MATRIX, "key": MATRIX}}
    return [Part("findings", "findings", header, on_event=on_findings)]


def answer(state: LabState, problems: Sequence[str]) -> frame.Answer | None:
    """Returns the components for the events route: the statement at once, its charts in a late block."""
    return frame.answer(partial(_parts, follows=True), state, problems,
                       [lambda: _parts(state, problems, drawn=True)[-1]])


def _stamp() -> int:
    """Returns a number that changes with verdicts.json; 0 while the file is missing."""
    path = claims.VERDICTS
    return path.stat().st_mtime_ns if path.exists() else 0


@caches.remembered(2)
def _claims(stamp: int) -> list[Claim]:
    """Returns the claims, their statements by verdict; raises CheckpointError if verdicts.json cannot be read."""
    order = [*MARKS]
    return [replace(claim, statements=sorted(claim.statements, key=lambda each: order.index(each.verdict.word)))
            for claim in claims.read()]


def _opened(name: str, stamp: int) -> str:
    """Returns the key of the open statement: `name`, or the first statement of the claim `name`."""
    every = [each.key for claim in _claims(stamp) for each in claim.statements]
    return next((key for key in every if key == name), None) or next(
        (key for key in every if key.startswith(f"{name}-")), every[0])


def _find(key: str, stamp: int) -> tuple[Claim, Statement]:
    return next((claim, each) for claim in _claims(stamp) for each in claim.statements if each.key == key)


@caches.remembered(4, worded=True)
def _list(stamp: int) -> dict[str, Any]:
    every = _claims(stamp)
    count = sum(len(claim.statements) for claim in every)
    words = {each.verdict.word for claim in every for each in claim.statements}
    return {
        "about": _("{n} statements. A verdict is about our small models, not the paper.", n=count),
        "verdicts": [{"mark": mark, "word": _(word), "meaning": _(WORDS[word])} for word, mark in MARKS.items()
                     if word in words],
        "groups": [{"key": claim.key, "title": _(claim.title), "source": claim.source,
                    "statements": [statement.row(each) for each in claim.statements]} for claim in every]}


@caches.remembered(64, worded=True)
def _detail(key: str, stamp: int) -> dict[str, Any]:
    return statement.detail(*_find(key, stamp))


@caches.remembered(64, worded=True)
def _charts(key: str, stamp: int) -> list[dict[str, Any]]:
    return statement.charts(*_find(key, stamp))
