"""Attention Lab: interventions on the attention heads of small and imported Transformers.

    import attention_lab

    lab = attention_lab.load("stories-selective")               # or "hf:ORG/NAME"
    plan = attention_lab.HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0)
    trace = attention_lab.run(lab, "Once upon a time", plan)

The names of `models` are names of this module too. Everything is imported when it is first used:
`import attention_lab` loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import models

if TYPE_CHECKING:
    from models import HeadPlan, Kind, Lab, Output, Trace, held, in_memory, load, load_folder, names, run

__version__ = "1.0.0"

_MODULES: dict[str, str] = {}  # names that are modules -> the module
__all__ = ["HeadPlan", "Kind", "Lab", "Output", "Trace", "held", "in_memory", "load", "load_folder", "names", "run"]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        value = importlib.import_module(_MODULES[name])
    elif name in models.__all__:
        value = getattr(models, name)
    else:
        raise AttributeError(f"module 'attention_lab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *models.__all__})
