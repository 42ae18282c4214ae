"""What if it were another? The answer of the unmodified model to a second text."""

from __future__ import annotations

from app import compute
from app.lab.tool import Tool
from app.lab.tools.carry import field
from app.lab.view import View
from app.texts import N_, _, spelt
from components.mounting import Content
from models import HeadPlan

ROWS = 4


def content(view: View, tool: Tool) -> Content:
    """Returns the most probable tokens for the second text, with their probabilities for this text."""
    header = field(view)
    if not view.state.source:
        return header, {}
    try:
        prompt = compute.read(view.lab, view.state.source)
        after, _plan = compute.traces_of(view.lab, prompt, HeadPlan())
    except ValueError as error:
        return header | {"reason": _(str(error))}, {}
    if not after.outputs or view.base is None:
        return header, {}
    new, old = compute.shown_output(after.outputs, view.state.prediction), view.base
    tokens = [int(token) for token in new.top(ROWS)]
    return header | {"rows": [{"label": spelt([new.names[token]])[0], "value": float(new.distribution[token]),
                               "before": float(old.distribution[token])} for token in tokens]}, {}


TOOLS = [Tool("word.swapw", N_("What if it were another?"), N_("two prompts"), content,
              fits=lambda view: view.output is not None and not view.lab.task.sees)]
