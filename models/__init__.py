"""Small Transformers, one for each kind of attention, and what can be done to their heads.

    lab = models.load("stories-selective")
    plan = models.HeadPlan().constant("self", 0, 3).gate("self", 1, 2, 0.0)
    trace = models.run(lab, "Once upon a time", plan)

Dimensions everywhere: B batch, L layers, H heads, N query tokens, M key tokens, D width of a head, C width
of the model, V vocabulary; rows are queries, columns keys. Layers and heads count from 0.
"""

from models.catalogue import names
from models.foreign import load_folder
from models.heads import HeadPlan
from models.kind import Kind
from models.lab import Lab, held, in_memory, load
from models.trace import Output, Trace, run

__all__ = ["HeadPlan", "Kind", "Lab", "Output", "Trace", "held", "in_memory", "load", "load_folder", "names", "run"]
