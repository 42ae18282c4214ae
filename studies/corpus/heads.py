"""Measures of each head on a corpus: confidence, relevance, loss difference if only this head is pruned, and roles.

    python -m studies.corpus.heads stories-softmax [--sentences S]

Confidence and roles are measured on sentences of ud_english_ewt (dev), relevance on the first of these sentences, token
frequencies on its training split, and loss on validation texts of the model's own task. Definitions:
models/analysis/head_measures.py, models/analysis/relevance.py, models/analysis/roles.py. For the relevance of a masked
model every seventh token is hidden. Writes studies/measurements/NAME.heads.json, for *Does it matter elsewhere?*.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy
import torch
from numpy import ndarray

from models.analysis import relevance, roles
from models.analysis.head_measures import confidences, text_of_rows
from models.analysis.roles import KeyCounts, Sentence, aligned, ranks
from models.catalogue import names, names_of
from models.kind import TEXT
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.loading import load
from models.nets.head_removal import without
from models.plan import HeadPlan
from models.prompt import Prompt
from models.storage.datasets import DATA
from models.tasks.base import Batch, Task
from models.tasks.masked import MASK_ID
from studies import held_out
from studies.command import Option, study

SENTENCES, RELEVANCE_SENTENCES = 600, 100
HIDDEN_EVERY = 7  # one token out of this many is hidden in a masked model's sentence
EXAMPLES = 3  # number of example sentences per role


def sentences_of(lab: Lab, count: int, data: Path = DATA) -> list[Sentence]:
    """Returns the first `count` dev sentences of the treebank whose words can be aligned with the model's tokens."""
    sentences = []
    for sentence in roles.read_sentences("dev", data):
        if "[" not in sentence.text and _aligned(lab, lab.read(sentence.text), sentence) is not None:
            sentences.append(sentence)
        if len(sentences) == count:
            break
    return sentences


def _aligned(lab: Lab, prompt: Prompt, sentence: Sentence) -> tuple[list[tuple[int, int]], ndarray] | None:
    return aligned(prompt.tokens, numpy.array(lab.task.is_text(prompt.ids)), sentence.text)


def frequencies(lab: Lab, data: Path = DATA) -> ndarray:
    """Returns (V,) frequency ranks of the token ids in the treebank's training split, 0 for the most frequent."""
    texts = [prompt.ids for prompt in (lab.read(sentence.text) for sentence in roles.read_sentences("train", data)
                                       if "[" not in sentence.text)]
    return ranks(texts, max(len(lab.task.labels), 1 + max(map(max, texts))))


class Watcher:
    """Accumulates confidences and the most attended keys of all heads; `rank` is the result of `frequencies`."""

    def __init__(self, lab: Lab, rank: ndarray) -> None:
        self.lab, self.rank = lab, rank
        self.looks = {kind.name: KeyCounts(kind) for kind in lab.kinds}
        self.sure: dict[str, list[ndarray]] = {kind.name: [] for kind in lab.kinds}
        self.seen: list[tuple[Sentence, dict[str, ndarray], Any]] = []

    def read(self, sentence: Sentence) -> None:
        """Adds one sentence."""
        lab = self.lab
        prompt = lab.anchored(lab.read(sentence.text))
        trace = lab.run(prompt, [HeadPlan()])[0]
        alignment = _aligned(lab, prompt, sentence)
        assert alignment is not None  # sentences_of returns only sentences whose words can be aligned
        words, indices = alignment
        text = text_of_rows(lab, trace)
        looked = {}
        for kind in lab.kinds:
            looks = self.looks[kind.name]
            at = looks.add(trace.weights[kind.name], text[kind.query_row], text[kind.key_row])
            if kind.query_row == kind.key_row == TEXT:
                looks.add_sentence(at, sentence, words, indices)
                looks.add_rare(at, prompt.ids, indices, self.rank)
                looked[kind.name] = at.astype(numpy.int16)
        for name, sure in confidences(lab, trace).items():
            if not numpy.isnan(sure).any():
                self.sure[name].append(sure)
        self.seen.append((sentence, looked, alignment))

    def roles(self) -> list[dict[str, Any]]:
        """Returns all roles, each with example sentences."""
        roles = [role for looks in self.looks.values() for role in looks.roles()]
        return [role | {"examples": self._examples(role)} for role in roles]

    def _examples(self, role: dict[str, Any]) -> list[dict[str, Any]]:
        """Returns sentences in which the head acts in its role, with the word of the query and the word of the key."""
        examples: list[dict[str, Any]] = []
        for sentence, looked, (words, indices) in self.seen:
            if role["kind"] not in looked or len(examples) == EXAMPLES:
                break
            at = looked[role["kind"]][role["layer"], role["head"]]
            pair = _pair(role["role"], sentence, at, words, indices, self.lab.kind(role["kind"]).causal)
            if pair is not None:
                examples.append({"text": sentence.text, "from": pair[0], "to": pair[1]})
        return examples


