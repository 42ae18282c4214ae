"""The output text of an encoder-decoder model, which is generated after the picture."""

from dataclasses import replace
from typing import Any

from app import compute
from app.lab.view import View
from components.mounting import Part
from models import HeadPlan, Lab
from models.kind import TARGET
from models.prompt import Prompt, TargetPrompt


def content(view: View, waits: bool = True, follows: bool = False) -> dict[str, Any] | None:
    """Returns {before, after}, the texts of the unmodified model and of the changed one; None if it writes nothing.

    `after` is None without a change, and "" for a text that was not generated yet, if `waits` is False.
    `follows` is True if a later block of the same answer has it.
    """
    if TARGET not in view.before.rows or view.state.hides_answer or isinstance(view.reading.prompt, TargetPrompt):
        return None
    before, after = view.before.written or "", view.after.written
    if not view.changed or after is not None:
        return {"before": before, "after": after if view.changed else None}
    if not waits:
        return {"before": before, "after": "", "follows": follows}
    return {"before": before, "after": compute.rewritten(view.lab, view.before.prompt, view.plan)}


def completed(lab: Lab, prompt: Prompt, plan: HeadPlan, part: Part) -> Part:
    """Returns the Lab's part with the generated text."""
    texts = {"before": part.header["written"]["before"], "after": compute.rewritten(lab, prompt, plan)}
    return replace(part, header=part.header | {"written": texts})
