"""Why there? The match q·k of the looking word with each key, and the match with one key as a sum of parts."""

from __future__ import annotations

from typing import Any

import numpy

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.answer.writers import head_name, rest_name
from app.texts import N_, _
from components.mounting import Content
from models.capabilities import Explainable
from models.nets.score_parts import ScoreParts

KEY, QUERY, DIMENSIONS, POSITION = "key", "query", "dims", "place"
SPLITS = {KEY: N_("its key"), QUERY: N_("its query"), DIMENSIONS: N_("dimensions"), POSITION: N_("distance")}
ROWS, BARS = 5, 8  # numbers of keys and of parts in the payload


def content(view: View, tool: Tool) -> Content:
    """Returns the strongest keys of the looking word, and the parts of one score."""
    kind, layer, head = view.head
    maps, query = view.layer(), view.look
    weights, scores = maps.live[head, query], maps.scores[head, query]
    chosen = view.state.lab.setting("why.key")
    key = int(chosen) if chosen.isdecimal() and int(chosen) < weights.shape[-1] else int(weights.argmax())
    if view.kind.causal and key > query:
        key = int(weights.argmax())
    parts: ScoreParts = view.remembered("why", (view.after.prompt, view.plan, (kind, layer, head), query, key),
                                        lambda: Explainable.of(view.lab).score_parts(
                                            view.after.prompt, view.plan, (kind, layer, head), query, key))
    mask = getattr(view.after, "mask", None)
    order = sorted({*numpy.argsort(-weights, kind="stable")[:ROWS].tolist(), key}, key=lambda j: -weights[j])[:ROWS + 1]
    rows = [{"index": int(j), "score": float(scores[j]), "weight": float(weights[j]),
             "masking": float(mask[layer, query, j]) if mask is not None and view.kind.attention.selects else 0.0}
            for j in order if numpy.isfinite(scores[j])]
    splits = _splits(parts)
    split = tool.setting(view, "split") if tool.setting(view, "split") in splits else splits[0]
    bars = sorted(_bars(view, split, parts), key=lambda bar: -abs(bar["value"]))[:BARS]
    return {"query": query, "chosen": key, "score": parts.score, "rows": rows, "bars": bars, "split": split,
            "splits": [{"key": name, "label": _(SPLITS[name])} for name in splits],
            "about": _("The match is q·k × {factor:.3f}; softmax of the matches gives the attention. The bars are the "
                       "largest parts of this match and sum to it with the smaller ones.", factor=parts.factor)}, {}


def _splits(parts: ScoreParts) -> list[str]:
    if not parts.key_names:
        return [DIMENSIONS]
    return [KEY, QUERY, DIMENSIONS, *([POSITION] if parts.rotates else [])]


def _bars(view: View, split: str, parts: ScoreParts) -> list[dict[str, Any]]:
    if split == POSITION:
        return [{"label": _("content"), "value": parts.content},
                {"label": _("distance (RoPE)"), "value": parts.position}]
    if split == DIMENSIONS:
        half = len(parts.dimensions)
        return [{"label": _("dims {first}, {second}", first=i + 1, second=i + 1 + half) if parts.rotates else
                 _("dim {number}", number=i + 1), "value": float(value)} for i, value in enumerate(parts.dimensions)]
    sums, names = (parts.writers.sum(1), parts.query_names) if split == QUERY else \
        (parts.writers.sum(0), parts.key_names)
    return [{"label": rest_name(name), "value": float(value)} if isinstance(name, str) else
            {"label": head_name(view.lab, *name), "value": float(value), "head": list(name)}
            for name, value in zip(names, sums, strict=True)]


TOOLS = [Tool("head.why", N_("Why there?"), N_("q·k and its sources"), content,
              fits=lambda view: view.kind.attention.reads_text, settings={"split": tuple(SPLITS)})]
