"""The value of pretraining with Synthesizers for other tasks (Synthesizer, tables 4 and 5, at our scale).

    python -m studies.encoders middle random dense dense-softmax random-softmax
    python -m studies.transfer.transfer_study [MOMENT ...]

Five encoders with the same pretraining (studies/encoders.py) are evaluated on the tasks of
studies/papa, each in two modes:

    probed        the encoder is frozen, and a probe that reads all layers is trained
    fine-tuned    starting from there, encoder and probe are trained together

There are two controls: a probe on the encoder with all heads pruned, and the score of a constant answer. There
are three seeds, of the probe and of the order of texts. Each encoder was pretrained once, so that the spread over
pretrainings is unknown. Intermediate results are stored in runs/transfer, and a study that is stopped resumes from
there. The command writes studies/measurements/MOMENT.transfer.json, which `encoders_of` reads for claims.
"""

import argparse
import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import torch

from models.generate.decoding import generator
from models.labs.stack import StackLab
from models.plan import HeadPlan
from models.storage.checkpoint import read_json, write_json
from models.storage.datasets import DATA, add_folder_options
from studies import encoders, store
from studies.papa import probes
from studies.papa.corpora import CORPORA, JUDGED, data_of, score
from studies.papa.features import GRID, ConstantMatrices, Texts, features, texts_of
from studies.papa.probes import Probe
from studies.papa.study import constant_answer, probe_settings

KIND = "transfer"
PROBED, TUNED, PRUNED = "probed", "fine-tuned", "pruned"
WAYS = (PROBED, TUNED)  # the modes that are compared; PRUNED is their control
SEEDS = (0, 1, 2)
# attention type -> its last checkpoint; `middle` is softmax in the middle size
MODELS = {name: encoders.moments_of(name)[-1] for name in ("middle", *encoders.SYNTHESIZERS)}
EPOCHS, SIZE = 2, 32  # number of epochs of fine-tuning, and texts per step
RATE, PROBE_RATE, DECAY = 3e-4, 1e-3, 0.01
WARMUP = 0.1  # fraction of the steps in which the learning rate rises; then it falls to 0
STREAM = 2005


@dataclass(eq=False)
class Task:
    """One task of one encoder."""

    lab: StackLab  # the encoder
    key: str  # a key of CORPORA
    data: Path = DATA  # the folder of the data sets
    share: float = 1.0  # fraction of the usual number of texts
    probes: dict[int, Probe] = field(default_factory=dict, init=False)  # seed -> probe trained on the frozen encoder

    def __post_init__(self) -> None:
        data = data_of(self.key, self.data, self.share)
        self.corpus, self.labels = CORPORA[self.key], data.labels
        self.train, self.test = texts_of(self.lab, data.train), texts_of(self.lab, data.test)
        self.train_questions, self.test_questions = (
            probes.questions_of(self.lab, texts, self.labels, self.corpus.by_word) for texts in (self.train, self.test))

    def probed(self) -> dict[int, float]:
        """Trains the probes on the frozen encoder; returns seed -> score."""
        train, test = features(self.lab, self.train), features(self.lab, self.test)
        self.probes = self._trained(train)
        return {seed: self._score(probe, test) for seed, probe in self.probes.items()}

    def pruned(self) -> dict[int, float]:
        """Trains probes on the frozen encoder with all heads pruned; returns seed -> score."""
        kind = self.lab.kinds[0]
        plan = HeadPlan().with_heads(kind.addresses, gate=0.0)
        unused = ConstantMatrices(self.lab, torch.zeros(kind.layers, kind.heads, GRID, GRID))
        train, test = (features(self.lab, texts, lambda n: unused.interventions(plan, n))
                       for texts in (self.train, self.test))
        return {seed: self._score(probe, test) for seed, probe in self._trained(train).items()}

    def tuned(self, seed: int) -> float:
        """Returns the score after fine-tuning from the probe of this seed; call `probed` first."""
        lab, probe = fine_tuned(self.lab, self.train, self.labels, self.probes[seed], seed)
        return self._score(probe, features(lab, self.test))

    def _trained(self, values: torch.Tensor) -> dict[int, Probe]:
        return {seed: probes.train(values, self.train_questions, len(self.labels), self.corpus.by_word, seed)
                for seed in SEEDS}

    def _score(self, probe: Probe, values: torch.Tensor) -> float:
        predicted = probes.predict(probe, values, self.test_questions, self.labels)
        return round(score(self.corpus.metric, [example.labels for example in self.test.examples], predicted), 5)


