"""Who looks at it? The heads with the largest mean weight on the selected word, from the other words."""

import numpy

from app.content.picture import SIDE
from app.content.tool import Tool
from app.content.view import View
from app.texts import N_
from components.mounting import Content

MOST = 12  # number of heads in the payload


def content(view: View, tool: Tool) -> Content:
    """Returns the heads for a text whose maps are not part of the picture; the browser computes them otherwise."""
    kind, position = view.kind, view.look
    keys = len(view.after.rows[kind.key_row])
    if max(keys, len(view.after.rows[kind.query_row])) <= SIDE or position >= keys:
        return {}, {}
    others = numpy.arange(len(view.after.rows[kind.query_row]))
    is_other = (others != position) | (kind.query_row != kind.key_row)
    others = others[is_other & ((others > position) | (not kind.causal))]
    if not len(others):
        return {"position": position, "heads": []}, {}
    means = numpy.stack([view.layer(layer=layer).weights[:, others, position].mean(1) for layer in range(kind.layers)])
    order = numpy.argsort(-means, axis=None)[:MOST]
    return {"position": position, "heads": [{"layer": int(i // kind.heads), "head": int(i % kind.heads),
                                             "value": float(means.flat[i])} for i in order]}, {}


TOOLS = [Tool("word.wholooks", N_("Who looks at it?"), N_("column"), content)]
