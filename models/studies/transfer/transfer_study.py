"""What pretraining with Synthesizers is worth for other tasks (Synthesizer's tables 4 and 5, at our scale).

    python -m models.studies.transfer.encoders middle random dense dense-softmax random-softmax
    python -m models.studies.transfer.transfer_study [MOMENT ...]

Five encoders, pretrained alike (models/studies/transfer/encoders.py), on the tasks of models/studies/papa, each in two
ways:

    probed        the encoder is frozen, a probe that sees all layers is trained
    fine-tuned    from there on, encoder and probe are trained together

Three seeds: of the probe, and of the order of texts. One pretraining of each, so that chance of that is not known. What
is done is kept in runs/transfer and goes on from there. Writes models/studies/measurements/MOMENT.transfer.json.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from models.generate.sampling import generator
from models.labs.stack import StackLab
from models.storage.checkpoint import read_json, write_json
from models.storage.datasets import DATA, add_data_option
from models.studies import store
from models.studies.papa import probes
from models.studies.papa.features import features
from models.studies.papa.probes import Probe
from models.studies.papa.tasks.corpora import CORPORA, data_of
from models.studies.papa.tasks.scores import score
from models.studies.papa.tasks.token_ids import Texts, texts_of
from models.studies.transfer import encoders

KIND = "transfer"
PROBED, TUNED = "probed", "fine-tuned"
WAYS = (PROBED, TUNED)
SEEDS = (0, 1, 2)
MODELS = {name: encoders.moments_of(name)[-1] for name in ("middle", *encoders.SYNTHESIZERS)}  # middle: softmax
EPOCHS, TOKENS, RATE, DECAY = 2, 512, 3e-4, 0.01  # of fine-tuning; texts of one length come together
WARMUP = 0.1  # of its steps; the rate then falls to 0
STREAM = 2005


@dataclass(eq=False)
class Task:
    """One task of one encoder.

    Attributes:
        share: of the usual number of texts.
    """

    lab: StackLab
    key: str
    data: Path = DATA
    share: float = 1.0
    probes: dict[int, Probe] = field(default_factory=dict, init=False)  # by seed, of the frozen encoder

    def __post_init__(self) -> None:
        drawn = data_of(self.key, self.data, self.share)
        self.corpus, self.labels = CORPORA[self.key], drawn.labels
        self.train, self.test = texts_of(self.lab, drawn.train), texts_of(self.lab, drawn.test)
        self.asked, self.tested = (probes.asked(self.lab, its, self.labels, self.corpus.by_word)
                                   for its in (self.train, self.test))

    def probed(self) -> dict[int, float]:
        """Seed -> score of the frozen encoder."""
        train, test = features(self.lab, self.train), features(self.lab, self.test)
        self.probes = {seed: probes.train(train, self.asked, len(self.labels), self.corpus.by_word, seed)
                       for seed in SEEDS}
        return {seed: self._score(probe, test) for seed, probe in self.probes.items()}

    def tuned(self, seed: int) -> float:
        """The score after fine-tuning; `probed` comes first."""
        lab, probe = fine_tuned(self.lab, self.train, self.labels, self.probes[seed], seed)
        return self._score(probe, features(lab, self.test))

    def _score(self, probe: Probe, values: torch.Tensor) -> float:
        said = probes.answers(probe, values, self.tested, self.labels)
        return round(score(self.corpus.metric, [its.labels for its in self.test.examples], said), 5)


def fine_tuned(lab: StackLab, texts: Texts, labels: Sequence[str], probe: Probe, seed: int) -> tuple[StackLab, Probe]:
    """The encoder and its probe, trained together on the texts; what is given stays as it is."""
    model, probe, answers = copy.deepcopy(lab.model).requires_grad_(True), probes.trainable(probe), \
        probes.indices(texts, labels)
    lab = replace(lab, model=model)
    batches = [its for epoch in range(EPOCHS) for its in texts.batches(TOKENS, generator(STREAM, seed, epoch))]
    optimiser = torch.optim.AdamW([{"params": list(model.parameters()), "rate": RATE},
                                   {"params": list(probe.parameters()), "rate": probes.RATE}], weight_decay=DECAY)
    for step, (chosen, batch) in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = group["rate"] * share_of_rate(step, len(batches))
        loss = probes.batch_loss(probe, lab, lab.states(batch), texts, chosen, answers)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval().requires_grad_(False)
    return lab, probe.eval().requires_grad_(False)


def share_of_rate(step: int, steps: int) -> float:
    """Linear up for WARMUP of the steps, then linear down to nothing."""
    rise = max(1, round(WARMUP * steps))
    return (step + 1) / rise if step < rise else (steps - step) / (steps - rise)


def measure(moment: str, runs: Path, data: Path = DATA, share: float = 1.0,
            tasks: Sequence[str] = tuple(CORPORA)) -> dict[str, Any]:
    """What was not measured before with the same weights and settings, and what was."""
    lab, path = encoders.lab_of(moment, runs), runs / "transfer" / f"{moment}.json"
    settings = {"weights": lab.fingerprint, "share": share, "epochs": EPOCHS, "rate": RATE, "tokens": TOKENS,
                "probe_epochs": list(probes.EPOCHS.values())}
    done: dict[str, Any] = read_json(path) if path.exists() else {}
    if done.get("settings") != settings:
        done = {"settings": settings, "scores": {}, "cpu_seconds": 0.0}
    path.parent.mkdir(parents=True, exist_ok=True)
    for key in tasks:
        found = done["scores"].setdefault(key, {way: {} for way in WAYS})
        if len(found[TUNED]) == len(SEEDS):
            continue
        began, task = time.process_time(), Task(lab, key, data, share)
        found[PROBED] = {str(seed): its for seed, its in task.probed().items()}
        for seed in SEEDS:
            if str(seed) not in found[TUNED]:
                found[TUNED][str(seed)] = task.tuned(seed)
                done["cpu_seconds"] = round(done["cpu_seconds"] + time.process_time() - began, 1)
                began = time.process_time()
                write_json(path, done)
        print(f"{moment}, {key}: " + "; ".join(f"{way} {' '.join(f'{its:.3f}' for its in found[way].values())}"
                                               for way in WAYS), flush=True)
    return done


def write(moment: str, done: dict[str, Any], runs: Path, command: str) -> None:
    """MOMENT.transfer.json; tasks without all seeds are left out."""
    whole = {key: its for key, its in done["scores"].items() if len(its[TUNED]) == len(SEEDS)}
    store.write_of(moment, KIND, done["settings"]["weights"], {
        "command": command, "cpu_seconds": done["cpu_seconds"], "settings": done["settings"],
        "moment": encoders.numbers_of(moment, runs),
        "tasks": {key: {"metric": CORPORA[key].metric, **its} for key, its in whole.items()}})


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m models.studies.transfer.transfer_study", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("moments", nargs="*", choices=[[], *MODELS.values()], metavar="MOMENT",
                        help=f"of {', '.join(MODELS.values())}; all by default")
    parser.add_argument("--tasks", nargs="+", choices=[*CORPORA], default=[*CORPORA], metavar="TASK",
                        help=f"of {', '.join(CORPORA)}; all by default")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual number of texts; less is a quick look")
    add_data_option(parser)
    parser.add_argument("--runs", type=Path, default=Path("runs"), help="where what is done is kept")
    arguments = parser.parse_args()
    torch.set_num_threads(1)  # sums in another order would make another probe
    share = f" --share {arguments.share:g}" if arguments.share != 1 else ""
    command = "python -m models.studies.transfer.transfer_study" + share
    try:
        for moment in arguments.moments or MODELS.values():
            done = measure(moment, arguments.runs, arguments.data, arguments.share, arguments.tasks)
            write(moment, done, arguments.runs, command)
    except (ValueError, FileNotFoundError) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
