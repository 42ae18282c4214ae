"""The view of the visitor's present state, for the page and for events of tools."""

from dataclasses import replace

from app.lab.view import View
from app.panels.page import text
from app.server.limits import LimitError
from app.state import visit, visitor_models
from app.state.lab_state import LabState
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

ERRORS = (CheckpointError, ForeignError, LimitError, ValueError)  # the page shows the reason when it is drawn again


def present(state: LabState | None = None) -> View:
    """Returns the view of a state, by default of the present one; raises one of ERRORS if it cannot be computed."""
    past = visit.current().history
    state = state or past.present
    opened = visitor_models.opened(state.model, state.chat)
    fitting = replace(state.for_model(opened.name), compared=state.compared)  # a tool compares the models
    return View(opened, text.read(opened, past, state.text), fitting)
