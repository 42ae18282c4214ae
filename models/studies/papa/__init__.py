"""Constant attention in earnest: a frozen encoder under fresh probes, with more and more of its heads constant.

    python -m models.studies.papa MODEL [--tasks pos slots ...]

After Hassid et al. 2022 (PAPA, arXiv 2211.03495, and its code): constants are means over the training split of each
task on a fixed grid, heads become constant in a learned order, and for each number of them a new probe, which sees all
layers, is trained on the frozen model. In the order of the data:

    corpora.py      the tasks: texts with words and what is to be said of them
    texts.py        the same as one model's tokens
    constants.py    constant matrices, and what a plan does with them
    features.py     hidden states of all layers, kept on disk within a limit
    probes.py       the probes and their training
    scores.py       accuracy, F1 of spans, Matthews correlation
    order.py        which heads first: lambda
    ways.py         which heads are touched, and how: learned, random, removed
    study.py        all of it for one model and one task
    results.py      its numbers, as pages and claims read them
    reading.py      a typed text under the probes
"""
