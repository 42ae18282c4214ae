"""What the Constant page shows: how many heads are touched, of which task, in which study."""

from __future__ import annotations

import re
from dataclasses import dataclass

from models.studies.papa.probe_modes import FRACTIONS
from models.studies.papa.tasks.corpora import CORPORA

TASKS = tuple(CORPORA)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)


@dataclass(frozen=True)
class ConstantView:
    """See the module's docstring.

    Attributes:
        step: which of FRACTIONS stays live.
        task: one of TASKS, whose probe reads the typed text.
        study: name of a model that was measured; empty for the one that fits the page's model best.
    """

    step: int = 2
    task: str = TASKS[0]
    study: str = ""

    def __str__(self) -> str:
        """`2.pos`, `4.slots.masked-softmax`"""
        return ".".join((str(self.step), self.task, *([self.study] if self.study else [])))

    @classmethod
    def parse(cls, text: str) -> ConstantView:
        """The inverse of str(); raises ValueError."""
        step, task, study = [*text.split(".", 2), "", ""][:3]
        if step not in map(str, range(len(FRACTIONS))) or task not in TASKS or not is_study(study):
            raise ValueError(f"{text!r} is nothing that the Constant page shows")
        return cls(int(step), task, study)


def is_study(name: str) -> bool:
    """True of what could be the name of a study, and of none at all."""
    return not name or _NAME.fullmatch(name) is not None
