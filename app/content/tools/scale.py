"""Sharper heads? The factor of the scores of all heads."""

from app.content import parts
from app.content.heads import scale_of
from app.content.tool import Tool
from app.content.view import View
from app.texts import N_, _
from components.mounting import Content
from models.kind import policies_of
from models.plan import MAX_BASE, MIN_BASE

POLICIES = {"trained": N_("as trained"), "sqrt": N_("1/√d"), "logn": N_("log n"), "fixed": N_("n = trained length"),
            "length": N_("n = length")}


def _policies(view: View) -> list[str]:
    kinds = view.lab.kinds
    return [policy for policy in policies_of(kinds) if any(policy in kind.attention.readings for kind in kinds)]


def content(view: View, tool: Tool) -> Content:
    """Returns the scale policies of the model."""
    scale = scale_of(view.lab, view.state.plan.scale, len(view.after.tokens))
    act = {"type": "scale", "policy": scale["policy"], "base": scale["base"]}
    base = [parts.field(_("base"), scale["base"], act=act, field="base", kind="number", min=MIN_BASE, max=MAX_BASE)]
    return parts.composed(
        parts.title(_("Sharper heads?"), _("one change for all heads")),
        parts.row(parts.choice(_("Scale of all heads"), {policy: _(POLICIES[policy]) for policy in _policies(view)},
                               scale["policy"], act=act, field="policy"),
                  *(base if scale["policy"] == "logn" else [])),
        parts.note(_("log n multiplies all scores by log n / log base.")),
        *([parts.note(scale["note"])] if "note" in scale else []))


TOOLS = [Tool("all.scale", N_("Sharper heads?"), N_("scale log n"), content, tip="log-n",
              fits=lambda view: len(_policies(view)) > 1)]
