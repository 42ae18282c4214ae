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

from typing import Any

from models import extras, lazy

__version__ = "1.0.0"
# name -> the extra that it needs
_EXTRAS = {"compare": "notebook", "figures": "figures", "mean_weights": "hf", "show": "notebook", "study": "study"}
_load, __dir__, __all__ = lazy.names_of(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used (PEP 562); raises MissingExtraError if its extra is missing."""
    if name in _EXTRAS:
        extras.need(_EXTRAS[name])
    return _load(name)
