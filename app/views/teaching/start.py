"""The start page, which a new visitor sees first: one experiment.

A small model predicts the right value; one click prunes a layer of heads, and the prediction becomes wrong.
tests/app/test_opening.py tests the statements of the page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy

from app import compute
from app.compute import AnyTrace
from app.panels.page import frame
from app.server import serving
from app.state import session
from app.state.handlers import lesson_events
from app.state.link import opened_by
from app.texts import _
from components.opening import Bar, Choice, Link, Token, Words, opening
from models import HeadPlan, Lab, Output

# the layer whose heads find the variable of each value, and the layer whose heads look the value up
KIND, NAMER, READER = "self", 0, 1
# Heads of the first layer let each value attend to its variable, so that the second layer can find the right value.
WITHOUT_FIRST, WITHOUT_READER, WITHOUT_ONE = (
    HeadPlan.parse(text) for text in ("self-0.0~3g0", "self-1.0~3g0", "self-1.1g0"))


def page() -> None:
    frame.in_one_column(_draw, "stretch")


def _draw() -> None:
    present = session.history().present
    state = replace(opened_by(None), plan=present.plan)
    lab = serving.load(state.model)
    # the plan of a link can be for another model
    state = replace(state, plan=state.plan.within(lab.shape, frozenset({"trained"}))[0])
    before, after = compute.traces_of(lab, compute.read(lab, state.text), state.plan)
    old, new = before.output, after.output
    assert old is not None and new is not None  # the text ends with a question, so there is a prediction
    is_right = new.labels[0] == new.names[new.target]
    opening(key="opening", words=words(state.plan, is_right), tokens=tokens(lab, before, after, state.plan),
            links=links(lab, before, after, state.plan), bars=bars(before.tokens, old, new),
            answer_now=new.labels[0], is_right=is_right, changed=bool(state.plan),
            choices=choices(state.plan), on_event=lesson_events.on_start)


def tokens(lab: Lab, before: AnyTrace, after: AnyTrace, plan: HeadPlan) -> list[Token]:
    """Returns the tokens, each with the last token's attention to it in the lookup layer, unmodified and now."""
    looks = (_mean(lab, before, HeadPlan(), READER)[-1], _mean(lab, after, plan, READER)[-1])
    return [Token(text=text, before=float(old), weight=float(new))
            for text, old, new in zip(after.tokens, *looks, strict=True)][1:]


def links(lab: Lab, before: AnyTrace, after: AnyTrace, plan: HeadPlan) -> list[Link]:
    """Returns the attention of each value to the tokens before it in the first layer, unmodified and now."""
    old, new = _mean(lab, before, HeadPlan(), NAMER), _mean(lab, after, plan, NAMER)
    return [Link(source=query - 1, target=key - 1, before=float(old[query, key]), weight=float(new[query, key]))
            for query, token in enumerate(after.tokens) if token.isdigit() for key in range(1, query)]


def _mean(lab: Lab, seen: AnyTrace, plan: HeadPlan, layer: int) -> numpy.ndarray:
    """Returns (N, N) attention weights: the mean over the layer's heads, each times the head's gate."""
    weights = compute.layer_of(lab, seen, plan, KIND, layer).weights
    gates = [plan.state(KIND, layer, head).gate for head in range(len(weights))]
    return numpy.einsum("hqk,h->qk", weights, gates) / len(gates)


def bars(line: Sequence[str], before: Output, after: Output) -> list[Bar]:
    """Returns one bar per value that occurs in the text, in numerical order."""
    values = sorted({token for token in line if token.isdigit()})
    return [{"label": value, "before": float(before.distribution[before.names.index(value)]),
             "after": float(after.distribution[after.names.index(value)]),
             "right": value == before.names[before.target]} for value in values]


def choices(plan: HeadPlan) -> list[Choice]:
    """Returns the buttons: one button at first; after a click also the other experiments."""
    named = [(WITHOUT_FIRST, _("Prune layer 1"))]
    if plan:
        named += [(WITHOUT_READER, _("Prune layer 2 instead")), (WITHOUT_ONE, _("Prune one head only")),
                  (HeadPlan(), _("Restore all heads"))]
    return [{"plan": str(other), "name": name, "present": other == plan} for other, name in named]


def words(plan: HeadPlan, is_right: bool) -> Words:
    """Returns the texts about a plan.

    For a plan from a link that the page does not offer, the texts only report whether the prediction is right.
    """
    verdict = _("✓ right") if is_right else _("✗ wrong")
    looks = _("Arcs: where *x=?* looks in layer 2 (above) and the values in layer 1 (below). Dotted: before.") if plan \
        else _("Arcs: where *x=?* looks in layer 2 (above) and the values in layer 1 (below), mean of heads.")
    head = _("The model looks back with *heads*. A head gives every earlier word a weight and passes on its content. "
             "This model has twelve heads, four in each of three *layers*. The layers compute one after the other.")
    if not plan:
        reason = _("x was set to 1, then to 7, and 7 is the latest. To know that, *x=?* must look back along the line.")
        following = _("What if it could not look back? Press the button.")
    elif plan == WITHOUT_FIRST:
        looks = _("Layer 1, below, is pruned: it passes on nothing. Dotted: before.")
        reason = _("In layer 1 each value looks at the name before it, and so finds out which variable it belongs to."
                   " Without layer 1, *x=?* still looks back, but takes 3, which is y's. Of all such lines the model "
                   "now answers one in three right.")
        following = _("Four heads were pruned together. What if only one is pruned? Guess, then press *Prune one head"
                      " only*.")
    elif plan == WITHOUT_READER:
        reason = _("7 is a guess now, with half the probability of before: without the heads of layer 2, *x=?* finds "
                   "nothing. Of all such lines the model answers fewer than one in three right.")
        looks = _("Layer 2, above, is pruned: it passes on nothing. Dotted: before.")
        following = _("These two layers each do a part of the work. What if only one head is pruned?")
    elif plan == WITHOUT_ONE:
        reason = _("Layer 2, head 2 put nearly all its weight on 7. It is pruned, and the answer is the same: other "
                   "heads of the layer look at 7, too.")
        following = _("One head alone changes almost nothing. The lessons show why, and which heads a model can do "
                      "without.")
    else:
        reason = _("x was set to 1, then to 7: the right answer is 7.")
        following = ""
    purpose = _("See what each attention head of a small Transformer does, and what changes when you switch it off.")
    return {"purpose": purpose, "title": _("What is the value of x?"), "verdict": verdict, "looks": looks,
            "head": head, "reason": reason,
            "question": _("A small Transformer reads this line and predicts the value of x at its end."),
            "next": following}
