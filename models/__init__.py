"""Small Transformers, one for each type of attention, and interventions on their heads.

    lab = models.load("stories-selective")
    plan = models.HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0)
    trace = models.run(lab, "Once upon a time", plan)
    lens = models.logit_lens(lab, "Once upon a time", plan)
    parts = models.head_attribution(lab, "Once upon a time", plan, token=" was", against=" is")

Dimensions: B batch, L layers, H heads, N query tokens, M key tokens, D head width, C model width, V vocabulary.
Rows are queries, columns are keys. Layers and heads are counted from 0.

Names are imported when they are first used, so that `import models.plan` loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.analysis.answer.head_attribution import HeadAttribution, head_attribution
    from models.analysis.answer.logit_lens import LogitLens, logit_lens
    from models.catalogue import names
    from models.kind import Kind
    from models.lab import Lab, run
    from models.labs.foreign import load_folder
    from models.labs.saving import SavedModel, save_pretrained
    from models.loading import cached, held, in_memory, load
    from models.plan import HeadPlan
    from models.trace import Output, Trace

_MODULES = {
    "names": "models.catalogue",
    "HeadAttribution": "models.analysis.answer.head_attribution",
    "head_attribution": "models.analysis.answer.head_attribution",
    "LogitLens": "models.analysis.answer.logit_lens",
    "logit_lens": "models.analysis.answer.logit_lens",
    "Kind": "models.kind",
    "Lab": "models.lab",
    "load_folder": "models.labs.foreign",
    "SavedModel": "models.labs.saving",
    "save_pretrained": "models.labs.saving",
    "cached": "models.loading",
    "held": "models.loading",
    "in_memory": "models.loading",
    "load": "models.loading",
    "HeadPlan": "models.plan",
    "Output": "models.trace",
    "Trace": "models.trace",
    "run": "models.lab",
}

__all__ = ["HeadAttribution", "HeadPlan", "Kind", "Lab", "LogitLens", "Output", "SavedModel", "Trace",
           "head_attribution", "cached", "held", "in_memory", "load", "load_folder", "logit_lens", "names", "run",
           "save_pretrained"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'models' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value
