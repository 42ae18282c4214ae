"""Handles the events of the page Findings; every value of an event is untrusted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from app.findings import links
from app.state import session
from app.state.lab_state import CLAIMS
from app.state.link import read_query, settled
from app.state.session import history


def on_findings(event: dict[str, Any]) -> None:
    """Opens a statement, or its state in the Lab.

    The event `chart` changes nothing: its answer has the charts, which a first page lacks.
    """
    match event.get("type"):
        case "open" if event.get("statement") in [*CLAIMS]:
            history().do(replace(history().present, claim=event["statement"]), merge="viewing")
        case "lab" if isinstance(event.get("statement"), str) and (query := links.query(event["statement"])):
            history().do(settled(history().present, read_query(session.fields_of(query))[0]))
