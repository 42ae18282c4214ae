"""Small Transformers, one for each type of attention, and interventions on their heads.

    lab = models.load("stories-selective")
    plan = models.HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0)
    trace = models.run(lab, "Once upon a time", plan)

Dimensions: B batch, L layers, H heads, N query tokens, M key tokens, D head width, C model width, V vocabulary.
Rows are queries, columns are keys. Layers and heads are counted from 0.

Names are imported when they are first used, so that `import models.plan` loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from models.catalogue import names
    from models.kind import Kind
    from models.lab import Lab, run
    from models.labs.foreign import load_folder
    from models.loading import held, in_memory, load
    from models.plan import HeadPlan
    from models.trace import Output, Trace

_MODULES = {
    "names": "models.catalogue",
    "Kind": "models.kind",
    "Lab": "models.lab",
    "load_folder": "models.labs.foreign",
    "held": "models.loading",
    "in_memory": "models.loading",
    "load": "models.loading",
    "HeadPlan": "models.plan",
    "Output": "models.trace",
    "Trace": "models.trace",
    "run": "models.lab",
}

__all__ = ["HeadPlan", "Kind", "Lab", "Output", "Trace", "held", "in_memory", "load", "load_folder", "names", "run"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'models' has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULES[name]), name)
    return value
