"""How much can be forgotten? The perplexity on held-out text by the memory that a selective model keeps."""

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.writing import forgetting
from app.texts import N_, _
from components.mounting import Content
from models.capabilities import Forgets
from studies import store


def content(view: View, tool: Tool) -> Content:
    """Returns the measured curves and the conclusion."""
    result = store.read(view.lab.name, "memory")
    if result is None:
        raise ValueError(N_("Not measured for this model."))
    control = forgetting.control_of(result)
    curves: dict[str, list[list[float]]] = {}
    for point in forgetting.points(result, control):
        curves.setdefault(point["line"], []).append([point["factor"], point["perplexity"]])
    xs = sorted({point[0] for points in curves.values() for point in points})
    return parts.composed(
        parts.title(_("How much can be forgotten?"), _("perplexity by 1 / memory")),
        parts.lines(_("Perplexity against memory"), [(name, name, sorted(points)) for name, points in curves.items()],
                    _("1 / memory"), log=True, xTicks=xs),
        parts.note(_("{windows} held-out windows of {window} tokens; at 8, layers keep an eighth. Dropped: tokens "
                     "with the largest F or, for comparison, the oldest except the first.",
                     windows=result["windows"], window=result["window"])),
        *([parts.note(verdict.replace("**", ""))] if (verdict := forgetting.verdict(result, control)) else []))


TOOLS = [Tool("all.memory", N_("How much can be forgotten?"), N_("memory"), content, tip="memory",
              fits=lambda view: isinstance(view.lab, Forgets) and view.lab.can_forget and bool(view.lab.card) and
              store.is_stored(view.lab.name, "memory"))]
