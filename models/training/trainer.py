"""Trains models; a stopped training resumes where it stopped.

    python -m models.training stories-softmax stories-selective
    python -m models.training assignment-selective --seed 1
    python -m models.training assignment-softmax --keep 1 10 100     # only checkpoints after these steps

The log is runs/NAME/seed-0/log.txt. The state in the same folder is written once a minute, and curve.json has the loss
on the validation split. The finished model is written to models/checkpoints/NAME for seed 0 (or to --target), and to
runs/NAME/seed-K for other seeds K. The card of seed 0 also contains the metrics of the other seeds. A training with
--keep writes its checkpoints to models/checkpoints/NAME/steps/STEP, with their metrics, and no model. A GPU is used if
there is one.
"""

import argparse
import functools
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from models.generate.decoding import generator
from models.kind import CROSS, DECODER, ENCODER
from models.nets import disagreement
from models.nets.attention.base import Intervention, Record
from models.nets.attention.selective import memory_in_use
from models.nets.config import PADDING
from models.nets.seq2seq import Interventions, Seq2Seq
from models.nets.transformer import Model, Transformer
from models.storage.checkpoint import CHECKPOINTS, build
from models.storage.datasets import add_folder_options
from models.storage.released import STEPS
from models.tasks.base import Batch, Corpus, Pairs
from models.training.cards import finish
from models.training.executor import add_processes_option, progress, run_jobs
from models.training.muon import Muon
from models.training.recipes import RECIPES, PairRecipe, Recipe, task_of
from models.training.resume import SAVE_EVERY, precision_of, read_curve, restore_state, save_state, write_curve

REPORT_EVERY = 50  # number of steps between two lines of the log
CLIP = 1.0  # the gradient is clipped to this norm
BETA1 = 0.9
# steps of the first points of the learning curve; number of steps between later points; the last step also has a point
CURVE_EARLY, CURVE_EVERY = (50, 100), 200
PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def rate(step: int, recipe: Recipe) -> float:
    """Returns the learning rate of a step: linear warm-up, then a cosine down to a tenth of the largest rate."""
    if step < recipe.warmup:
        return recipe.learning_rate * (step + 1) / recipe.warmup
    done = (step - recipe.warmup) / max(1, recipe.steps - recipe.warmup)
    return recipe.learning_rate * (0.1 + 0.45 * (1 + math.cos(math.pi * done)))


def loss_of(model: Transformer, tokens: Tensor, positions: Tensor, answers: Tensor,
            memory_loss: float = 0.0, interventions: Sequence[Intervention] | None = None) -> Tensor:
    """Returns the mean cross-entropy in nats over all positions with a target, plus the weighted memory loss."""
    records: list[Record] | None = [] if memory_loss else None
    hidden = model(tokens, interventions, records).flatten(0, 1)
    # Logits are computed only at positions with a target: one token in four in variable assignment, one in seven of
    # masked words.
    hidden = hidden if len(positions) == len(hidden) else hidden[positions]
    loss = functional.cross_entropy(model.logits(hidden).float(), answers)
    if records is None:
        return loss
    return loss + memory_loss * memory_in_use([record.mask for record in records if record.mask is not None])


def pair_loss_of(model: Seq2Seq, texts: Tensor, tokens: Tensor, targets: Tensor, label_smoothing: float = 0.0,
                 terms: tuple[str, ...] = (), weight: float = 1.0,
                 interventions: Interventions | None = None) -> Tensor:
    """Returns the mean cross-entropy in nats over all targets but padding, minus the weighted disagreement of heads."""
    records: dict[str, list[Record]] | None = {ENCODER: [], DECODER: [], CROSS: []} if terms else None
    logits = model.logits(model(texts, tokens, interventions, records)).float()
    loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1,
                                    label_smoothing=label_smoothing)
    if records is None:
        return loss
    exist = {kind: (queries != PADDING, keys != PADDING) for kind, (queries, keys) in
             {ENCODER: (texts, texts), DECODER: (tokens, tokens), CROSS: (tokens, texts)}.items()}
    layers = [(record, *exist[kind]) for kind, of_block in records.items() for record in of_block]
    return loss - weight * disagreement.total(layers, terms)


