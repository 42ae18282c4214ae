"""Multiple choice: selects which of four endings continues a text, without training for this task.

    python -m studies.zero_shot.choices stories-softmax stories-selective [--items N]

Two data sets: the next sentence of a story (made for these models from held-out TinyStories), and the ActivityNet half
of HellaSwag (Zellers et al. 2019, arXiv 1905.07830), whose texts differ much from what the models have read. The model
chooses the ending with the highest mean log-probability of a token, given the context; the mean, because a sum prefers
short endings. The baseline accuracy is one in four. Nothing is chosen on the test parts that are read here.

Writes studies/measurements/NAME.choices.json: for each data set the accuracies, and a string of bits, one per
item, so that two models can be compared item by item.
"""

import argparse
import csv
import functools
import gzip
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from tokenizers import Tokenizer

from models.catalogue import names_of
from models.labs.stack import StackLab
from models.loading import own
from models.nets.transformer import Transformer
from models.storage.datasets import files
from models.tasks.base import Task
from models.tasks.stories import StoriesReader
from studies.command import Option, study
from studies.zero_shot import Ids, log_probabilities

SETS = ("tinystories_next_sentence", "hellaswag_activitynet")
ENDINGS = 4
BATCH = 64  # number of sequences per batch


@dataclass(frozen=True)
class Item:
    """A text and its possible endings."""

    context: str  # the text so far
    endings: tuple[str, ...]  # the ENDINGS possible endings
    label: int  # index of the right ending


@functools.cache  # cached, so that a command reads each file once for all its models
def read_items(data: Path, name: str, count: int | None = None) -> tuple[Item, ...]:
    """Returns the items of a data set's test part."""
    path, = files(data, f"{name}/test.tsv.gz")
    with gzip.open(path, "rt", encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    return tuple(Item(row["context"], tuple(row[f"ending{i}"] for i in range(ENDINGS)), int(row["label"]))
                 for row in rows[:count])


def encode(tokenizer: Tokenizer, context: str, ending: str, longest: int) -> Ids:
    """Returns the ids of `context`, a space and `ending`, without the first tokens if there are too many."""
    encoding = tokenizer.encode(f"{context} {ending}", add_special_tokens=False)
    # The end of the token is compared, because some tokenizers join the space before a word to its token.
    start = next(i for i, (_, end) in enumerate(encoding.offsets) if end > len(context) + 1)
    cut = max(0, len(encoding.ids) - longest)
    return Ids(tuple(encoding.ids[cut:]), max(0, start - cut))


def measure(model: Transformer, reader: StoriesReader, items: Sequence[Item]) -> dict[str, Any]:
    """Returns the accuracies, and for each item whether it is right."""
    longest = model.config.trained_length - 1  # one position is for BOS
    sequences = [encode(reader.tokenizer, item.context, ending, longest) for item in items for ending in item.endings]
    sums, counts = log_probabilities(model, sequences, BATCH).view(len(items), ENDINGS, 2).unbind(2)
    labels = torch.tensor([item.label for item in items])
    rights = ((sums / counts).argmax(1) == labels).tolist()
    share = fmean(rights)
    return {"items": len(items), "accuracy": round(share, 4),
            "accuracy_error": round(math.sqrt(share * (1 - share) / max(1, len(items) - 1)), 5),
            "accuracy_by_sum": round((sums.argmax(1) == labels).float().mean().item(), 4),
            "rights": "".join(str(int(right)) for right in rights)}


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    assert isinstance(task.reader, StoriesReader)  # the command accepts only models of stories
    began, sets = time.process_time(), {}
    for name in SETS:
        sets[name] = measure(lab.model, task.reader, read_items(arguments.data, name, arguments.items))
        print(f"{lab.name}, {name}: {sets[name]['accuracy']:.1%} ± {1.96 * sets[name]['accuracy_error']:.1%} of "
              f"{sets[name]['items']:,} items", flush=True)
    return {"cpu_seconds": round(time.process_time() - began), "sets": sets}


if __name__ == "__main__":
    study("choices", __doc__, names_of("stories"), own, _study,
          [Option("items", None, "of each data set, from its beginning; all if left out")])
