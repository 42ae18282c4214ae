"""Two prompts: each head alone takes its output from a second prompt; bars show the effect on the prediction."""

from __future__ import annotations

import contextlib
from typing import Any

from app import compute
from app.compute import AnyTrace
from app.panels.answer import measures
from app.panels.answer.writers import head_name
from app.state.handlers.answer_events import on_answer
from app.state.lab_state import LAST, LabState
from app.texts import _, spelt
from components.contributions import contributions
from components.mounting import Part
from models import Lab
from models.analysis.answer.head_patching import HeadPatching
from models.kind import TARGET
from models.plan import OUTPUT, PATTERN

# Pairs of prompts with the same number of tokens and different predictions, by model family.
PAIRS = {
    "assignment": (("x=7; y=2; x=?", "x=3; y=2; x=?"),),
    "stories": (("The girl was sad because", "The boy was sad because"),
                ("Lily went to the park with her mom. Then Lily lost",
                 "Tom went to the park with his mom. Then Tom lost")),
    "masked": (("The girl lost [her] toy in the park.", "The boy lost [his] toy in the park."),
               ("Lily was happy because [she] had a new toy.", "Tom was happy because [he] had a new toy.")),
    "translation": (("The cat is sleeping.", "The dog is sleeping."), ("I see a man.", "I see a woman.")),
    "summary": (("The student pilot lost control of the airplane.", "The private pilot lost control of the airplane."),
                ("The airplane struck a deer during the landing roll at night.",
                 "The airplane struck a tree during the landing roll at night.")),
    "dialogue": (("I have a dog.", "I have a cat."),),
}


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace) -> Part:
    """Returns the field of the second prompt and the bars."""
    content: dict[str, Any] = {
        "key": "pair", "title": _("Two prompts"), "model": lab.name, "on_event": on_answer,
        "about": _("Each head alone takes its output from the second prompt; all other heads stay as trained, without "
                   "your changes. A bar shows how far this moves the answer towards that of the second prompt: 100% is "
                   "all the way."),
        "field": {"label": _("Second prompt (as many tokens as the first)"), "value": state.source,
                  "examples": [list(pair) for pair in PAIRS.get(lab.task.name, ())]},
        "choices": [{"name": "what", "label": _("Patched value"), "value": state.explanation.what,
                     "options": [{"value": OUTPUT, "text": _("the head's output")},
                                 {"value": PATTERN, "text": _("its attention pattern only")}]}]}
    if not state.source:
        has_pairs = content["field"]["examples"]
        hint = _("Type a second prompt, or choose a pair.") if has_pairs else _("Type a second prompt.")
        return contributions.part(message=hint, **content)
    try:
        patching = _patching(lab, state, before)
    except ValueError as error:
        return contributions.part(message=_(str(error)), **content)
    bars = [{"label": head_name(lab, *address), "value": 100 * share, "head": list(address),
             "patched": bool(state.plan.state(*address).patch)} for address, share in patching.ranked if share == share]
    labels = lab.task.labels
    words = spelt([labels[patching.token], labels[patching.against]])
    total = _("Logit of “{token}” minus logit of “{other}”: {before:+.2f} here, {source:+.2f} with the second prompt.",
              token=words[0].strip(), other=words[1].strip(), before=patching.before, source=patching.source)
    if TARGET in before.rows:
        (token,) = spelt([before.rows[TARGET][patching.position]])
        total += " " + _("This is the prediction after “{token}”.", token=token)
    return contributions.part(bars=bars, total=total, unit="%", **content)


def shown_index(lab: Lab, state: LabState, before: AnyTrace) -> int:
    """Returns the index of the prediction that the bars explain.

    For a translation, the default is the first prediction that differs between the prompts.

    Args:
        lab: the model.
        state: the visitor's state.
        before: the baseline trace.
    """
    if state.prediction == LAST and state.source and TARGET in before.rows:
        with contextlib.suppress(ValueError):  # the section gives the reason
            position = _patching(lab, state, before).position
            return next((i for i, output in enumerate(before.outputs) if output.position == position), LAST)
    return state.prediction


def _patching(lab: Lab, state: LabState, before: AnyTrace) -> HeadPatching:
    prompt = before.prompt.with_source(compute.read(lab, state.source))
    index = compute.existing_index(before.outputs, state.prediction)
    chooses = index != state.prediction and TARGET in before.rows  # the first prediction that differs
    position = None if chooses else before.outputs[index].position
    return measures.patching(lab, prompt, state.explanation.what, position)
