"""Constant attention of a frozen encoder: fresh probes while more and more heads are constant (PAPA).

    python -m studies.papa MODEL [--tasks pos slots ...]

After Hassid et al. 2022 (arXiv 2211.03495) and its code: constant matrices are means over the training texts of each
task on a fixed grid, heads become constant in a learned order, and for each number of constant heads new probes, which
read all layers, are trained on the frozen model. Every number has two controls: the score with all heads
pruned, and the score of a constant answer. The files, in the order of the data:

    corpora.py     texts with words and labels; accuracy, F1 of spans, Matthews correlation
    features.py    token ids of one model, constant matrices, interventions, and hidden states of all layers, cached
    probes.py      the probes and their training
    results.py     the conditions (learned order, random order, pruned), and the measured numbers for pages and claims
    study.py       one task of one model, and the order of its heads: lambda
    shipped.py     the released probes, and a typed text under them
"""
