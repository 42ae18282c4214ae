"""Handles the events of the page Findings; every value of an event is untrusted."""

from dataclasses import replace
from typing import Any

from app.findings import links
from app.panels.measured import matrix
from app.state import session
from app.state.lab_state import CLAIMS, TRAINING
from app.state.link import read_query, settled
from app.state.pages.training_view import TrainingView
from app.state.session import history


def on_findings(event: dict[str, Any]) -> None:
    """Opens a statement, its state in the Lab, or a training of the matrix.

    The event `chart` changes nothing: its answer has the charts, which a first page lacks.
    """
    match event.get("type"):
        case "open" if event.get("statement") in [*CLAIMS]:
            history().do(replace(history().present, claim=event["statement"]), merge="viewing")
        case "cell" if recipe := matrix.chosen(event):
            history().do(replace(history().present, page=TRAINING, training=TrainingView(recipe)))
        case "lab" if isinstance(event.get("statement"), str) and (query := links.query(event["statement"])):
            history().do(settled(history().present, read_query(session.fields_of(query))[0]))
