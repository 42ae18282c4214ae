"""Contributions to the answer: splits a logit, or a difference of two, into a sum over heads, MLPs and embedding."""

from __future__ import annotations

from typing import Any

import numpy

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.state.handlers.answer_events import on_answer
from app.state.lab_state import LabState
from app.state.pages.answer_view import DIRECT, HEADS, NONE, TOKENS
from app.texts import N_, _, number, spelt
from components.contributions import contributions
from components.mounting import Part
from models import HeadAttribution, Lab, Output
from models.analysis.relevance import HeadRelevance, applies
from models.plan import Address

CHOICES = 10  # number of most probable tokens that can be chosen
MEASURE_NAMES = {DIRECT: N_("direct contribution"), HEADS: N_("gradient × input of heads"),
                 TOKENS: N_("gradient × input of tokens")}
RELEVANCE = N_("Gradient × input of the linearised model: attention patterns, gates and norm scales are constants. "
               "The value of a head includes its effect through all later layers, summed over all positions. The "
               "values equal layer-wise relevance propagation (LRP) with the epsilon rule. The authors of LXT, a "
               "library for LRP, write that LRP is patented and free only for personal and scientific use.")


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the sorted bars."""
    output = _output(state, after)
    content: dict[str, Any] = {"key": "writers", "title": _("Contributions to the answer"), "model": lab.name,
                               "on_event": on_answer}
    try:
        attribution = _attribution(lab, state, before, after)
    except ValueError as error:
        return contributions.part(message=_(str(error)), **content)
    word = _quoted(output, attribution.token)
    total = _("Logit of {token}: {value:+.2f}, the sum of all bars.", token=word, value=attribution.total)
    if attribution.against is not None:
        total = _("Logit of {token} minus logit of {other}: {value:+.2f}, the sum of all bars.", token=word,
                  other=_quoted(output, attribution.against), value=attribution.total)
    about = _("The direct contribution of each part to the logit, with the scale of the final norm held constant. The "
              "effect of a head through later layers is not included.")
    if isinstance(attribution, HeadRelevance):
        about, total = _(RELEVANCE), _arrived(output, attribution)
    choices = [choice("token", _("Answer"), output, attribution.token, False),
               choice("against", _("Against"), output, NONE if attribution.against is None else attribution.against,
                      True)]
    if applies(lab):
        choices.append({"name": "measure", "label": _("Measure"), "value": _measure(lab, state),
                        "options": [{"value": name, "text": _(text)} for name, text in MEASURE_NAMES.items()]})
    bars = _of_tokens(after, attribution) if isinstance(attribution, HeadRelevance) and _measure(lab,
                                                                                                 state) == TOKENS else \
        _of_heads(lab, attribution)
    return contributions.part(unit=_("logits"), bars=bars, total=total, about=about, choices=choices, **content)


def notes(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> dict[Address, tuple[str, str]]:
    """Returns the contribution of each head for its tile: head -> (number, the number in words).

    The result is empty if the measure does not exist for the model or is about tokens. Arguments as in `part`.
    """
    if not after.outputs or _measure(lab, state) == TOKENS:
        return {}
    try:
        heads = _attribution(lab, state, before, after).heads
    except ValueError:
        return {}  # the section shows the reason
    return {(kind, layer, head): (number(float(values[layer, head]), "+.2f"), _(
        "contribution {value} logits", value=number(float(values[layer, head]), "+.2f")))
        for kind, values in heads.items() for layer, head in numpy.ndindex(values.shape)}


def _attribution(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> HeadAttribution | HeadRelevance:
    output = _output(state, after)
    plan = compute.usable(lab, state.plan, before.prompt)
    token, against = (None if chosen == NONE or chosen >= len(output.names) else chosen
                      for chosen in (state.explanation.token, state.explanation.against))
    measure = measures.attribution if _measure(lab, state) == DIRECT else measures.relevance
    return measure(lab, after.prompt, plan, token, against, output.position)


def _output(state: LabState, after: AnyTrace) -> Output:
    return compute.shown_output(after.outputs, state.prediction)


def _measure(lab: Lab, state: LabState) -> str:
    return state.explanation.measure if applies(lab) else DIRECT


def _of_heads(lab: Lab, attribution: HeadAttribution | HeadRelevance) -> list[dict[str, Any]]:
    bars: list[dict[str, Any]] = [
        {"label": head_name(lab, kind, layer, head), "value": float(values[layer, head]), "head": [kind, layer, head]}
        for kind, values in attribution.heads.items() for layer, head in numpy.ndindex(values.shape)]
    if isinstance(attribution, HeadAttribution):
        bars += [{"label": rest_name(name), "value": value} for name, value in attribution.rest.items()]
    return bars


def _of_tokens(after: AnyTrace, relevance: HeadRelevance) -> list[dict[str, Any]]:
    return [{"label": _("token {position}: {token}", position=i + 1, token=token.strip() or token),
             "value": float(value)}
            for row, values in relevance.rows.items()
            for i, (token, value) in enumerate(zip(spelt(after.rows[row]), values, strict=True))]


def _arrived(output: Output, relevance: HeadRelevance) -> str:
    values = {"token": _quoted(output, relevance.token), "value": relevance.total, "arrived": relevance.arrived,
              "share": relevance.conserved}
    if relevance.against is None:
        return _("Logit of {token}: {value:+.2f}. Relevance of all tokens: {arrived:+.2f}, so {share:.1%} is "
                 "conserved.", **values)
    return _("Logit of {token} minus logit of {other}: {value:+.2f}. Relevance of all tokens: {arrived:+.2f}, so "
             "{share:.1%} is conserved.", other=_quoted(output, relevance.against), **values)


def choice(name: str, label: str, output: Output, chosen: int, optional: bool) -> dict[str, Any]:
    """Returns the content of the list that offers the most probable tokens."""
    ids = [int(i) for i in output.top(CHOICES)]
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
    if name.startswith("layer "):
        return _("Layer {layer}, without attention maps", layer=int(name.removeprefix("layer ")) + 1)
    return _("biases") if name == "biases" else _("embedding")


def _quoted(output: Output, token: int) -> str:
    return f"“{spelt([output.names[token]])[0].strip() or output.names[token]}”"
