"""One task of one model: constant matrices, the order of the heads, and probes for each condition and seed.

Every result is stored as soon as it exists, so that an interrupted study resumes where it stopped. The order of the
heads is one learned number per head, lambda (PAPA's --sort_calculating):

    A = sigmoid(lambda) * A_dynamic + (1 - sigmoid(lambda)) * C

Lambda starts at 0. Heads become constant in ascending order of lambda, over all layers. The source trains lambda and
the probe for 15 epochs at 2e-5. Here the probe starts as the trained probe of the unmodified model, and lambda has a
separate learning rate, so that two epochs are enough.
"""

import json
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from models.capabilities import HasStates
from models.generate.decoding import generator
from models.lab import Lab
from models.plan import Address, HeadPlan
from models.storage.checkpoint import write_json
from models.storage.datasets import DATA
from studies.papa import probes
from studies.papa.corpora import CORPORA, Data, data_of, score
from studies.papa.features import GRID, Cache, ConstantMatrices, MeanAttention, Texts, features, texts_of
from studies.papa.probes import Probe
from studies.papa.results import LEARNED, Condition, plan_of

EPOCHS, SIZE = 2, 16  # number of epochs in which lambda is learned, and texts per step
RATE, PROBE_RATE = 0.03, 1e-3
STREAM = 150


def learn_lambda(lab: Lab, texts: Texts, labels: Sequence[str], matrices: Tensor, probe: Probe) -> Tensor:
    """Returns lambda (L, H), which is trained together with a copy of the probe."""
    kind, constants = lab.kinds[0], ConstantMatrices(lab, matrices)
    weight = torch.zeros(kind.layers, kind.heads, requires_grad=True)
    probe, numbers = probes.trainable_copy(probe), probes.label_indices(texts, labels)
    optimiser = torch.optim.Adam([{"params": [weight], "lr": RATE},
                                  {"params": list(probe.parameters()), "lr": PROBE_RATE}])
    for epoch in range(EPOCHS):
        for batch in texts.shuffled(SIZE, generator(STREAM, epoch)):
            share = weight.sigmoid()
            states = [HasStates.of(lab).states(ids, constants.mixed(share, ids.shape[1])) for _chosen, ids in batch]
            loss = probes.batch_loss(probe, states, lab, texts, batch, numbers)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    return weight.detach()


def sorted_heads(lab: Lab, weight: Tensor) -> list[Address]:
    """Returns the addresses of all heads in ascending order of lambda; `weight` is (L, H)."""
    addresses = lab.kinds[0].addresses
    return [addresses[i] for i in weight.flatten().argsort(stable=True).tolist()]


def check(lab: Lab) -> None:
    """Raises ValueError unless the study can measure this model."""
    if len(lab.kinds) != 1 or lab.task.sees:
        raise ValueError(f"{lab.name}: the study measures models that read one text")
    if not lab.kinds[0].attention.is_distribution:
        raise ValueError(f"{lab.name}: the rows of its attention pattern do not sum to 1, so that their mean cannot be "
                         "cut to a text")


def probe_settings(by_word: bool) -> dict[str, float]:
    """Returns the settings of the probes of words or of texts; results with other settings are measured again."""
    return {"hidden": probes.HIDDEN, "rate": probes.WORD_RATE if by_word else probes.TEXT_RATE,
            "questions_per_step": probes.WORDS if by_word else probes.TEXTS, "validation": probes.VALIDATION,
            "patience": probes.PATIENCE, "most_epochs": probes.MOST_EPOCHS}


def constant_answer(texts: Texts, metric: str, training: Texts) -> float:
    """Returns the score of a constant answer: the most frequent label of the training texts for every question."""
    label, _count = Counter(label for example in training.examples for label in example.labels).most_common(1)[0]
    truth = [list(example.labels) for example in texts.examples]
    return round(score(metric, truth, [[label] * len(labels) for labels in truth]), 5)


