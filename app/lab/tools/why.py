"""Why there? The match q·k of the looking word with each key, and the match with one key as a sum of parts."""

from typing import Any

import numpy

from app.content import parts
from app.content.tool import Tool
from app.lab.tools.who import rest_name
from app.lab.view import View
from app.texts import N_, _, number, spelt
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
    parts_of: ScoreParts = view.remembered("why", (view.after.prompt, view.plan, (kind, layer, head), query, key),
                                        lambda: Explainable.of(view.lab).score_parts(
                                            view.after.prompt, view.plan, (kind, layer, head), query, key))
    mask = getattr(view.after, "mask", None)
    strongest = map(int, numpy.argsort(-weights, kind="stable")[:ROWS])
    order = sorted({*strongest, key}, key=lambda j: -weights[j])[:ROWS + 1]
    rows: list[dict[str, Any]] = [{"index": int(j), "score": float(scores[j]), "weight": float(weights[j]),
             "masking": float(mask[layer, query, j]) if mask is not None and view.kind.attention.selects else 0.0}
            for j in order if numpy.isfinite(scores[j])]
    splits = _splits(parts_of)
    split = tool.setting(view, "split") if tool.setting(view, "split") in splits else splits[0]
    bars = sorted(_bars(view, split, parts_of), key=lambda bar: -abs(bar["value"]))[:BARS]
    queries, keys = (spelt(view.after.rows[row]) for row in (view.kind.query_row, view.kind.key_row))
    has_mask = any(row["masking"] for row in rows)
    table = parts.table(
        [_("word"), _("match (q·k)"), *([_("forgotten (F)")] if has_mask else []), _("attention")],
        [[parts.press(parts.word(keys[row["index"]]), {"type": "set", "name": "why.key", "value": str(row["index"])}),
          number(row["score"], ".2f"), *([number(row["masking"], ".2f")] if has_mask else []),
          parts.strong({"share": row["weight"]})] for row in rows[:ROWS]])
    state = view.plan.state(kind, layer, head)
    unused = [] if state.gate and not state.constant else [parts.note(_("computed, not used"))]
    most = max((abs(bar["value"]) for bar in bars), default=0.0) or 1.0
    return parts.composed(
        parts.title(parts.said(_("Why {word}?"), word=parts.word(keys[key])), parts.said(
            _("query of {word} and its key: {score}"), word=parts.word(queries[query]),
            score={"signed": parts_of.score}),
            parts.choice(_("Parts"), {name: _(SPLITS[name]) for name in splits}, split, name="split")),
        *unused, parts.row(table, parts.bars(bars[:ROWS + 1], most, "signed"), look="duo why"),
        parts.note(_("The match is q·k × {factor:.3f}. Bars: its largest parts.", factor=parts_of.factor)))


def _splits(found: ScoreParts) -> list[str]:
    if not found.key_names:
        return [DIMENSIONS]
    return [KEY, QUERY, DIMENSIONS, *([POSITION] if found.rotates else [])]


def _bars(view: View, split: str, found: ScoreParts) -> list[parts.Part]:
    if split == POSITION:
        return [parts.bar(_("content"), found.content), parts.bar(_("distance (RoPE)"), found.position)]
    if split == DIMENSIONS:
        half = len(found.dimensions)
        return [parts.bar(_("dims {first}, {second}", first=i + 1, second=i + 1 + half) if found.rotates else
                          _("dim {number}", number=i + 1), value) for i, value in enumerate(found.dimensions)]
    sums, names = (found.writers.sum(1), found.query_names) if split == QUERY else \
        (found.writers.sum(0), found.key_names)
    return [parts.bar(rest_name(name), value) if isinstance(name, str) else
            parts.bar(parts.short(name), value, parts.to_head(name)) for name, value in zip(names, sums, strict=True)]


TOOLS = [Tool("head.why", N_("Why there?"), N_("q·k and its sources"), content,
              fits=lambda view: view.kind.attention.reads_text, settings={"split": tuple(SPLITS)})]
