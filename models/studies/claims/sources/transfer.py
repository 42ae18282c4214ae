"""The last part of claim 2: what pretraining with Synthesizers is worth for other tasks;
models/studies/transfer/transfer_study.py measures it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from models.messages import N_, listed, told
from models.studies.claims import tables
from models.studies.claims.evidence import Evidence
from models.studies.claims.statement import Chart, Statement
from models.studies.claims.verdict import TOLERANCE, Check, Samples, below, conclude, differences, no_worse
from models.studies.papa.results import LEAST, deviation
from models.studies.papa.tasks.corpora import CORPORA
from models.studies.transfer.encoders import STEPS
from models.studies.transfer.transfer_study import KIND, MODELS, PROBED, TUNED, WAYS

GLUE = {"softmax": "83.5", "random": "75.1", "dense": "72.0", "dense-softmax": "82.6", "random-softmax": "84.1"}
ALONE, MIXED = ("random", "dense"), ("dense-softmax", "random-softmax")
WAY_WORDS = {PROBED: N_("probed"), TUNED: N_("fine-tuned")}
SURE = told("Read in a copy of the paper's tables, not in the paper itself.")
COMMAND = "\n".join((f"python -m models.studies.transfer.encoders {' '.join(MODELS)}",
                     "python -m models.studies.transfer.transfer_study",
                     "python -m models.studies.claims"))


@dataclass(frozen=True, eq=False)
class Encoder:
    """What was measured of one kind of attention; kinds that were not measured have no tasks.

    Attributes:
        kind: `softmax`, or one of encoders.SYNTHESIZERS.
        tasks: task -> way -> seed -> score.
        loss: on hidden words after the pretraining, nats; None if it is not known.
    """

    kind: str
    tasks: Mapping[str, Mapping[str, Mapping[int, float]]]
    loss: float | None

    def scores(self, way: str, tasks: Sequence[str]) -> dict[int, float]:
        """Seed -> mean over the tasks; empty unless all are measured."""
        if not tasks or not all(key in self.tasks for key in tasks):
            return {}
        rows = [self.tasks[key][way] for key in tasks]
        return {seed: fmean(row[seed] for row in rows) for seed in set.intersection(*map(set, rows))}


def found(evidence: Evidence) -> dict[str, Encoder]:
    """By kind, softmax first; what cannot be read was not measured."""
    return {kind: _encoder(kind, evidence.study(moment, KIND))
            for kind, moment in zip(("softmax", *(its for its in MODELS if its != "middle")), MODELS.values(),
                                    strict=True)}


def _encoder(kind: str, study: Mapping[str, Any]) -> Encoder:
    if not study:
        return Encoder(kind, {}, None)
    tasks = {key: {way: {int(seed): float(its) for seed, its in study["tasks"][key][way].items()} for way in WAYS}
             for key in CORPORA if key in study["tasks"]}
    return Encoder(kind, tasks, float(study["moment"]["validation_loss"]))


def statements(evidence: Evidence, titles: Mapping[str, str]) -> list[Statement]:
    """Both of them; `titles` are those of the kinds of attention."""
    encoders = found(evidence)
    return [_alone(encoders, titles), _mixed(encoders, titles)]


def common(encoders: Mapping[str, Encoder], way: str) -> list[str]:
    """Tasks that every encoder was measured on, and that softmax has a score in."""
    known = [its for its in encoders.values() if its.tasks]
    return [key for key in CORPORA if known and all(key in its.tasks for its in known)
            and "softmax" in encoders and encoders["softmax"].tasks
            and fmean(encoders["softmax"].tasks[key][way].values()) >= LEAST]


def _samples(encoders: Mapping[str, Encoder], kind: str, way: str) -> Samples:
    scores = encoders[kind].scores(way, common(encoders, way))
    return {STEPS: scores} if scores else {}


def _by_probe(check: Check) -> Check:
    """Seeds are of probes and of fine-tunings: no steps of a pretraining come into it."""
    return replace(check, seeds=None, steps=0)


def _alone(encoders: Mapping[str, Encoder], titles: Mapping[str, str]) -> Statement:
    checks = [_by_probe(below(told("{kind}, {way}, below softmax", kind=titles[kind], way=told(WAY_WORDS[way])),
                              differences(_samples(encoders, kind, way), _samples(encoders, "softmax", way))))
              for kind in ALONE for way in WAYS]
    return Statement(
        "synthesizer-transfer", told("Pretrained alone, random and dense are worth less for other tasks than softmax."),
        told("GLUE 75.1 and 72.0 against 83.5 (T5)"), _ours(encoders, titles, ALONE), SURE,
        told("the mean score of the tasks is lower than softmax's, with a probe on the frozen encoder and fine-tuned, "
             "beyond the chance of three seeds of these; each encoder was pretrained once, all at one rate. Tasks that "
             "softmax scores below 0.1 in are left out"),
        conclude(checks), _rows(encoders, titles), _chart(encoders, titles), COMMAND, SHORT)


def _mixed(encoders: Mapping[str, Encoder], titles: Mapping[str, str]) -> Statement:
    checks = [_by_probe(no_worse(told("{kind}, {way}, at softmax or better", kind=titles[kind],
                                      way=told(WAY_WORDS[way])),
                                 differences(_samples(encoders, "softmax", way), _samples(encoders, kind, way))))
              for kind in MIXED for way in WAYS]
    return Statement(
        "synthesizer-together", told("Mixed with softmax, they are worth as much for other tasks as softmax."),
        told("GLUE 84.1 of random + softmax and 82.6 of dense + softmax against 83.5 (T5)"),
        _ours(encoders, titles, MIXED), SURE,
        told("the mean score of the tasks is below softmax's by less than {points:.0%}, with a probe on the frozen "
             "encoder and fine-tuned, beyond the chance of three seeds of these; each encoder was pretrained once, all "
             "at one rate", points=TOLERANCE),
        conclude(checks), _rows(encoders, titles), _chart(encoders, titles), COMMAND, SHORT)


SHORT = told("A model that guesses hidden words better is not always worth more: random Synthesizers, alone and mixed "
             "with softmax, guess them best here.")


def _ours(encoders: Mapping[str, Encoder], titles: Mapping[str, str], kinds: Sequence[str]) -> str:
    return listed((told("{way}: {values}", way=told(WAY_WORDS[way]), values=tables.each([
        (titles[kind], cell([*encoders[kind].scores(way, common(encoders, way)).values()]))
        for kind in ("softmax", *kinds)])) for way in WAYS), "; ")


def cell(values: Sequence[float]) -> str:
    """`0.512 ± 0.003`"""
    return f"{fmean(values):.3f} ± {deviation(tuple(values)):.3f}" if values else tables.NOTHING


def _rows(encoders: Mapping[str, Encoder], titles: Mapping[str, str]) -> list[dict[str, str]]:
    """A row a kind and a way: the mean of the tasks, and each of them."""
    rows = []
    for kind, its in encoders.items():
        for way in WAYS:
            means = [*its.scores(way, common(encoders, way)).values()]
            row = {N_("attention"): titles[kind], N_("way"): told(WAY_WORDS[way]),
                   N_("source, GLUE"): GLUE.get(kind, tables.NOTHING) if way == TUNED else tables.NOTHING,
                   N_("loss on hidden words"): tables.NOTHING if its.loss is None else f"{its.loss:.3f}",
                   N_("mean of the tasks"): cell(means)}
            row |= {told(corpus.title): cell([*its.tasks[key][way].values()]) if key in its.tasks else tables.NOTHING
                    for key, corpus in CORPORA.items()}
            rows.append(row)
    return rows


def _chart(encoders: Mapping[str, Encoder], titles: Mapping[str, str]) -> Chart | None:
    points = [{"name": titles[kind], "value": round(value, 4), "which": told(WAY_WORDS[way])}
              for kind, its in encoders.items() for way in WAYS
              for value in its.scores(way, common(encoders, way)).values()]
    alt = listed((told("{kind}, {way}: {value}", kind=titles[kind], way=told(WAY_WORDS[way]),
                       value=cell([*its.scores(way, common(encoders, way)).values()]))
                  for kind, its in encoders.items() for way in WAYS), "; ")
    return Chart("dots", points, told("mean score of the tasks"), alt=alt) if points else None
