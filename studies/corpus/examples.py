"""Examples of every head on held-out texts: ten by confidence, ten by entropy, and its most attended tokens.

    python -m studies.corpus.examples stories-softmax [--texts T]

The texts are the beginnings of held-out texts of the model's task, evenly spread over all of them; for variable
assignment they are drawn at random. Definitions: models/analysis/head_measures.py. Writes
studies/measurements/NAME.examples.json with the texts that are an example of some head. The Lab's tool *Does
it matter elsewhere?* shows them.
"""

import argparse
import itertools
import re
import time
from typing import Any

from models.analysis.head_measures import HeadExamples, key_ids
from models.catalogue import names
from models.errors import InputError
from models.lab import Lab
from models.loading import load
from models.plan import HeadPlan
from models.tasks.base import Task
from models.tasks.pairs import PairCorpus, first_of_each
from models.tasks.stories import READERS, StoriesCorpus
from studies.command import Option, study
from studies.corpus.patching import SEED, assignment_pairs

TEXTS = 200
LONGEST, SHORTEST = 180, 24  # numbers of characters of a text


def held_out_texts(task: Task, data: Any, count: int) -> list[str]:
    """Returns the beginnings of `count` held-out texts of a task, evenly spread over all of them."""
    if isinstance(task.corpus, PairCorpus):
        whole = [text for text, _ in first_of_each(task.corpus.pairs("test"))]
    elif isinstance(task.corpus, StoriesCorpus):
        whole = [paragraph for read in READERS.values()
                 for paragraph in _spread([part for text in read(data, "test") for part in re.split(r"\n+", text)],
                                          2 * count)]
    else:
        return [text for text, _ in itertools.islice(assignment_pairs(SEED), count)]
    texts = [beginning(text) for text in whole]
    return _spread([text for text in dict.fromkeys(texts) if len(text) >= SHORTEST and "[" not in text], count)


def beginning(text: str) -> str:
    """Returns the first sentences of a text, up to LONGEST characters; a longer first sentence is cut after a word."""
    text = " ".join(text.split())
    if len(text) <= LONGEST:
        return text
    part = text[:LONGEST + 1]
    ends = [match.end() for match in re.finditer(r"[.!?][\"'”’]?(?= )", part)]
    return part[:ends[-1]] if ends and ends[-1] >= SHORTEST else part[:part.rfind(" ")]


def _spread(texts: list[str], count: int) -> list[str]:
    return texts if len(texts) <= count else [texts[i * len(texts) // count] for i in range(count)]


def measure(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    """Returns the examples of every head; see the module's docstring."""
    began, texts = time.process_time(), []
    examples = {kind.name: HeadExamples(kind, len(lab.task.labels)) for kind in lab.kinds}
    for text in held_out_texts(task, arguments.data, arguments.texts):
        try:
            prompt = lab.anchored(lab.read(text))
        except InputError:
            continue
        trace = lab.run(prompt, [HeadPlan()])[0]
        for kind in lab.kinds:
            examples[kind.name].add(lab, trace, key_ids(trace, kind))
        texts.append(text)
    heads = {kind.name: [[examples[kind.name].of_head(layer, head) for head in range(kind.heads)]
                         for layer in range(kind.layers)] for kind in lab.kinds}
    every = [head for layers in heads.values() for layer in layers for head in layer]
    used = sorted({i for head in every for name in ("confidence", "entropy") for i in head[name]})
    place = {old: new for new, old in enumerate(used)}
    for head in every:
        head |= {name: [place[i] for i in head[name]] for name in ("confidence", "entropy")}
    print(f"{lab.name}: {len(texts)} texts, {time.process_time() - began:.0f} s of CPU", flush=True)
    return {"count": len(texts), "texts": [texts[i] for i in used], "heads": heads}


if __name__ == "__main__":
    study("examples", __doc__, names(), load, measure, [Option("texts", TEXTS, "held-out texts")])
