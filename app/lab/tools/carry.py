"""What does it carry? Each head alone takes its output or its pattern from a second text."""

from __future__ import annotations

from typing import Any

from app import compute
from app.lab.tool import Tool
from app.lab.view import View
from app.panels.answer import measures
from app.panels.answer.pair import PAIRS
from app.texts import N_, _, spelt
from components.mounting import Content
from models.plan import OUTPUT, PATTERN

VALUES = {OUTPUT: N_("output"), PATTERN: N_("pattern")}


def field(view: View) -> dict[str, Any]:
    """Returns the second text and the pairs of examples for the field of components/lab/tools/second_text.js."""
    return {"source": view.state.source, "pairs": [list(pair) for pair in PAIRS.get(view.lab.task.name, ())]}


def content(view: View, tool: Tool) -> Content:
    """Returns the effect of patching each head alone, the largest first."""
    what = view.state.explanation.what
    header = field(view) | {"what": what, "values": [{"key": key, "label": _(text)} for key, text in VALUES.items()]}
    if not view.state.source:
        return header, {}
    try:
        prompt = view.before.prompt.with_source(compute.read(view.lab, view.state.source))
        assert view.output is not None
        patching = measures.patching(view.lab, prompt, what, view.output.position)
    except ValueError as error:
        return header | {"reason": _(str(error))}, {}
    token, against = spelt([view.lab.task.labels[i] for i in (patching.token, patching.against)])
    heads = [{"kind": kind, "layer": layer, "head": head, "share": share}
             for (kind, layer, head), share in patching.ranked if share == share]
    return header | {"token": token, "against": against, "before": patching.before, "source_value": patching.source,
                     "heads": heads}, {}


TOOLS = [Tool("head.carry", N_("What does it carry?"), N_("activation patching"), content,
              fits=lambda view: view.output is not None)]
