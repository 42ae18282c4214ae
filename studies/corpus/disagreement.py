"""Measures how much the heads of a model differ on a corpus, by the three terms of models/nets/disagreement.py.

    python -m studies.corpus.disagreement translation-softmax [--sentences S]

The sentences are those of ud_english_ewt (dev) that studies/corpus/heads.py uses. Writes
studies/measurements/NAME.disagreement.json: the mean of exp(D) over sentences with
its standard error, by term, and the similarity of each pair of heads, by attention block and layer.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy

from models.analysis.head_similarity import disagreement_of, of_text
from models.catalogue import names, names_of
from models.lab import Lab
from models.loading import load
from models.nets.disagreement import TERMS
from models.storage.datasets import DATA
from models.tasks.base import Task
from studies.command import Option, study
from studies.corpus.heads import sentences_of
from studies.per_text import error

SENTENCES = 200


def measure(lab: Lab, count: int, data: Path = DATA) -> dict[str, Any]:
    """Returns the mean and standard error of exp(D) by term, and the mean similarity of each pair of heads."""
    by_sentence = [of_text(lab, lab.anchored(lab.read(sentence.text))) for sentence in sentences_of(lab, count, data)]
    values = {term: numpy.exp([disagreement_of(pairs, term) for pairs in by_sentence]) for term in TERMS}
    return {"sentences": len(by_sentence),
            "mean": {term: round(float(terms.mean()), 4) for term, terms in values.items()},
            "error": {term: round(error(terms), 5) for term, terms in values.items()},
            "pairs": {kind.name: {term: numpy.nan_to_num(numpy.mean(
                [pairs[kind.name][term] for pairs in by_sentence], 0, float)).round(3).tolist() for term in TERMS}
                for kind in lab.kinds}}


def _study(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    measurement = measure(lab, arguments.sentences, arguments.data)
    print(f"{lab.name}: exp(D) {measurement['mean']}", flush=True)
    return measurement


if __name__ == "__main__":
    study("disagreement", __doc__, [name for name in names() if name not in names_of("assignment")], load, _study,
          [Option("sentences", SENTENCES, "of the treebank")])
