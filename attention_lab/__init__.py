"""Attention Lab: interventions on the attention heads of small and imported Transformers.

    import attention_lab

    lab = attention_lab.load("stories-selective")               # or "hf:ORG/NAME"
    plan = attention_lab.HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0)
    trace = attention_lab.run(lab, "Once upon a time", plan)

    attention_lab.show(lab, "Once upon a time", plan)           # in a notebook
    attention_lab.learn("lookup", attention="random")           # trains a small model

The public names of `models` are also available here. `attention_lab.figures` creates charts, and `attention_lab.study`
runs studies. A name is imported when it is first used, so `import attention_lab` loads neither torch nor numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import models

if TYPE_CHECKING:
    import figures as figures
    from attention_lab import study as study
    from learning.loop import learn
    from models import HeadPlan, Kind, Lab, Output, Trace, held, in_memory, load, load_folder, names, run
    from models.labs.foreign.running.constants import mean_weights
    from models.labs.saving import save_pretrained
    from widget import compare, show

__version__ = "1.0.0"

_NOTEBOOK = ("compare", "show")  # public names that need the optional dependencies `notebook`
__all__ = ["HeadPlan", "Kind", "Lab", "Output", "Trace", "compare", "figures", "held", "in_memory", "learn", "load",
           "load_folder", "mean_weights", "names", "run", "save_pretrained", "show", "study"]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562)."""
    if name == "figures":
        value = importlib.import_module("figures")
    elif name == "study":
        value = importlib.import_module("attention_lab.study")
    elif name == "learn":
        value = importlib.import_module("learning.loop").learn
    elif name == "mean_weights":
        value = importlib.import_module("models.labs.foreign.running.constants").mean_weights
    elif name in _NOTEBOOK:
        value = getattr(importlib.import_module("widget"), name)
    elif name in models.__all__:
        value = getattr(models, name)
    else:
        raise AttributeError(f"module 'attention_lab' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *models.__all__})
