"""One model and one task: constants, the order of the heads, and a probe of each state and seed. What is done is kept
as it is done, so that a study that was ended goes on where it was."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file
from torch import Tensor

from models.lab import Lab
from models.plan import Address, HeadPlan
from models.storage.checkpoint import write_json
from models.storage.datasets import DATA
from models.studies.papa import order, probes
from models.studies.papa.constants import Fitted, Mean
from models.studies.papa.features import Cache, features
from models.studies.papa.probe_modes import LEARNED, Condition, plan_of
from models.studies.papa.tasks.corpora import CORPORA, Data, data_of
from models.studies.papa.tasks.scores import score
from models.studies.papa.tasks.token_ids import GRID, Texts, texts_of


def check(lab: Lab) -> None:
    """Raises ValueError unless the study can be made of this model."""
    if len(lab.kinds) != 1 or lab.task.sees:
        raise ValueError(f"{lab.name}: the study is of models of one text")
    if not lab.kinds[0].attention.is_distribution:
        raise ValueError(f"{lab.name}: rows of its weights do not sum to 1, so that no mean of them can be cut")


@dataclass(eq=False)
class Work:
    """One task of one model.

    Attributes:
        folder: what is done lies here, and goes on from here.
        share: of the usual number of texts.
        done: what is measured so far.
    """

    lab: Lab
    key: str
    folder: Path
    cache: Cache
    data: Path = DATA
    share: float = 1.0
    done: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        check(self.lab)
        self.corpus, drawn = CORPORA[self.key], data_of(self.key, self.data, self.share)
        self.labels = drawn.labels
        self.train, self.test = texts_of(self.lab, drawn.train), texts_of(self.lab, drawn.test)
        self.asked, self.tested = (probes.asked(self.lab, its, self.labels, self.corpus.by_word)
                                   for its in (self.train, self.test))
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / f"{self.key}.json"
        self._constants = self.folder / f"{self.key}.constant.safetensors"
        self.done = self._begun(drawn)

    def _begun(self, drawn: Data) -> dict[str, Any]:
        """What was measured before with the same settings, or nothing yet."""
        fresh = {"settings": {"weights": self.lab.fingerprint, "share": self.share, "train": len(drawn.train),
                              "test": len(drawn.test), "grid": GRID, "hidden": probes.HIDDEN,
                              "epochs": probes.EPOCHS[self.corpus.by_word], "lambda_epochs": order.EPOCHS},
                 "metric": self.corpus.metric, "labels": list(self.labels),
                 "train": len(self.train.ids), "test": len(self.test.ids),
                 "left_out": self.train.left_out + self.test.left_out,
                 "tokens": [int(self.train.starts[-1]), int(self.test.starts[-1])], "scores": {}, "cpu_seconds": 0.0}
        if self._path.exists():
            old: dict[str, Any] = json.loads(self._path.read_text(encoding="utf-8"))
            if old["settings"] == fresh["settings"]:
                return old
        return fresh

    def is_done(self, condition: Condition) -> bool:
        """True if this one is measured."""
        return len(self.done["scores"].get(_name(condition), {})) == len(condition.seeds) and (
            condition.way != LEARNED or self._probe(condition).exists())

    def measure(self, condition: Condition) -> list[float]:
        """One state of the model under a probe of each seed: their scores."""
        began = time.process_time()
        if not self.done["scores"]:
            self._average()
        every = self.lab.kinds[0].addresses
        if 0 < condition.touched < len(every) and "order" not in self.done:  # else nothing comes first
            self._sort()
        heads: list[Address] = [(kind, layer, head) for kind, layer, head in self.done.get("order", every)]
        train, test = self._features(plan_of(condition, heads))
        found: dict[str, dict[str, Any]] = self.done["scores"].setdefault(_name(condition), {})
        for seed in condition.seeds:
            probe = self._trained(train, seed)
            found[str(seed)] = self._score(probe, test)
            if condition.way == LEARNED and seed == condition.seeds[0]:
                save_file(probes.packed(probe), self._probe(condition))
        self._keep(began)
        return [its["score"] for its in found.values()]

    def _average(self) -> None:
        """Constants, from the training texts."""
        mean = Mean(self.lab)
        values = features(self.lab, self.train, watch=mean.watch)
        self.cache.get(self._cached(HeadPlan(), "train"), lambda: values)
        save_file({"constant": mean.matrices}, self._constants)

    def _sort(self) -> None:
        """The order of the heads, from the training texts."""
        values = self.cache.get(self._cached(HeadPlan(), "train"), lambda: features(self.lab, self.train))
        matrices = load_file(self._constants)["constant"]
        weight = order.learn(self.lab, self.train, self.labels, matrices, self._trained(values, 0))
        self.done["lambda"] = [[round(value, 4) for value in row] for row in weight.tolist()]
        self.done["order"] = order.sorted_heads(self.lab, weight)

    def _features(self, plan: HeadPlan) -> tuple[Tensor, Tensor]:
        fitted = Fitted(self.lab, load_file(self._constants)["constant"])

        def of(part: str, texts: Texts) -> Tensor:
            return self.cache.get(self._cached(plan, part),
                                  lambda: features(self.lab, texts, lambda n: fitted.under(plan, n)))

        return of("train", self.train), of("test", self.test)

    def _cached(self, plan: HeadPlan, part: str) -> str:
        """What features are of: two tasks on the same texts share them."""
        return f"{self.lab.fingerprint} {self.corpus.texts} {self.share} {part} {plan}"

    def _trained(self, values: Tensor, seed: int) -> probes.Probe:
        return probes.train(values, self.asked, len(self.labels), self.corpus.by_word, seed)

    def _score(self, probe: probes.Probe, values: Tensor) -> dict[str, Any]:
        """The metric of the test texts, and of their parts where they have some."""
        said = probes.answers(probe, values, self.tested, self.labels)
        right = [list(example.labels) for example in self.test.examples]
        parts = sorted({example.part for example in self.test.examples} - {""})
        by_part = {}
        for part in parts:
            chosen = [i for i, example in enumerate(self.test.examples) if example.part == part]
            by_part[part] = round(score(self.corpus.metric, [right[i] for i in chosen], [said[i] for i in chosen]), 5)
        return {"score": round(score(self.corpus.metric, right, said), 5), **({"parts": by_part} if by_part else {})}

    def _probe(self, condition: Condition) -> Path:
        return self.folder / f"{self.key}.{condition.touched}.safetensors"

    def _keep(self, began: float) -> None:
        self.done["cpu_seconds"] = round(self.done["cpu_seconds"] + time.process_time() - began, 1)
        write_json(self._path, self.done)


def _name(condition: Condition) -> str:
    return f"{condition.way} {condition.touched} {condition.draw}"
