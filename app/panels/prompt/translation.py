"""What a model of two texts writes: drawn last, as it takes longer than the pictures."""

from __future__ import annotations

from app import compute
from app.compute import Seen
from app.state.lab_state import LabState
from components import Part, written
from models import Lab
from models.kind import TARGET


def is_offered(before: Seen) -> bool:
    """True if the model writes another text."""
    return TARGET in before.rows


def part(lab: Lab, state: LabState, before: Seen, after: Seen, key: str = "written") -> Part:
    """What the model writes, unmodified and under the plan."""
    plan = compute.usable(lab, state.plan)
    said = after.written if after.written is not None or not plan else compute.rewritten(lab, before.prompt, plan)
    return written.part(key=key, before=before.written or "", after=said if plan else None)
