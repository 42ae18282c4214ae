"""Does it matter elsewhere? Each head by two measures over a corpus, and texts of each tenth for the selected head."""

from __future__ import annotations

from typing import Any

import numpy

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.measured import measures, roles
from app.texts import N_, _, spelt
from components.mounting import Content
from studies import store

MEASURES = {"confidence": N_("confidence"), "loss": N_("loss if pruned"), "relevance": N_("relevance")}


def content(view: View, tool: Tool) -> Content:
    """Returns the measures of all heads, the roles of the selected head, and its example texts."""
    kind, layer, head = view.head
    measured = measures.over_a_corpus(view.lab)
    of_kind = measured.get("kinds", {}).get(kind, {})
    known = [name for name in MEASURES if name in of_kind]
    own = [{"role": roles.in_words(role["role"]), "share": role["share"]}
           for role in roles.shown_roles(view.lab, measured)
           if (role["kind"], role["layer"], role["head"]) == (kind, layer, head)]
    header: dict[str, Any] = {
        "measures": [{"key": name, "label": _(MEASURES[name])} for name in known], "roles": own,
        "sentences": measured.get("sentences", 0), "examples": _examples(view), "tab": tool.setting(view, "tab")}
    return header, {f"tool.{name}": numpy.asarray(of_kind[name], numpy.float32) for name in known}


def _examples(view: View) -> dict[str, Any] | None:
    stored = store.read_undamaged(view.lab.name, "examples")
    if stored is None:
        return None
    kind, layer, head = view.head
    own, labels = stored["heads"][kind][layer][head], view.lab.task.labels
    words = spelt([labels[token] for token in own["keys"]])
    return {"count": stored["count"], "confidence": [
        {"value": value, "text": stored["texts"][i]}
        for i, value in zip(own["confidence"], own["confidence_values"], strict=True)],
        "keys": [{"label": word, "share": share, "times": times}
                 for word, share, times in zip(words, own["shares"], own["times"], strict=True)]}


TOOLS = [Tool("head.corpus", N_("Does it matter elsewhere?"), N_("over a corpus"), content,
              fits=lambda view: bool(view.lab.card) and any(
                  store.read_undamaged(view.lab.name, name) is not None for name in ("heads", "examples")),
              settings={"tab": ("all", "texts", "tokens")})]