def batch_loss(model: Model, batch: Batch, objective: Callable[..., Tensor] | None = None,
               memory_loss: float = 0.0) -> Tensor:
    """Returns the loss of a batch."""
    device = model.embedding.weight.device
    if isinstance(batch, Pairs):
        parts = (part.to(device) for part in (batch.texts, batch.tokens, batch.targets))
        of_pairs: Callable[..., Tensor] = objective or pair_loss_of
        return of_pairs(model, *parts)
    of_texts: Callable[..., Tensor] = objective or loss_of
    targets = batch.targets.flatten()
    positions = (targets >= 0).nonzero().squeeze(1)
    return of_texts(model, batch.tokens.to(device), positions.to(device), targets[positions].to(device), memory_loss)


def objective_of(recipe: Recipe) -> Callable[..., Tensor]:
    """Returns the loss function of a recipe, for batch_loss."""
    if not isinstance(recipe, PairRecipe):
        return torch.compile(loss_of, dynamic=False) if recipe.compiled else loss_of
    loss = functools.partial(pair_loss_of, label_smoothing=recipe.label_smoothing, terms=recipe.disagreement,
                             weight=recipe.disagreement_weight)
    return torch.compile(loss, dynamic=False) if recipe.compiled else loss


def optimisers_of(model: Model, recipe: Recipe, precision: str = "float32") -> list[torch.optim.Optimizer]:
    """Returns one or two optimisers, which together contain every parameter once."""
    matrices, tables, rest = [], [], []
    for name, parameter in model.named_parameters():
        if name.endswith("table"):
            tables.append(parameter)
        elif parameter.ndim == 2 and name.endswith("weight") and \
                (not recipe.muon or parameter is not model.embedding.weight):
            matrices.append(parameter)
        else:
            rest.append(parameter)
    groups = [{"params": tables, "weight_decay": 0.0, "factor": recipe.table_rate},
              {"params": rest, "weight_decay": 0.0, "factor": 1.0}]
    decayed = {"params": matrices, "weight_decay": recipe.weight_decay, "factor": 1.0}
    adam: dict[str, Any] = {"lr": recipe.learning_rate, "betas": (BETA1, recipe.beta2)}
    if not recipe.muon:
        return [torch.optim.AdamW([g for g in (decayed, *groups) if g["params"]], **adam)]
    # Muon (Jordan et al. 2024) with the step size of Liu et al. 2025, arXiv 2502.16982, can use AdamW's learning rates.
    matrix_steps = torch.optim.Muon([decayed], lr=recipe.learning_rate, adjust_lr_fn="match_rms_adamw") \
        if precision == "bfloat16" else Muon([decayed], lr=recipe.learning_rate)
    return [matrix_steps, torch.optim.AdamW([g for g in groups if g["params"]], **adam)]


@torch.inference_mode()
def validation_loss(model: Model, corpus: Corpus, times: int = 1) -> float:
    """Returns the mean cross-entropy in nats on a validation sample that is `times` as large as the usual one."""
    was_training, total, count = model.training, 0.0, 0
    model.eval()
    for batch in corpus.validation(times):
        number = int((batch.targets >= 0).sum())
        total, count = total + number * batch_loss(model, batch).item(), count + number
    model.train(was_training)
    return total / count


def faster_precision(device: torch.device) -> str:
    """Returns the key of PRECISIONS whose matrix products are faster here; timing takes a fifth of a second."""
    if device.type == "cuda":
        return "bfloat16"
    best = {}
    for name, dtype in PRECISIONS.items():
        x, weight = torch.ones(2048, 192, dtype=dtype), torch.ones(192, 768, dtype=dtype)
        times = []
        for _ in range(8):
            began = time.perf_counter()
            x @ weight
            times.append(time.perf_counter() - began)
        best[name] = min(times)
    return min(best, key=best.__getitem__)


def precision_for(folder: Path, device: torch.device, requested: str | None = None) -> str:
    """Returns the precision of a run: that of its first step, else the requested one, else the faster one here."""
    began = precision_of(folder)
    if began and requested and began != requested:
        raise FileExistsError(
            f"the run in {folder.name} began in {began}, not in {requested}; move it away to begin again")
    return began or requested or faster_precision(device)


