"""Two prompts: each head alone takes its output from a second prompt, and the bars show what that restores."""

from __future__ import annotations

from typing import Any

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.panels.answer.writers import head_name
from app.state.handlers.answer_events import on_answer
from app.state.lab_state import LabState
from app.texts import _, spelt
from components import Part, contributions
from models import Lab
from models.kind import TARGET
from models.plan import OUTPUT, PATTERN

# Pairs of prompts with as many tokens and other answers, by family.
PAIRS = {
    "assignment": (("x=7; y=2; x=?", "x=3; y=2; x=?"),),
    "stories": (("The girl was sad because", "The boy was sad because"),
                ("Lily went to the park with her mom. Then Lily lost",
                 "Tom went to the park with his mom. Then Tom lost")),
    "masked": (("The girl lost [her] toy in the park.", "The boy lost [his] toy in the park."),
               ("Lily was happy because [she] had a new toy.", "Tom was happy because [he] had a new toy.")),
    "translation": (("The cat is sleeping.", "The dog is sleeping."), ("I see a man.", "I see a woman.")),
    "dialogue": (("I have a dog.", "I have a cat."),),
}


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the field of the second prompt and the bars; arguments as of `by_layer.part`."""
    shown: dict[str, Any] = {
        "key": "pair", "title": _("Two prompts"), "model": lab.name, "on_event": on_answer,
        "about": _("Each head alone takes its output from the second prompt, and all other heads keep theirs. A bar is "
                   "the share of the difference between the two answers that this one head brings: 100% is all of it."),
        "field": {"label": _("Second prompt, of as many tokens"), "value": state.source,
                  "examples": [list(pair) for pair in PAIRS.get(lab.task.name, ())]},
        "choices": [{"name": "what", "label": _("Patched value"), "value": state.asking.what,
                     "options": [{"value": OUTPUT, "text": _("the head's output")},
                                 {"value": PATTERN, "text": _("its attention pattern only")}]}]}
    if not state.source:
        return contributions.part(message=_("Type a second prompt, or choose a pair."), **shown)
    try:
        prompt = before.prompt.with_source(compute.read(lab, state.source))
        output = before.outputs[state.asked] if -len(before.outputs) <= state.asked < len(before.outputs) else None
        chosen = output is not None and state.asked >= 0
        position = output.position if output is not None and (chosen or TARGET not in before.rows) else None
        found = measures.patching(lab, prompt, state.asking.what, position)
    except ValueError as error:
        return contributions.part(message=_(str(error)), **shown)
    bars = [{"label": head_name(lab, *address), "value": 100 * share, "head": list(address),
             "patched": bool(state.plan.state(*address).patch)} for address, share in found.ranked if share == share]
    labels = lab.task.labels
    words = spelt([labels[found.token], labels[found.against]])
    total = _("Logit of “{token}” minus logit of “{other}”: {before:+.2f} here, {source:+.2f} with the second prompt.",
              token=words[0].strip(), other=words[1].strip(), before=found.before, source=found.source)
    return contributions.part(bars=bars, total=total, unit="%", **shown)
