"""Why here: splits the attention score of one query and key of the selected head into a sum of parts."""

from __future__ import annotations

from typing import Any

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.panels.answer.writers import head_name, rest_name
from app.state.handlers.answer_events import on_answer
from app.state.lab_state import LabState
from app.state.pages.answer_view import DIMENSIONS, KEY, POSITION, QUERY
from app.texts import _, spelt
from components.contributions import contributions
from components.mounting import Part
from models import Lab
from models.nets.score_parts import ScoreParts

NOTHING = 2e-5  # the largest difference of a float32 score from q·k in float64 that is rounding


def is_offered(lab: Lab, trace: AnyTrace) -> bool:
    """Returns True if the text has a prediction."""
    return bool(trace.outputs)


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the sorted bars of one score."""
    kind, layer, head = state.selection.kind, state.selection.layer, state.selection.head
    content: dict[str, Any] = {"key": "why", "title": _("Why here: {head}", head=head_name(lab, kind, layer, head)),
                               "model": lab.name, "on_event": on_answer}
    plan = compute.usable(lab, state.plan, before.prompt)
    this = lab.kind(kind)
    queries, keys = (spelt(after.rows[row]) for row in (this.query_row, this.key_row))
    query = state.explanation.query if 0 <= state.explanation.query < len(queries) else len(queries) - 1
    key = state.explanation.key
    try:
        if not 0 <= key < len(keys) or this.causal and key > query:
            key = int(compute.layer_of(lab, after, plan, kind, layer).live[head, query].argmax())
        parts = measures.why(lab, after.prompt, plan, (kind, layer, head), query, key)
    except ValueError as error:
        return contributions.part(message=_(str(error)), **content)
    weight = _("Score of query “{query}” and key “{key}”: {score:+.2f}, the sum of all bars. Weight {weight:.1%}.",
               query=queries[query].strip(), key=keys[key].strip(), score=parts.score, weight=parts.weight)
    if parts.masking:
        weight += " " + _("The mask F then subtracts {value:.2f}.", value=parts.masking)
    about, splits = _about(parts)
    split = state.explanation.split if state.explanation.split in dict(splits) else splits[0][0]
    return contributions.part(
        unit=_("score"), bars=_bars(lab, split, parts), total=weight, about=about,
        choices=[_choice("query", _("Query"), query, queries),
                 _choice("key", _("Key"), key, keys[:query + 1] if this.causal else keys),
                 {"name": "split", "label": _("Parts"), "value": split,
                  "options": [{"value": value, "text": text} for value, text in splits]}], **content)


def _about(parts: ScoreParts) -> tuple[str, list[tuple[str, str]]]:
    """Returns the text above the bars, and the splits of this score, each with its name."""
    dimensions = (DIMENSIONS, _("head dimensions"))
    if not parts.key_names:
        return _("The score is q·k × {factor:.3f}, plus what the model adds to it.", factor=parts.factor), [dimensions]
    about = _("The score is q·k × {factor:.3f}. The scale of the norm before the layer is treated as a constant.",
              factor=parts.factor)
    splits = [(KEY, _("sources of the key")), (QUERY, _("sources of the query")), dimensions]
    if parts.rotates:
        return about, [*splits, (POSITION, _("content and distance"))]
    return about + " " + _("Cross-attention has no RoPE, so the distance adds nothing to the score."), splits


def _bars(lab: Lab, split: str, parts: ScoreParts) -> list[dict[str, Any]]:
    if split == POSITION:
        return [{"label": _("content, as if query and key had the same position"), "value": parts.content},
                {"label": _("distance (RoPE)"), "value": parts.position}]
    if split == DIMENSIONS:
        half = len(parts.dimensions)
        bars = [{"label": _("dimensions {first} and {second}", first=i + 1, second=i + 1 + half) if parts.rotates else
                 _("dimension {number}", number=i + 1), "value": float(value)}
                for i, value in enumerate(parts.dimensions)]
        added = [] if parts.key_names or abs(parts.position) < NOTHING else [
            {"label": _("added to q·k (position bias or soft cap)"), "value": parts.position}]
        return [*bars, *added]
    sums, names = (parts.writers.sum(1), parts.query_names) if split == QUERY else \
        (parts.writers.sum(0), parts.key_names)
    return [{"label": rest_name(name), "value": float(value)} if isinstance(name, str) else
            {"label": head_name(lab, *name), "value": float(value), "head": list(name)}
            for name, value in zip(names, sums, strict=True)]


def _choice(name: str, label: str, chosen: int, tokens: list[str]) -> dict[str, Any]:
    options = [{"value": i, "text": f"{i + 1} {token}"} for i, token in enumerate(tokens)]
    return {"name": name, "label": label, "value": chosen, "options": options}
