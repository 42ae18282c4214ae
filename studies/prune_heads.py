"""Learns which heads of a converged translation model can be pruned.

    python -m studies.prune_heads --kinds encoder --strengths 0.005 0.01 0.02 0.05 0.1
    python -m studies.prune_heads --kinds encoder decoder cross --strengths 0.005 0.01 0.02 0.05 0.1
    python -m studies.prune_heads --kinds encoder --strengths 0
    python -m studies.prune_heads --ship translation-pruned-60

Every head of the named attention blocks gets a Hard Concrete gate (models/nets/hard_concrete.py). Training
continues with the loss

    cross entropy + strength · sum over heads of P(gate > 0)

as in Voita et al. 2019, section 5. With `encoder` only, the decoder and the embeddings are frozen, as in the source.
Two settings differ from the source: gates start at P(gate > 0) = 0.94 (source: about 0.69), and gates have a separate
learning rate. A strength of 0 is the control: the same training without gates, which separates the gain of longer
training from the loss due to pruned heads.

Each strength is a run in runs/NAME/gates-KINDS-STRENGTH, which resumes if it was stopped. Its learned probabilities,
remaining heads and BLEU with gates of 0 and 1 are written to studies/measurements/NAME.gates.json. Its weights
and constant matrices are in the run's folder `model`, in the released form: the slices of W_O of pruned heads are 0,
which equals a gate of 0. The models of SHIPPED are released.
"""

import argparse
import contextlib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from models.errors import CheckpointError
from models.generate.decoding import generator
from models.kind import DECODER, ENCODER
from models.nets import hard_concrete
from models.nets.attention.base import Intervention
from models.nets.seq2seq import Seq2Seq
from models.plan import HeadPlan
from models.storage.checkpoint import CHECKPOINTS, digests, locked, read_card, read_json, read_model, write, write_json
from models.storage.datasets import add_folder_options
from models.tasks.base import Pairs, Task
from models.tasks.pairs import PairCorpus
from models.tasks.text_scores import bleu
from models.training.cards import constants_of, seconds_of
from models.training.recipes import task_of
from models.training.resume import SAVE_EVERY, restore_state, save_state
from models.training.trainer import CLIP, pair_loss_of
from studies import store
from studies.generated.sentences import sentence_bleu

KINDS = (ENCODER, DECODER, "cross")
INITIAL = 2.0  # initial ln a of each gate
BEAM = 4  # width of the beam search that BLEU is measured with
STREAM = 77  # seed of the gates' random numbers; the training data use other seeds
REPORT_EVERY = 50  # number of steps between two lines of the log


@dataclass(frozen=True)
class Pruning:
    """The settings of one run."""

    model: str  # name of the converged model
    kinds: tuple[str, ...]  # attention blocks whose heads have gates
    strength: float  # lambda, weight of P(gate > 0) of one head, in nats; 0 for a run without gates
    steps: int = 1000  # steps of training with the penalty
    # rate, gate_rate: learning rates of the weights and of ln a
    rate: float = 2e-4
    gate_rate: float = 0.05
    label_smoothing: float = 0.1  # label smoothing, the same as in the training of the model
    seed: int = 0  # seed of the gates' random numbers and of the order of the data

    @property
    def folder(self) -> str:
        """Name of the folder of the run."""
        return f"gates-{'-'.join(self.kinds)}-{self.strength:g}-seed-{self.seed}"

    @property
    def gated(self) -> tuple[str, ...]:
        """The attention blocks whose heads have gates; none for the control."""
        return self.kinds if self.strength else ()


# the number in the name is the number of remaining heads in the whole model
SHIPPED = {"translation-pruned-60": Pruning("translation-softmax", (ENCODER,), 0.0275, steps=600),
           "translation-pruned-55": Pruning("translation-softmax", KINDS, 0.02, steps=600)}


