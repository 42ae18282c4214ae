"""Contributions to the answer: splits a logit, or a difference of two, into a sum over heads, MLPs and embedding."""

from __future__ import annotations

from typing import Any

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.state.handlers.answer_events import on_answer
from app.state.lab_state import LAST, LabState
from app.state.pages.answer_view import NONE
from app.texts import _, spelt
from components import Part, contributions
from models import Lab, Output

CHOICES = 10  # number of most probable tokens that can be chosen


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the sorted bars. The arguments are those of `by_layer.part`."""
    there = -len(after.outputs) <= state.asked < len(after.outputs)
    output = after.outputs[state.asked if there else LAST]
    plan = compute.usable(lab, state.plan, before.prompt)
    token, against = (None if its == NONE or its >= len(output.names) else its
                      for its in (state.asking.token, state.asking.against))
    try:
        found = measures.attribution(lab, after.prompt, plan, token, against, output.position)
    except ValueError as error:
        return contributions.part(key="writers", title=_("Contributions to the answer"), message=_(str(error)),
                                  model=lab.name, on_event=on_answer)
    bars: list[dict[str, Any]] = [
        {"label": head_name(lab, kind, layer, head), "value": float(values[layer, head]), "head": [kind, layer, head]}
        for kind, values in found.heads.items() for layer in range(values.shape[0]) for head in range(values.shape[1])]
    bars += [{"label": rest_name(name), "value": value} for name, value in found.rest.items()]
    word = _quoted(output, found.token)
    total = _("Logit of {token}: {value:+.2f}, the sum of all bars.", token=word, value=found.total)
    if found.against is not None:
        total = _("Logit of {token} minus logit of {other}: {value:+.2f}, the sum of all bars.", token=word,
                  other=_quoted(output, found.against), value=found.total)
    return contributions.part(
        key="writers", title=_("Contributions to the answer"), unit=_("logits"), bars=bars, total=total,
        about=_("How much each part adds to the logit directly, with the final norm held fixed. What a head does "
                "through later layers is not counted."),
        choices=[choice("token", _("Answer"), output, found.token, False),
                 choice("against", _("Against"), output, NONE if found.against is None else found.against, True)],
        model=lab.name, on_event=on_answer)


def choice(name: str, label: str, output: Output, chosen: int, optional: bool) -> dict[str, Any]:
    """Returns the content of the list that offers the most probable tokens."""
    ids = [int(i) for i in output.order[:CHOICES]]
    ids += [chosen] if chosen not in (*ids, NONE) else []
    options = [{"value": i, "text": text} for i, text in zip(ids, spelt(output.names[i] for i in ids), strict=True)]
    return {"name": name, "label": label, "value": chosen,
            "options": [*([{"value": NONE, "text": _("nothing")}] if optional else []), *options]}


def head_name(lab: Lab, kind: str, layer: int, head: int) -> str:
    """Returns the name of a head, counted from 1."""
    place = _("layer {layer}, head {head}", layer=layer + 1, head=head + 1)
    return f"{_(lab.kind(kind).title)}, {place}" if len(lab.kinds) > 1 else place


def rest_name(name: str) -> str:
    """Returns the name of a contribution that is not a head."""
    if name.startswith("mlp "):
        return _("MLP of layer {layer}", layer=int(name.removeprefix("mlp ")) + 1)
    return _("biases") if name == "biases" else _("embedding")


def _quoted(output: Output, token: int) -> str:
    return f"“{spelt([output.names[token]])[0].strip() or output.names[token]}”"