@dataclass(eq=False)
class TaskStudy:
    """One task of one model."""

    lab: Lab  # the frozen model
    key: str  # a key of CORPORA
    folder: Path  # the folder of the results, from which a study resumes
    cache: Cache  # cache of features
    data: Path = DATA  # the folder of the data sets
    share: float = 1.0  # fraction of the usual number of texts
    done: dict[str, Any] = field(init=False)  # the results so far

    def __post_init__(self) -> None:
        check(self.lab)
        self.corpus, data = CORPORA[self.key], data_of(self.key, self.data, self.share)
        self.labels = data.labels
        self.train, self.test = texts_of(self.lab, data.train), texts_of(self.lab, data.test)
        self.train_questions, self.test_questions = (
            probes.questions_of(self.lab, texts, self.labels, self.corpus.by_word) for texts in (self.train, self.test))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / f"{self.key}.json"
        self._constants = self.folder / f"{self.key}.constant.safetensors"
        self.done = self._resumed(data)

    def _resumed(self, data: Data) -> dict[str, Any]:
        """Returns the stored results if they have the same settings, or empty ones."""
        empty = {"settings": {"weights": self.lab.fingerprint, "share": self.share, "train": len(data.train),
                              "test": len(data.test), "grid": GRID, "lambda_epochs": EPOCHS}
                 | probe_settings(self.corpus.by_word),
                 "metric": self.corpus.metric, "labels": list(self.labels),
                 "train": len(self.train.ids), "test": len(self.test.ids),
                 "left_out": self.train.omitted + self.test.omitted,
                 "tokens": [int(self.train.starts[-1]), int(self.test.starts[-1])],
                 "constant_answer": constant_answer(self.test, self.corpus.metric, self.train),
                 "scores": {}, "cpu_seconds": 0.0}
        if self._path.exists():
            stored: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            if stored["settings"] == empty["settings"]:
                return stored
        return empty

    def is_done(self, condition: Condition) -> bool:
        """Returns True if the condition has scores for all its seeds, and in mode LEARNED also a stored probe."""
        return len(self.done["scores"].get(str(condition), {})) >= len(condition.seeds) and (
            condition.mode != LEARNED or self._probe_path(condition).exists())

    def measure(self, condition: Condition) -> list[float]:
        """Trains and scores a probe per seed on the modified model; returns the scores."""
        began = time.process_time()
        if not self.done["scores"]:
            self._average()
        addresses = self.lab.kinds[0].addresses
        # the order has no effect with no head or all heads modified, so it is learned only for other numbers
        if 0 < condition.count < len(addresses) and "order" not in self.done:
            self._sort()
        heads: list[Address] = [(kind, layer, head) for kind, layer, head in self.done.get("order", addresses)]
        train, test = self._features(plan_of(condition, heads))
        scores: dict[str, dict[str, Any]] = self.done["scores"].setdefault(str(condition), {})
        for seed in condition.seeds:
            probe = self._trained(train, seed)
            scores[str(seed)] = self._score(probe, test)
            if condition.mode == LEARNED and seed == condition.seeds[0]:
                save_file(probes.to_tensors(probe), self._probe_path(condition))
        self.done["cpu_seconds"] = round(self.done["cpu_seconds"] + time.process_time() - began, 1)
        write_json(self._path, self.done)
        return [result["score"] for result in scores.values()]

    def _average(self) -> None:
        """Computes the constant matrices from the training texts."""
        mean = MeanAttention(self.lab)
        values = features(self.lab, self.train, watch=mean.add)
        self.cache.get(self._cache_key(HeadPlan(), "train"), lambda: values)
        save_file({"constant": mean.matrices}, self._constants)

    def _sort(self) -> None:
        """Learns the order of the heads from the training texts."""
        values = self.cache.get(self._cache_key(HeadPlan(), "train"), lambda: features(self.lab, self.train))
        matrices = load_file(self._constants)["constant"]
        weight = learn_lambda(self.lab, self.train, self.labels, matrices, self._trained(values, 0))
        self.done["lambda"] = [[round(value, 4) for value in row] for row in weight.tolist()]
        self.done["order"] = sorted_heads(self.lab, weight)

    def _features(self, plan: HeadPlan) -> tuple[Tensor, Tensor]:
        constants = ConstantMatrices(self.lab, load_file(self._constants)["constant"])

        def of(part: str, texts: Texts) -> Tensor:
            return self.cache.get(self._cache_key(plan, part),
                                  lambda: features(self.lab, texts, lambda n: constants.interventions(plan, n)))

        return of("train", self.train), of("test", self.test)

    def _cache_key(self, plan: HeadPlan, part: str) -> str:
        """Returns the key of features; tasks on the same texts share those of unmodified and pruned models."""
        return f"{self.lab.fingerprint} {self.corpus.texts} {self.share} {part} {plan}"

    def _trained(self, values: Tensor, seed: int) -> probes.Probe:
        return probes.train(values, self.train_questions, len(self.labels), self.corpus.by_word, seed)

    def _score(self, probe: probes.Probe, values: Tensor) -> dict[str, Any]:
        """Scores the test texts, and each named part of them."""
        predicted = probes.predict(probe, values, self.test_questions, self.labels)
        truth = [list(example.labels) for example in self.test.examples]

        def of(chosen: Sequence[int]) -> float:
            return round(score(self.corpus.metric, [truth[i] for i in chosen], [predicted[i] for i in chosen]), 5)

        parts = sorted({example.part for example in self.test.examples} - {""})
        by_part = {part: of([i for i, example in enumerate(self.test.examples) if example.part == part])
                   for part in parts}
        return {"score": of(range(len(truth))), **({"parts": by_part} if by_part else {})}

    def _probe_path(self, condition: Condition) -> Path:
        return self.folder / f"{self.key}.{condition.count}.safetensors"
