"""Writes a model under a plan of gates to a folder, in the format of transformers' save_pretrained.

    folding.py     multiplies the gates of an imported model into W_O, and removes pruned heads
    own_model.py   saves one of our models in an architecture of transformers that computes exactly the same

transformers is imported only when a model is saved.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from models import extras
from models.errors import StructureError
from models.labs.saving.own_model import SavedModel
from models.messages import message
from models.plan import HeadPlan

if TYPE_CHECKING:
    from models.lab import Lab
    from models.labs.foreign.lab import ForeignLab

__all__ = ["SavedModel", "save_pretrained"]


def save_pretrained(lab: Lab, folder: str | Path, plan: HeadPlan = HeadPlan()) -> SavedModel:
    """Writes a model under a plan to a folder, which `from_pretrained` of plain transformers reads.

    A gate is multiplied into the columns of W_O that read the head, so the saved model computes the same without
    Attention Lab. The saved model runs once before this function returns, and its results are compared with the results
    of the model under the plan.

    Args:
        lab: an imported model, or a trained model of ours with causal softmax attention.
        folder: the folder to write; created if it is missing. Files of a model in it are replaced.
        plan: gates of heads. Constant patterns, patches and scales cannot be saved.

    Raises:
        StructureError: the plan or the model cannot be saved in this form; the message gives the reason.
        MissingExtraError: the extra `hf` is not installed.
    """
    check_plan(lab, plan)
    extras.need("hf")
    from models.labs.trained import TrainedLab

    path = Path(folder)
    if isinstance(lab, TrainedLab):
        from models.labs.saving import own_model

        return own_model.save(lab, path, plan)
    from models.labs.saving import folding

    return folding.save(cast("ForeignLab", lab), path, plan)


def check(lab: Lab, plan: HeadPlan) -> None:
    """Raises StructureError if the model cannot be saved; an imported model runs once on a short input."""
    check_plan(lab, plan)
    extras.need("hf")
    from models.labs.trained import TrainedLab

    if isinstance(lab, TrainedLab):
        from models.labs.saving import own_model

        own_model.savable(lab)
    else:
        from models.labs.saving import folding

        folding.fold(cast("ForeignLab", lab), plan)


def check_plan(lab: Lab, plan: HeadPlan) -> None:
    """Raises StructureError if a plan has more than gates, and ValueError if it names a head that does not exist."""
    if any(state.constant for state in plan.heads.values()):
        raise StructureError(message("constant heads cannot be saved: restore or prune them"))
    if plan.patches:
        raise StructureError(message("patched heads cannot be saved: they depend on the second prompt"))
    if plan.scale != HeadPlan().scale:
        raise StructureError(message("a scale by log n cannot be saved: choose the model's own scale"))
    lab.check(plan)
