"""Where does it look? The pattern of the selected head: used, computed or constant."""

from __future__ import annotations

from app.lab.picture import selected_map
from app.lab.tool import Tool
from app.lab.view import View
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
        return header | {"message": _("This model has no constant matrices yet.")}, {}
    return header, {f"map.{which}": weights}


def _remarks(view: View) -> list[str]:
    if not view.kind.attention.reads_text:
        return [_("The pattern is a table: it is the same for every text.")]
    return []


TOOLS = [Tool("head.looks", N_("Where does it look?"), N_("pattern"), content, tip="weight",
              settings={"view": (USED, COMPUTED, CONSTANT)})]
