"""Tests whether a later word piece selects the first piece to be forgotten, as in the source's "Bar ##ack Obama".

    python -m studies.corpus.word_pieces stories-selective

"Bar" can begin many words. After "ack" the word is known, and attention to the first piece could mislead. S is the
selection score of a token against the previous token (models/nets/attention/selective.py). It is averaged over held-out
windows, by layer, for three sets of token pairs: the first two pieces of a capitalised word (a name, or the start of a
sentence), the first two pieces of another word, and two tokens that each begin a word. Findings reports the
claim as not reproduced if no layer has a larger mean S against first pieces than against words. Writes
studies/measurements/NAME.pieces.json.
"""

import argparse
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from models.catalogue import find, names_of
from models.labs.stack import StackLab
from models.loading import own
from models.nets.attention.base import Record
from models.nets.attention.selective import selection
from models.nets.transformer import Transformer
from models.tasks.base import Task
from models.tasks.stories import CONTEXT, StoriesCorpus
from studies.command import study

WINDOWS = 240  # number of held-out windows; books and stories as in the test split
AT_ONCE = 16  # number of windows per batch
SHOWN = 12  # number of names to list, those with the largest S against their first piece


def pairs(labels: Sequence[str], tokens: Tensor) -> dict[str, Tensor]:
    """Returns three sets of token pairs as (B, N) bool, True at the later token of a pair."""
    def which(form: str) -> Tensor:
        return torch.tensor([bool(re.fullmatch(form, label)) for label in labels])[tokens]

    def after(of: Tensor) -> Tensor:
        return functional.pad(of, (1, -1), value=False)

    word, later = which(r" [A-Za-z]+"), which(r"[a-z]+")
    return {"names": after(which(r" [A-Z][a-z]*")) & later, "others": after(which(r" [a-z]+")) & later,
            "words": after(word) & word}


@torch.inference_mode()
def measure(model: Transformer, labels: Sequence[str], tokens: Tensor) -> dict[str, Any]:
    """Returns the mean S by layer and set of pairs for each window, and the names with the largest S."""
    kinds = pairs(labels, tokens)
    kept = torch.stack([where.any(1) for where in kinds.values()]).all(0)
    tokens, kinds = tokens[kept], {kind: where[kept] for kind, where in kinds.items()}
    layers: list[dict[str, list[float]]] = [{kind: [] for kind in kinds} for _ in range(model.config.layers)]
    by_name: dict[tuple[int, str], list[float]] = {}
    for begin in range(0, len(tokens), AT_ONCE):
        part, here = (rows[begin:begin + AT_ONCE] for rows in (tokens, torch.stack([*kinds.values()], 1)))
        records: list[Record] = []
        model(part, records=records)
        for layer, record in enumerate(records):
            # (B, N) S of each token against the previous one
            scores = functional.pad(selection(record.scores).diagonal(-1, 1, 2), (1, 0))
            for kind, where in zip(kinds, here.unbind(1), strict=True):
                layers[layer][kind] += ((scores * where).sum(1) / where.sum(1)).tolist()
            for row, place in here[:, 0].nonzero().tolist():
                name = "|".join(labels[int(i)].strip() for i in part[row, place - 1:place + 1])
                by_name.setdefault((layer, name), []).append(float(scores[row, place]))
    most = sorted(((sum(values) / len(values), layer, name, len(values))
                   for (layer, name), values in by_name.items()), reverse=True)
    return {"windows": len(tokens), **{kind: int(where.sum()) for kind, where in kinds.items()},
            "layers": [{kind: [round(value, 4) for value in values] for kind, values in layer.items()}
                       for layer in layers],
            "most": [{"name": name, "layer": layer + 1, "said": round(mean, 2), "times": times}
                     for mean, layer, name, times in most[:SHOWN]]}


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    assert isinstance(task.corpus, StoriesCorpus)  # the command accepts only models of stories
    rows = task.corpus.windows(CONTEXT)
    targets = rows[torch.linspace(0, len(rows) - 1, WINDOWS).long()]
    return measure(lab.model, task.reader.labels, functional.pad(targets, (1, -1), value=0))


if __name__ == "__main__":
    study("pieces", __doc__, [name for name in names_of("stories") if find(name).selects], own, _study)
