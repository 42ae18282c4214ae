"""Which word became which? The source words that the decoder's cross-attention looks at for each written word."""

import numpy

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.state.pages.selection import CROSS
from app.texts import N_, _, spelt
from components.mounting import Content
from models.kind import TARGET, TEXT

LAYER, HEAD = "layer", "head"


def content(view: View, tool: Tool) -> Content:
    """Returns the two source words with the largest weight for each written word."""
    kind = view.lab.kind(CROSS)
    layer = min(view.state.selection.layer, kind.layers - 1)
    head = min(view.state.selection.head, kind.heads - 1)
    by = tool.setting(view, "by")
    maps = view.layer(kind=CROSS, layer=layer).weights
    weights = maps[head] if by == HEAD else maps.mean(0)
    target, source = spelt(view.after.rows[TARGET]), spelt(view.after.rows[TEXT])
    rows = []
    for position, row in enumerate(weights[:len(target)]):
        best = numpy.argsort(-row, kind="stable")[:2].tolist()
        written = target[position + 1] if position + 1 < len(target) else _("the end")
        rows.append([parts.word(written), *([parts.word(source[i]), " ", {"share": float(row[i])}] for i in best)])
    return parts.composed(
        parts.title(_("Which word became which?"), _("cross-attention of each word, layer {layer}",
                                                     layer=layer + 1), parts.choice(
            _("Weights"), {LAYER: _("mean of its heads"), HEAD: parts.short((CROSS, layer, head))}, by, name="by")),
        parts.table([_("written"), _("looks at"), _("then at")], rows))


TOOLS = [Tool("answer.align", N_("Which word became which?"), N_("alignment"), content, tip="cross",
              settings={"by": (LAYER, HEAD)},
              fits=lambda view: TARGET in view.after.rows and any(kind.name == CROSS for kind in view.lab.kinds))]
