"""The output text of an encoder-decoder model, which is generated after the picture."""

from dataclasses import replace
from typing import Any

from app import compute
from app.lab.view import View
from components.mounting import Part
from models.kind import TARGET
from models.prompt import TargetPrompt


def content(view: View, waits: bool = True) -> dict[str, Any] | None:
    """Returns {before, after}, the texts of the unmodified model and of the changed one; None if it writes nothing.

    `after` is None without a change, and "" for a text that was not generated yet, if `waits` is False.
    """
    if TARGET not in view.before.rows or view.state.hides_answer or isinstance(view.reading.prompt, TargetPrompt):
        return None
    before, after = view.before.written or "", view.after.written
    if not view.changed or after is not None:
        return {"before": before, "after": after if view.changed else None}
    return {"before": before,
            "after": compute.rewritten(view.lab, view.before.prompt, view.plan) if waits else ""}


def completed(view: View, part: Part) -> Part:
    """Returns the Lab's part with the generated text."""
    return replace(part, header=part.header | {"written": content(view)})
