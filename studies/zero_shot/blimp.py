"""Accuracy on BLiMP, pairs of sentences of which one is grammatical (Warstadt et al. 2020, TACL 8, arXiv 1912.00582).

    python -m studies.zero_shot.blimp stories-softmax stories-selective [--pairs P]

A pair is right if the model gives the grammatical sentence the higher probability, summed over all tokens: log p(token
| previous tokens, BOS first). This is the source's "simple LM method"; its baseline accuracy is one half. Nothing is
trained for BLiMP and nothing is chosen on it.

Writes studies/measurements/NAME.blimp.json: accuracies, and for each of the 67 paradigms a string of bits, one
per pair, so that two models can be compared pair by pair.
"""

import argparse
import functools
import gzip
import json
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from models.catalogue import names_of
from models.labs.stack import StackLab
from models.loading import own
from models.nets.transformer import Transformer
from models.storage.datasets import files
from models.tasks.base import Task
from models.tasks.stories import StoriesReader
from studies.command import Option, study
from studies.zero_shot import Ids, log_probabilities

FILE = "blimp/blimp.jsonl.gz"
PAIRS = 100  # number of pairs used per paradigm, evenly spaced among its 1,000
BATCH = 128  # number of sentences per batch


@functools.cache  # cached, so that a command reads the file once for all its models
def read_pairs(data: Path, count: int = PAIRS) -> list[dict[str, str]]:
    """Returns `count` pairs of each paradigm, as dicts with `good`, `bad`, `paradigm` and `phenomenon`."""
    path, = files(data, FILE)
    by_paradigm: dict[str, list[dict[str, str]]] = defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            by_paradigm[pair["UID"]].append({
                "good": pair["sentence_good"], "bad": pair["sentence_bad"], "paradigm": pair["UID"],
                "phenomenon": pair["linguistics_term"]})
    return [pairs[i] for pairs in by_paradigm.values()
            for i in torch.linspace(0, len(pairs) - 1, min(count, len(pairs))).long().tolist()]


def measure(model: Transformer, reader: StoriesReader, pairs: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Returns the accuracies, and for each pair whether it is right. Equal probabilities count as wrong."""
    sentences = [Ids(tuple(reader.tokenizer.encode(pair[which], add_special_tokens=False).ids))
                 for which in ("good", "bad") for pair in pairs]
    good, bad = log_probabilities(model, sentences, BATCH)[:, 0].chunk(2)
    by_paradigm, by_phenomenon = defaultdict(list), defaultdict(list)
    for pair, right in zip(pairs, (good > bad).tolist(), strict=True):
        by_paradigm[pair["paradigm"]].append(right)
        by_phenomenon[pair["phenomenon"]].append(right)
    return {"pairs": len(pairs), **accuracy(by_paradigm),
            "by_phenomenon": {name: round(fmean(rights), 4) for name, rights in by_phenomenon.items()},
            "rights": {name: "".join(str(int(right)) for right in rights) for name, rights in by_paradigm.items()}}


def accuracy(rights: Mapping[str, Sequence[bool]]) -> dict[str, float]:
    """Returns the mean accuracy over paradigms and its standard error due to the sampling of pairs."""
    shares = [fmean(right) for right in rights.values()]
    error = math.sqrt(sum(p * (1 - p) / max(1, len(right) - 1)
                          for p, right in zip(shares, rights.values(), strict=True)))
    return {"accuracy": round(fmean(shares), 4), "accuracy_error": round(error / len(shares), 5)}


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    assert isinstance(task.reader, StoriesReader)  # the command accepts only models of stories
    pairs, began = read_pairs(arguments.data, arguments.pairs), time.process_time()
    measurement = measure(lab.model, task.reader, pairs)
    seconds = time.process_time() - began
    print(f"{lab.name}: {measurement['accuracy']:.1%} ± {1.96 * measurement['accuracy_error']:.1%} "
          f"of {len(pairs):,} pairs, {seconds:.0f} s of CPU", flush=True)
    return {"cpu_seconds": round(seconds)} | measurement


if __name__ == "__main__":
    study("blimp", __doc__, names_of("stories"), own, _study, [Option("pairs", PAIRS, "of each paradigm")])
