"""Numbers of the transfer study, for pages and claims."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from studies.papa.tasks.corpora import CORPORA, JUDGED
from studies.transfer.transfer_study import MODELS, PRUNED, WAYS


@dataclass(frozen=True, eq=False)
class Encoder:
    """Scores of one attention type; a type that was not measured has no tasks."""

    kind: str  # `softmax`, or one of encoders.SYNTHESIZERS
    tasks: Mapping[str, Mapping[str, Mapping[int, float]]]  # task -> mode -> seed -> score
    # task -> the highest score with all heads pruned, or the score of a constant answer if it is higher
    controls: Mapping[str, float]
    loss: float | None  # loss on masked words after the pretraining, in nats; None if unknown

    def scores(self, way: str, tasks: Sequence[str]) -> dict[int, float]:
        """Returns seed -> mean over the tasks; empty unless all are measured."""
        if not tasks or not all(key in self.tasks for key in tasks):
            return {}
        rows = [self.tasks[key][way] for key in tasks]
        return {seed: fmean(row[seed] for row in rows) for seed in set.intersection(*map(set, rows))}


def encoders_of(read: Callable[[str], Mapping[str, Any]]) -> dict[str, Encoder]:
    """Returns the encoders by attention type, softmax first."""
    return {kind: _encoder(kind, read(moment))
            for kind, moment in zip(("softmax", *(name for name in MODELS if name != "middle")), MODELS.values(),
                                    strict=True)}


def _encoder(kind: str, study: Mapping[str, Any]) -> Encoder:
    if not study:
        return Encoder(kind, {}, {}, None)
    tasks = {key: {way: {int(seed): float(score) for seed, score in study["tasks"][key][way].items()} for way in WAYS}
             for key in CORPORA if key in study["tasks"]}
    controls = {key: max(float(study["tasks"][key]["constant_answer"]),
                         *map(float, study["tasks"][key][PRUNED].values())) for key in tasks}
    return Encoder(kind, tasks, controls, float(study["moment"]["validation_loss"]))


def common(encoders: Mapping[str, Encoder], way: str) -> list[str]:
    """Returns the judged tasks of every encoder in which each seed of softmax scores above the controls."""
    known = [encoder for encoder in encoders.values() if encoder.tasks]
    return [key for key in JUDGED if known and all(key in encoder.tasks for encoder in known)
            and "softmax" in encoders and encoders["softmax"].tasks
            and min(encoders["softmax"].tasks[key][way].values()) > encoders["softmax"].controls[key]]
