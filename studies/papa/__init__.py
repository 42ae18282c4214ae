"""Constant attention of a frozen encoder: fresh probes while more and more heads are constant (PAPA).

    python -m studies.papa MODEL [--tasks pos slots ...]

After Hassid et al. 2022 (arXiv 2211.03495) and its code: constant matrices are means over the training texts of each
task on a fixed grid, heads become constant in a learned order, and for each number of constant heads new probes, which
read all layers, are trained on the frozen model. Every number has two controls: the score with all heads
pruned, and the score of a constant answer. The files, in the order of the data:

    tasks/corpora.py     texts with words and labels; accuracy, F1 of spans, Matthews correlation
    tasks/token_ids.py   the texts as token ids of one model
    features.py          constant matrices, interventions of a plan, and hidden states of all layers, cached on disk
    probes.py            the probes and their training
    probe_modes.py       conditions: learned order, random order, pruned
    study.py             one task of one model, and the order of its heads: lambda
    results.py           the measured numbers, as pages and claims read them
    shipped.py           the released probes, and a typed text under them
"""
