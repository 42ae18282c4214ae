"""Who wrote it? The direct contribution of each head, MLP and the embedding to a logit of the answer."""

from __future__ import annotations

import numpy

from app.lab.picture import shown_token
from app.lab.tool import Tool
from app.lab.view import View
from app.panels.answer.writers import rest_name
from app.texts import N_
from components.mounting import Content


def content(view: View, tool: Tool) -> Content:
    """Returns the contributions at the scale of the unmodified pass."""
    before, after = view.formations
    token, choices = shown_token(view)
    heads, rest = after.contributions(token["id"], before.writes)
    total = sum(float(values.sum()) for values in heads.values()) + sum(rest.values())
    return {"token": token, "choices": choices, "total": total,
            "rest": [[rest_name(name), value] for name, value in rest.items()]}, \
        {f"tool.{kind}": values.astype(numpy.float32) for kind, values in heads.items()}


TOOLS = [Tool("answer.who", N_("Who wrote it?"), N_("attribution"), content,
              fits=lambda view: view.output is not None)]