class Gates(nn.Module):
    """A model and ln a of each gate: attention block -> (L, H)."""

    def __init__(self, model: Seq2Seq, kinds: Sequence[str]) -> None:
        super().__init__()
        self.model = model
        self.log_a = nn.ParameterDict({kind: torch.full((len(model.attentions(kind)), model.config.heads), INITIAL)
                                       for kind in kinds})

    def interventions(self, gates: Mapping[str, Tensor]) -> dict[str, list[Intervention]]:
        """Returns the gates, attention block -> (L, H), as interventions of a forward pass."""
        return {kind: [Intervention(gate=row[:, None, None]) for row in rows] for kind, rows in gates.items()}

    def loss(self, batch: Pairs, pruning: Pruning, step: int) -> Tensor:
        """Returns the loss of a training step, with one draw of gates for the whole batch."""
        random = generator(STREAM, pruning.seed, step)
        gates = {kind: hard_concrete.sample(log_a, random) for kind, log_a in sorted(self.log_a.items())}
        loss = pair_loss_of(self.model, batch.texts, batch.tokens, batch.targets, pruning.label_smoothing,
                            interventions=self.interventions(gates))
        for log_a in self.log_a.values():
            loss = loss + pruning.strength * hard_concrete.penalty(log_a)
        return loss

    @property
    def plan(self) -> HeadPlan:
        """Returns the plan with gates of 0 for the heads that are closed at test time."""
        return HeadPlan().with_heads([(kind, layer, head) for kind, log_a in self.log_a.items()
                                      for layer, row in enumerate(hard_concrete.decided(log_a).tolist())
                                      for head, is_open in enumerate(row) if not is_open], gate=0.0)


def learn(pruning: Pruning, model: Seq2Seq, corpus: PairCorpus, folder: Path) -> Gates:
    """Trains gates and weights to the last step; resumes from the state in the folder if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    gates = Gates(model.train(), pruning.gated)
    weights = list(trained(model, pruning.kinds))
    model.requires_grad_(False)
    for parameter in weights:
        parameter.requires_grad_(True)
    optimiser = torch.optim.Adam([{"params": weights, "lr": pruning.rate},
                                  {"params": list(gates.log_a.values()), "lr": pruning.gate_rate}])
    first, seconds = restore_state(folder, pruning, gates, [optimiser])
    began = saved = time.perf_counter()
    with open(folder / "log.txt", "a") as log:
        for step in range(first, pruning.steps):
            loss = gates.loss(corpus.batch(step, pruning.steps, pruning.seed), pruning, step)
            loss.backward()
            # only the gradient of the weights is clipped, because clipping would slow down the learning of the gates
            torch.nn.utils.clip_grad_norm_(weights, CLIP)
            optimiser.step()
            optimiser.zero_grad()
            now = time.perf_counter()
            if (step + 1) % REPORT_EVERY == 0:
                left = {kind: int(hard_concrete.decided(log_a).sum()) for kind, log_a in gates.log_a.items()}
                print(f"step {step + 1} loss {loss.item():.4f} heads {left} seconds {seconds + now - began:.0f}",
                      file=log, flush=True)
            if now - saved > SAVE_EVERY or step + 1 == pruning.steps:
                save_state(folder, pruning, gates, [optimiser], step + 1, seconds + now - began)
                saved = now
    model.eval().requires_grad_(False)
    return gates.requires_grad_(False)


def trained(model: Seq2Seq, kinds: Sequence[str]) -> list[nn.Parameter]:
    """Returns the weights that are trained: all, or only the encoder's if no other heads have gates."""
    if tuple(kinds) == (ENCODER,):
        return [parameter for name, parameter in model.named_parameters() if name.startswith("encoder")]
    return list(model.parameters())


@torch.no_grad()
def removed(model: Seq2Seq, plan: HeadPlan) -> None:
    """Sets the slices of W_O of the plan's heads to 0 in place, which equals gates of 0."""
    for kind, layer, head in plan.heads:
        model.attentions(kind)[layer].output.weight.unflatten(1, (model.config.heads, -1))[:, head] = 0


def measured(gates: Gates, pruning: Pruning, task: Task, sentences: int | None) -> dict[str, Any]:
    """Returns the scores of a run on the test sentences; the pruned heads are already removed from the model."""
    gates.requires_grad_(False)
    texts, references = task.corpus.test(sentences)
    translations = task.metric.translate(gates.model, texts, BEAM)
    score, signature = bleu(translations, references)
    apart = {}
    if not pruning.gated:  # the control is not released; released models have a separate file of sentences
        with contextlib.suppress(ValueError):  # with a BLEU of 0 no sentence has a value
            apart["sentence_bleu"] = sentence_bleu(translations, references)
    return {**asdict(pruning), "kinds": list(pruning.kinds),
            "heads_left": {kind: int(hard_concrete.decided(gates.log_a[kind]).sum()) if kind in gates.log_a
                           else len(gates.model.attentions(kind)) * gates.model.config.heads for kind in pruning.kinds},
            "probabilities": {kind: [[round(float(p), 4) for p in row] for row in hard_concrete.open_probability(log_a)]
                              for kind, log_a in gates.log_a.items()},
            "plan": str(gates.plan), "bleu": round(score, 2), "beam": BEAM, "sentences": len(texts),
            "signature": signature} | apart


