"""ConstantView: the settings of the Constant page (number of constant heads, probing task, study)."""

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
        step: index into FRACTIONS, the share of heads that stay input-dependent.
        task: probing task for the typed text, one of TASKS.
        study: name of an evaluated model; empty for the study that fits the page's model best.
    """

    step: int = 2
    task: str = TASKS[0]
    study: str = ""

    def __str__(self) -> str:
        """`2.pos`, `4.slots.masked-softmax`"""
        return ".".join((str(self.step), self.task, *([self.study] if self.study else [])))

    @classmethod
    def parse(cls, text: str) -> ConstantView:
        """Returns the settings in a link's field; the inverse of str().

        Args:
            text: the field.

        Returns:
            The settings.

        Raises:
            ValueError: the text is not valid.
        """
        step, task, study = [*text.split(".", 2), "", ""][:3]
        if step not in map(str, range(len(FRACTIONS))) or task not in TASKS or not is_study(study):
            raise ValueError(f"{text!r} is nothing that the Constant page shows")
        return cls(int(step), task, study)


def is_study(name: str) -> bool:
    """Returns True if a name has the format of a study's name or is empty.

    Args:
        name: untrusted text.

    Returns:
        True or False; it is not checked that the study exists.
    """
    return not name or _NAME.fullmatch(name) is not None
