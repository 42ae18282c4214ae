"""Which heads do this? The heads that are most like a pattern on this text, or that have a role over a corpus."""

from __future__ import annotations

from typing import Any

import numpy

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.measured import measures, roles
from app.state.lab_state import FINDS
from app.texts import N_, _
from components.mounting import Content
from models.analysis.patterns import pattern_scores

MOST = 10  # number of heads in the payload


def content(view: View, tool: Tool) -> Content:
    """Returns the roles, and the heads of the chosen one in order."""
    measured = measures.over_a_corpus(view.lab)
    known = {role["role"]: role for role in roles.shown_roles(view.lab, measured)}
    offered = [{"key": key, "label": _(title)} for key, title in FINDS.items() if key]
    offered += [{"key": key, "label": _("{role} ({n} sentences)", role=roles.in_words(key), n=measured["sentences"])}
                for key in sorted(known)]
    chosen = view.state.lab.setting("find.role")
    chosen = chosen if chosen in {role["key"] for role in offered} else offered[0]["key"]
    if chosen in known:
        found = [{name: role[name] for name in ("kind", "layer", "head")} | {"value": role["share"]}
                 for role in measured["roles"] if role["role"] == chosen]
        about = roles.look_for(chosen)
    else:
        found, about = _on_text(view, chosen), _("Mean weight on this pattern over the words of this text.")
    found = sorted(found, key=lambda head: -head["value"])[:MOST]
    return {"role": chosen, "roles": offered, "heads": found, "about": about}, {}


def _on_text(view: View, pattern: str) -> list[dict[str, Any]]:
    found = []
    for kind in view.lab.kinds:
        if kind.query_row != kind.key_row:
            continue
        tokens = view.after.rows[kind.query_row]
        for layer in range(kind.layers):
            maps = view.layer(kind=kind.name, layer=layer).weights
            scores = numpy.nan_to_num(pattern_scores(pattern, maps[None], tokens, kind.causal)[0])
            found += [{"kind": kind.name, "layer": layer, "head": head, "value": float(score)}
                      for head, score in enumerate(scores) if score > 0]
    return found


TOOLS = [Tool("all.find", N_("Which heads do this?"), N_("roles of heads"), content,
              fits=lambda view: any(kind.query_row == kind.key_row for kind in view.lab.kinds))]
