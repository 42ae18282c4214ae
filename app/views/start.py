"""The start page, which a new visitor sees first: one sentence, one head, one button.

tests/app/test_pages.py tests the numbers in its sentences.
"""

from collections.abc import Sequence
from typing import Any

from app import compute
from app.server import serving
from app.state import events
from app.state.lab_state import LabState
from app.state.lessons import ORDER, lesson
from app.state.link import opened_by
from app.texts import _, spelt
from components.mounting import Part
from models import HeadPlan
from models.plan import Address


def parts(state: LabState, problems: Sequence[str]) -> list[Part]:
    first = opened_by(None)
    lab = serving.load(first.model)
    head = first.selection.kind, first.selection.layer, first.selection.head
    layers, heads = lab.shape[head[0]]
    pruned = HeadPlan().gate(*head, 0.0), HeadPlan().with_heads([(*head[:2], each) for each in range(heads)], gate=0.0)
    plan = state.plan if state.plan in pruned else HeadPlan()
    before, after = compute.traces_of(lab, compute.read(lab, first.text), plan)
    row = compute.layer_of(lab, before, HeadPlan(), *head[:2]).weights[head[2], -1]
    old, new = before.output, after.output
    assert old is not None and new is not None  # the text has a next word
    token = int(new.top()[0])
    was, now = (f"{float(each.distribution[token]):.0%}" for each in (old, new))
    return [Part("start", "start", {
        "title": _("What does a model look at before it answers?"),
        "about": " ".join(map(_, problems)) or _("A small language model guesses the next word."),
        "words": [{"text": text, "weight": round(float(weight), 4)}  # the weight that the head gives it at the end
                  for text, weight in zip(spelt(before.tokens), row, strict=True)],
        "answer": spelt([new.names[token]])[0],
        "chance": _("{now} likely, was {was}", now=now, was=was) if plan else _("{now} likely", now=now),
        "pruned": bool(plan),  # the weights are then drawn as computed and not used
        "says": _says(head, plan, [old.names[int(old.top()[0])].strip(), new.names[token].strip()], was, now,
                      float(row.max()), layers * heads),
        "buttons": _buttons(plan, *pruned),  # the last one is filled
        "ways": _ways(plan), "large": state.teach}, on_event=events.on_start)]


def _says(head: Address, plan: HeadPlan, answers: list[str], was: str, now: str, most: float, heads: int) -> str:
    if len(plan.heads) > 1:
        return _("Without the heads of layer {layer}, it answers *{answer}*, not *{former}*.", layer=head[1] + 1,
                 answer=answers[1], former=answers[0])
    if plan:
        return _("The answer stays *{answer}*, less surely: {was} → *{now}*. {n} other heads still look back.",
                 answer=answers[1], was=was, now=now, n=heads - 1)
    return _("Of its {n} *heads*, one is shown: head {head} of layer {layer} gives {share} of its attention to "
             "*{word}*. Darker is more. What if we switch it off?", n=heads, head=head[2] + 1, layer=head[1] + 1,
             share=f"{most:.0%}", word=answers[1])


def _buttons(plan: HeadPlan, head: HeadPlan, layer: HeadPlan) -> list[dict[str, Any]]:
    if not plan:
        return [{"name": _("Switch this head off"), "event": {"type": "plan", "plan": str(head)}}]
    back = [{"name": _("Put it back"), "event": {"type": "plan", "plan": ""}}]
    further = {"name": _("Switch the whole layer off"), "event": {"type": "plan", "plan": str(layer)}}
    return back if plan == layer else [*back, further]


def _ways(plan: HeadPlan) -> list[dict[str, Any]]:
    first = lesson(ORDER[0])
    return [{"title": _("Lesson 1: {title}", title=_(first.title)),
             "line": _("{n} minutes, from the beginning", n=first.minutes), "event": {"type": "lesson"}},
            {"title": _("Watch it learn"), "line": _("Which attention learns what?"), "event": {"type": "training"}},
            {"title": _("Open the lab"), "line": _("Every head, every number"),
             "event": {"type": "lab", "plan": str(plan)}}]
