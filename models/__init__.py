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

from models import lazy

__getattr__, __dir__, __all__ = lazy.names_of(__name__, __file__)
