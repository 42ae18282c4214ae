"""The output text of an encoder-decoder model. Displayed last, because it takes longer than the attention maps."""

from __future__ import annotations

from app import compute
from app.compute import AnyTrace
from app.state.lab_state import LabState
from components.mounting import Part
from components.written import written
from models import Lab
from models.kind import TARGET


def is_offered(before: AnyTrace) -> bool:
    """Returns True for an encoder-decoder model."""
    return TARGET in before.rows


def part(lab: Lab, state: LabState, before: AnyTrace, after: AnyTrace, key: str = "written") -> Part:
    """Returns the panel with the output texts of the unmodified model and of the model under the plan."""
    plan = compute.usable(lab, state.plan, before.prompt)
    generated = after.written if after.written is not None or not plan else compute.rewritten(lab, before.prompt, plan)
    return written.part(key=key, before=before.written or "", after=generated if plan else None)