def train(recipe: Recipe, corpus: Corpus, folder: Path, seed: int, device: torch.device,
          precision: str = "float32", after: Callable[[int, Model], None] | None = None) -> Model:
    """Trains a model to the recipe's last step; resumes from the state in the folder if there is one."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(seed)
    dropout = recipe.dropout if isinstance(recipe, PairRecipe) else 0.0
    model = build(recipe.config, recipe.initial_std, recipe.embedding_std, dropout).to(device)
    optimisers = optimisers_of(model, recipe, precision)
    first, seconds = restore_state(folder, recipe, model, optimisers)
    curve = read_curve(folder, first)
    objective = objective_of(recipe)
    began = saved = time.perf_counter()
    with open(folder / "log.txt", "a") as log:
        for step in range(first, recipe.steps):
            batch = corpus.batch(step, recipe.steps, seed)
            if dropout:  # dropout depends on the step's number, so that a resumed run continues exactly
                torch.manual_seed(generator(seed, step).initial_seed())
            loss = update(model, batch, recipe, optimisers, objective, rate(step, recipe), precision)
            if after is not None:
                after(step + 1, model)
            if step + 1 in CURVE_EARLY or (step + 1) % CURVE_EVERY == 0 or step + 1 == recipe.steps:
                curve.append((step + 1, round(validation_loss(model, corpus), 4)))
                write_curve(folder, curve, precision)
            now = time.perf_counter()
            spent = seconds + now - began
            if (step + 1) % REPORT_EVERY == 0:
                left = (now - began) / (step + 1 - first) * (recipe.steps - step - 1)
                print(f"step {step + 1} loss {loss.item():.4f} rate {rate(step, recipe):.2e} "
                      f"seconds {spent:.0f} left {left:.0f}", file=log, flush=True)
            if now - saved > SAVE_EVERY or step + 1 == recipe.steps:
                save_state(folder, recipe, model, optimisers, step + 1, spent)
                saved = now
    return model.eval()


def update(model: Model, batch: Batch, recipe: Recipe, optimisers: list[torch.optim.Optimizer],
           objective: Callable[..., Tensor], learning_rate: float, precision: str) -> Tensor:
    """Does one training step and returns the loss before the step."""
    for group in (group for optimiser in optimisers for group in optimiser.param_groups):
        group["lr"] = learning_rate * group["factor"]
    with torch.autocast(model.embedding.weight.device.type, torch.bfloat16, enabled=precision == "bfloat16"):
        loss = batch_loss(model, batch, objective, recipe.memory_loss)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad()
    return loss


def short_folder(runs: Path, name: str, recipe: Recipe, seed: int) -> Path:
    """Returns the folder of a short training."""
    return runs / name / f"short-{recipe.learning_rate:g}-{recipe.table_rate:g}-{seed}"


def training_parser(about: str | None) -> argparse.ArgumentParser:
    """Returns the parser of a command that trains models."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+", choices=RECIPES, metavar="NAME", help=", ".join(RECIPES))
    add_folder_options(parser)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--precision", choices=PRECISIONS,
                        help="of products; by default what the run began with, else what is faster here")
    add_processes_option(parser)
    return parser


def train_each(parser: argparse.ArgumentParser, job: Callable[[argparse.Namespace, str], None]) -> None:
    """Runs a job for each model that the command line names."""
    arguments = parser.parse_args()
    for name, value in vars(arguments).items():
        if isinstance(value, Path):  # processes of a cluster have another working folder
            setattr(arguments, name, value.absolute())
    try:
        for _ in progress(run_jobs(partial(job, arguments), arguments.names, arguments.processes), arguments.names):
            pass
    except (FileNotFoundError, FileExistsError) as error:
        parser.error(str(error))


def main() -> None:
    """Runs the command of the module's docstring."""
    parser = training_parser(__doc__)
    parser.add_argument("--target", type=Path, default=CHECKPOINTS, help="folder of the finished models' folders")
    parser.add_argument("--keep", type=int, nargs="+", default=[], metavar="STEP",
                        help="train again and keep the checkpoints after these steps, in place of the model")
    train_each(parser, _train_one)


def _train_one(arguments: argparse.Namespace, name: str) -> None:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    task = task_of(name, arguments.data, arguments.runs)
    folder = arguments.runs / name / f"{'steps' if arguments.keep else 'seed'}-{arguments.seed}"
    precision = precision_for(folder, device, arguments.precision)
    target = arguments.target / name if arguments.seed == 0 else folder

    def keep(step: int, model: Model) -> None:
        if step in arguments.keep:
            finish(f"{name}@{step}", deepcopy(model).cpu().eval(), task, folder, arguments.seed,
                   target / STEPS / str(step))

    model = train(RECIPES[name], task.corpus, folder, arguments.seed, device, precision, keep).cpu()
    if not arguments.keep:
        finish(name, model, task, folder, arguments.seed, target)
    elif missing := [step for step in arguments.keep if not (target / STEPS / str(step) / "card.json").exists()]:
        raise FileExistsError(f"no checkpoint after steps {missing}: the run in {folder} has passed them, or ends "
                              f"before; move it away to begin again")


if __name__ == "__main__":
    main()
