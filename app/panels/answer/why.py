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
from components import Part, contributions
from models import Lab
from models.kind import TEXT
from models.nets.score_parts import ScoreParts


def is_offered(lab: Lab, trace: AnyTrace) -> bool:
    """Returns True for our models of one token sequence, if the text has a prediction."""
    return bool(lab.card) and len(lab.kinds) == 1 and bool(trace.outputs)


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the sorted bars of one score. The arguments are those of `by_layer.part`."""
    kind, layer, head = state.selection.kind, state.selection.layer, state.selection.head
    shown: dict[str, Any] = {"key": "why", "title": _("Why here: {head}", head=head_name(lab, kind, layer, head)),
                             "model": lab.name, "on_event": on_answer}
    plan = compute.usable(lab, state.plan, before.prompt)
    tokens, n = spelt(after.rows[TEXT]), len(after.rows[TEXT])
    query = state.asking.query if 0 <= state.asking.query < n else n - 1
    key = state.asking.key
    try:
        if not 0 <= key < n or lab.kind(kind).causal and key > query:
            key = int(compute.layer_of(lab, after, plan, kind, layer).live[head, query].argmax())
        found = measures.why(lab, after.prompt, plan, (kind, layer, head), query, key)
    except ValueError as error:
        return contributions.part(message=_(str(error)), **shown)
    seen = query + 1 if lab.kind(kind).causal else n
    weight = _("Score of query “{query}” and key “{key}”: {score:+.2f}, the sum of all bars. Weight {weight:.1%}.",
               query=tokens[query].strip(), key=tokens[key].strip(), score=found.score, weight=found.weight)
    if found.masking:
        weight += " " + _("The mask F then subtracts {value:.2f}.", value=found.masking)
    return contributions.part(
        unit=_("score"), bars=_bars(lab, state.asking.split, found), total=weight,
        about=_("The score is q·k × {factor:.3f}. The norm before the layer is held at its present scale.",
                factor=found.factor),
        choices=[_choice("query", _("Query"), query, tokens), _choice("key", _("Key"), key, tokens[:seen]),
                 {"name": "split", "label": _("Parts"), "value": state.asking.split, "options": [
                     {"value": KEY, "text": _("what wrote the key")},
                     {"value": QUERY, "text": _("what wrote the query")},
                     {"value": DIMENSIONS, "text": _("head dimensions")},
                     {"value": POSITION, "text": _("content and distance")}]}], **shown)


def _bars(lab: Lab, split: str, found: ScoreParts) -> list[dict[str, Any]]:
    if split == POSITION:
        return [{"label": _("content, as if both were at one place"), "value": found.content},
                {"label": _("distance (RoPE)"), "value": found.position}]
    if split == DIMENSIONS:
        half = len(found.dimensions)
        return [{"label": _("dimensions {first} and {second}", first=i + 1, second=i + 1 + half), "value": float(value)}
                for i, value in enumerate(found.dimensions)]
    sums = found.writers.sum(1 if split == QUERY else 0)
    return [{"label": rest_name(name), "value": float(value)} if isinstance(name, str) else
            {"label": head_name(lab, *name), "value": float(value), "head": list(name)}
            for name, value in zip(found.names, sums, strict=True)]


def _choice(name: str, label: str, chosen: int, tokens: list[str]) -> dict[str, Any]:
    options = [{"value": i, "text": f"{i + 1} {token}"} for i, token in enumerate(tokens)]
    return {"name": name, "label": label, "value": chosen, "options": options}