def fine_tuned(lab: StackLab, texts: Texts, labels: Sequence[str], probe: Probe, seed: int) -> tuple[StackLab, Probe]:
    """Returns copies of the encoder and its probe, trained together on the texts."""
    model, probe = copy.deepcopy(lab.model).requires_grad_(True), probes.trainable_copy(probe)
    numbers = probes.label_indices(texts, labels)
    lab = replace(lab, model=model)
    batches = [batch for epoch in range(EPOCHS) for batch in texts.shuffled(SIZE, generator(STREAM, seed, epoch))]
    optimiser = torch.optim.AdamW([{"params": list(model.parameters()), "rate": RATE},
                                   {"params": list(probe.parameters()), "rate": PROBE_RATE}], weight_decay=DECAY)
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * share_of_rate(step, len(batches))
        loss = probes.batch_loss(probe, [lab.states(ids) for _chosen, ids in batch], lab, texts, batch, numbers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval().requires_grad_(False)
    return lab, probe.eval().requires_grad_(False)


def share_of_rate(step: int, steps: int) -> float:
    """Returns the learning rate's factor: it rises linearly for WARMUP of the steps, then falls linearly to 0."""
    rise = max(1, round(WARMUP * steps))
    return (step + 1) / rise if step < rise else (steps - step) / (steps - rise)


def measure(moment: str, runs: Path, data: Path = DATA, share: float = 1.0,
            tasks: Sequence[str] = tuple(CORPORA)) -> dict[str, Any]:
    """Runs the missing measurements of one encoder: those not stored for the current weights and settings."""
    lab, path = encoders.lab_of(moment, runs), runs / "transfer" / f"{moment}.json"
    settings = {"weights": lab.fingerprint, "share": share, "epochs": EPOCHS, "rate": RATE, "texts": SIZE,
                "probes": {mode: probe_settings(mode == "words") for mode in ("words", "texts")}}
    done: dict[str, Any] = read_json(path) if path.exists() else {}
    if done.get("settings") != settings:
        done = {"settings": settings, "scores": {}, "constant_answer": {}, "cpu_seconds": 0.0}
    path.parent.mkdir(parents=True, exist_ok=True)
    for key in tasks:
        scores = done["scores"].setdefault(key, {mode: {} for mode in (*WAYS, PRUNED)})
        if len(scores[TUNED]) == len(SEEDS):
            continue
        began, task = time.process_time(), Task(lab, key, data, share)
        done["constant_answer"][key] = constant_answer(task.test, task.corpus.metric, task.train)
        for mode, by_seed in ((PROBED, task.probed()), (PRUNED, task.pruned())):
            scores[mode] = {str(seed): value for seed, value in by_seed.items()}
        for seed in SEEDS:
            if str(seed) not in scores[TUNED]:
                scores[TUNED][str(seed)] = task.tuned(seed)
                done["cpu_seconds"] = round(done["cpu_seconds"] + time.process_time() - began, 1)
                began = time.process_time()
                write_json(path, done)
        print(f"{moment}, {key}: " + "; ".join(f"{mode} {' '.join(f'{value:.3f}' for value in by_seed.values())}"
                                               for mode, by_seed in scores.items()), flush=True)
    return done


def write(moment: str, done: dict[str, Any], runs: Path, command: str) -> None:
    """Writes MOMENT.transfer.json with the tasks that have all seeds."""
    whole = {key: scores for key, scores in done["scores"].items() if len(scores[TUNED]) == len(SEEDS)}
    store.write_of(moment, KIND, done["settings"]["weights"], {
        "command": command, "cpu_seconds": done["cpu_seconds"], "settings": done["settings"],
        "moment": encoders.numbers_of(moment, runs),
        "tasks": {key: {"metric": CORPORA[key].metric, "constant_answer": done["constant_answer"][key], **scores}
                  for key, scores in whole.items()}})


def main() -> None:
    """Runs the command."""
    parser = argparse.ArgumentParser(prog="python -m studies.transfer.transfer_study", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", nargs="*", choices=[[], *encoders.ALL], metavar="MOMENT",
                        help=f"any of {', '.join(encoders.ALL)}; {', '.join(MODELS.values())} by default")
    parser.add_argument("--tasks", nargs="+", choices=[*CORPORA], default=[*CORPORA], metavar="TASK",
                        help=f"any of {', '.join(CORPORA)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of texts; less for a quick look")
    add_folder_options(parser)
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # one thread, because another order of summation would give other probes
    command = parser.prog + (f" --share {arguments.share:g}" if arguments.share != 1 else "")
    try:
        for moment in arguments.moments or MODELS.values():
            done = measure(moment, arguments.runs, arguments.data, arguments.share, arguments.tasks)
            write(moment, done, arguments.runs, command)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()


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