def _pair(role: str, sentence: Sentence, at: ndarray, words: Sequence[tuple[int, int]], indices: ndarray,
          causal: bool) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Returns (start, stop) of the query's word and of the key's word if the head acts in its role here, else None."""
    name, _, direction = role.partition(" ")
    word_of = dict(zip(indices.tolist(), words, strict=True))
    if name in ("position", "rare"):
        for n in indices[len(indices) // 2:].tolist():
            key = int(at[n])
            if key in word_of and (name == "rare" or key - n == int(direction)):
                return word_of[n], word_of[key]
        return None
    tokens = roles.tokens_of(sentence.words, words)
    for i, (j, relation) in enumerate(zip(sentence.heads, sentence.relations, strict=True)):
        start, stop = (i, j) if direction == "up" else (j, i)
        if relation == name and j >= 0 and tokens[start] and tokens[stop] and not (causal and stop > start) \
                and at[indices[tokens[start][-1]]] in indices[tokens[stop]]:
            return sentence.words[start], sentence.words[stop]
    return None


def relevances(lab: Lab, sentences: Sequence[Sentence]) -> dict[str, ndarray] | None:
    """Returns each head's mean fraction of its layer's relevance; None if the rules do not apply to the model."""
    if not relevance.applies(lab):
        return None
    by_sentence = [relevance.shares(lab, *relevance_prompt(lab, lab.read(sentence.text))) for sentence in sentences]
    return {kind.name: torch.stack([shares[kind.name] for shares in by_sentence]).mean(0).numpy() for kind in lab.kinds}


def relevance_prompt(lab: Lab, prompt: Prompt) -> tuple[Prompt, list[int]]:
    """Returns the prompt and the positions whose predictions are propagated."""
    if isinstance(lab, Seq2SeqLab):
        anchored = lab.anchored(prompt)
        return anchored, list(range(len(anchored.target)))
    if lab.task.hides and MASK_ID not in prompt.ids:
        positions = list(range(1 + HIDDEN_EVERY // 2, len(prompt.ids), HIDDEN_EVERY)) or [len(prompt.ids) - 1]
        ids = tuple(MASK_ID if i in positions else token for i, token in enumerate(prompt.ids))
        return replace(prompt, ids=ids), positions
    if lab.task.hides:
        return prompt, list(prompt.predict_at)
    return prompt, list(prompt.predict_at) if lab.task.name == "assignment" else list(range(1, len(prompt.ids)))


def losses_of_single_heads(lab: StackLab | Seq2SeqLab, batches: Sequence[Batch]) -> tuple[float, dict[str, ndarray]]:
    """Returns the baseline loss, and the rise of the loss if one head is pruned, for each head, in nats."""
    baseline = held_out.mean(*held_out.losses(lab.model, batches))
    rises = {kind.name: numpy.zeros((kind.layers, kind.heads)) for kind in lab.kinds}
    for kind in lab.kinds:
        for address in kind.addresses:
            loss = held_out.mean(*held_out.losses(without(lab.model, {address}), batches))
            rises[kind.name][address[1:]] = loss - baseline
    return baseline, rises


def measure(lab: StackLab | Seq2SeqLab, task: Task, count: int, data: Path = DATA) -> dict[str, Any]:
    """Returns all measures, by attention block, and the roles."""
    sentences = sentences_of(lab, count, data)
    watcher = Watcher(lab, frequencies(lab, data))
    for sentence in sentences:
        watcher.read(sentence)
    shares = relevances(lab, sentences[:RELEVANCE_SENTENCES])
    baseline_loss, rises = losses_of_single_heads(lab, held_out.validation_texts(task.corpus))
    kinds = {}
    for kind in lab.kinds:
        looks = watcher.looks[kind.name]
        distance, share = looks.positional()
        values: dict[str, Any] = {"confidence": _rounded(numpy.mean(watcher.sure[kind.name], 0)),
                                  "loss": _rounded(rises[kind.name], 5), "distance": distance.tolist(),
                                  "distance_share": _rounded(share)}
        if shares is not None:
            values["relevance"] = _rounded(shares[kind.name])
        values["syntactic"] = {" ".join(relation): {
            "pairs": looks.pairs[relation], "baseline": round(baseline, 4), "best": round(float(accuracy.max()), 4)}
            for relation, (accuracy, baseline) in sorted(looks.syntactic().items())}
        rare, baseline = looks.rare()
        if looks.rare_looks:
            values["rare"] = {"looks": looks.rare_looks, "baseline": round(baseline, 4),
                              "best": round(float(rare.max()), 4)}
        kinds[kind.name] = values
    return {"sentences": len(sentences), "loss": round(baseline_loss, 4), "kinds": kinds, "roles": watcher.roles()}


def _rounded(values: ndarray, digits: int = 4) -> list[list[float]]:
    return [[round(float(value), digits) for value in row] for row in values]


def _study(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    began = time.process_time()
    assert isinstance(lab, (StackLab, Seq2SeqLab))  # the command accepts only our own models
    measurement = measure(lab, task, arguments.sentences, arguments.data)
    print(f"{lab.name}: {len(measurement['roles'])} roles, {time.process_time() - began:.0f} s of CPU", flush=True)
    return measurement


if __name__ == "__main__":
    study("heads", __doc__, [name for name in names() if name not in names_of("assignment")], load, _study,
          [Option("sentences", SENTENCES, "of the treebank")])
