"""ConstantView: the settings of the Constant page (number of constant heads, task, measured model)."""

from __future__ import annotations

import re
from dataclasses import dataclass

from studies.papa.probe_modes import FRACTIONS
from studies.papa.tasks.corpora import CORPORA

TASKS = tuple(CORPORA)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}", re.ASCII)


@dataclass(frozen=True)
class ConstantView:
    """The settings of the Constant page: index in FRACTIONS, probe of TASKS, and measured model (empty: by default)."""

    step: int = 2
    task: str = TASKS[0]
    study: str = ""

    def __str__(self) -> str:
        """Returns the link's field: `2.pos`, `4.slots.masked-softmax`."""
        return ".".join((str(self.step), self.task, *([self.study] if self.study else [])))

    @classmethod
    def parse(cls, text: str) -> ConstantView:
        """Returns the settings in a link's field; the inverse of str(). Raises ValueError."""
        step, task, study = [*text.split(".", 2), "", ""][:3]
        if step not in map(str, range(len(FRACTIONS))) or task not in TASKS or not is_study(study):
            raise ValueError(f"{text!r} is nothing that the Constant page shows")
        return cls(int(step), task, study)


def is_study(name: str) -> bool:
    """Returns True if the text can be the name of a measured model, or is empty."""
    return not name or _NAME.fullmatch(name) is not None