def ship(name: str, pruning: Pruning, task: Task, folder: Path) -> None:
    """Writes the weights of a finished run as a released model, and computes its scores from the written weights."""
    target, result = CHECKPOINTS / name, read_json(folder / "result.json")
    shutil.copytree(folder / "model", target, dirs_exist_ok=True)
    start = read_card(CHECKPOINTS / pruning.model)
    trained_as = {
        "steps": pruning.steps, "tokens_per_step": start["training"]["tokens_per_step"], "seed": pruning.seed,
        "optimiser": "Adam", "learning_rate": pruning.rate, "minutes": round(seconds_of(folder) / 60, 1),
        "command": f"python -m studies.prune_heads --ship {name}", "label_smoothing": pruning.label_smoothing,
        "start": pruning.model, "kinds": list(pruning.kinds), "strength": pruning.strength,
        "heads_left": result["heads_left"]}
    kept = {key: value for key, value in start.items() if key not in ("curve", "other_seeds", "weights")}
    write_json(target / "card.json", kept | {
        "name": name, "training": trained_as, "metric": task.metric.evaluate(read_model(target)),
        "evaluate": f"python -m models.training.evaluate {name}", "weights": digests(target)})


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="translation-softmax", metavar="NAME", help="a converged model that ships")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=[ENCODER])
    parser.add_argument("--strengths", nargs="+", type=float, default=[0.005, 0.01, 0.02, 0.05, 0.1])
    parser.add_argument("--steps", type=int, default=Pruning.steps)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sentences", type=int, help="of the test split that BLEU is measured on; all if left out")
    parser.add_argument("--ship", choices=SHIPPED, metavar="NAME",
                        help=f"this run's weights, as a model of their own: {', '.join(SHIPPED)}")
    add_folder_options(parser)
    arguments = parser.parse_args()
    kinds = tuple(kind for kind in KINDS if kind in arguments.kinds)
    try:
        task: Any = task_of(arguments.model, arguments.data, arguments.runs)
        if arguments.ship:
            pruning = SHIPPED[arguments.ship]
            _one(pruning, task, arguments)
            ship(arguments.ship, pruning, task, arguments.runs / pruning.model / pruning.folder)
            return
        for strength in arguments.strengths:
            pruning = Pruning(arguments.model, kinds, strength, arguments.steps, seed=arguments.seed)
            _one(pruning, task, arguments)
    except (FileNotFoundError, FileExistsError, CheckpointError) as error:
        parser.error(str(error))


def _one(pruning: Pruning, task: Any, arguments: argparse.Namespace) -> None:
    folder = arguments.runs / pruning.model / pruning.folder
    if not (folder / "result.json").exists():
        gates = learn(pruning, read_model(CHECKPOINTS / pruning.model), task.corpus, folder)
        removed(gates.model, gates.plan)
        write(folder / "model", gates.model, constants_of(gates.model, task))
        gates.model = read_model(folder / "model")
        write_json(folder / "result.json", measured(gates, pruning, task, arguments.sentences))
    # the results are added to those of other runs of these weights, on this or another machine
    with locked(store.MEASUREMENTS):
        stored, place = store.read(pruning.model, "gates") or {}, "series" if pruning.gated else "controls"
        series = [*stored.get(place, []), read_json(folder / "result.json")]
        results = {(tuple(run["kinds"]), run["strength"], run["seed"]): run for run in series}
        kept = {key: stored[key] for key in ("series", "controls") if key in stored}
        store.write(pruning.model, "gates", read_card(CHECKPOINTS / pruning.model)["metric"],
                    kept | {place: [results[key] for key in sorted(results)]})


if __name__ == "__main__":
    main()
