"""Where does it look? The pattern of the selected head: used, computed or constant."""

from collections.abc import Sequence

from app.content.picture import selected_map
from app.content.tool import Tool
from app.content.view import View
from app.texts import N_, _
from components.mounting import Content

USED, COMPUTED, CONSTANT = "used", "computed", "constant"


def content(view: View, tool: Tool) -> Content:
    """Returns the pattern's name and the whole pattern."""
    which = tool.setting(view, "view")
    weights = selected_map(view, which)
    offered = [USED, COMPUTED, *([CONSTANT] if view.lab.constant is not None else [])]
    header = {"view": which, "views": offered, "remarks": _remarks(view)}
    if weights is None:
        return header | {"message": _("There are no constant matrices yet.")}, {}
    return header, {f"map.{which}": weights}


def _remarks(view: View) -> list[str]:
    """Returns sentences about what the pattern does not show."""
    kind, (_name, layer, head), lines = view.kind, view.head, list[str]()
    if types := getattr(view.lab, "layer_types", ()):
        lines.append(hybrid_remark(types))
    if view.head in view.lab.closed:
        lines.append(_("Training pruned this head."))
    if not kind.attention.reads_text:
        lines.append(_("The same pattern for every text."))
    if kind.attention.has_sink:
        lines.append(_("The last column is the attention sink: a learned score without a value vector. With it, each "
                       "row sums to 1."))
    elif not kind.attention.is_distribution:
        lines.append(_("Rows of relu² need not sum to 1."))
    changed = view.plan.state(*view.head)
    if kind.attention.selects and head == 0 and (changed.constant or changed.gate < 1):
        lines.append(_("Head 1 also computes the mask F of layer {layer}. Your changes act on its output, not its "
                       "votes.", layer=layer + 1))
    return lines


def hybrid_remark(types: Sequence[tuple[str, bool]]) -> str:
    """Returns a sentence about the layers without attention maps: (layer type, True if the layer has maps) a layer."""
    others = [_("{n} ({type})", n=i, type=name.replace("_", " ")) for i, (name, has) in enumerate(types, 1) if not has]
    rows = [str(i) for i, (_name, has) in enumerate(types, 1) if has]
    return _("The picture shows layers {rows} of {n}. "
             "Without an attention map: {others}.", n=len(types), rows=", ".join(rows), others=", ".join(others))


TOOLS = [Tool("head.looks", N_("Where does it look?"), N_("pattern"), content, tip="weight",
              settings={"view": (USED, COMPUTED, CONSTANT)})]
