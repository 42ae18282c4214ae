"""Learning: trains a small model step by step and yields its moments; no process, no thread and no file."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor

from learning.moment import Moment, html
from learning.recipe import STEPS, Recipe
from learning.tasks import HELD_OUT_SEED, READERS, TASKS
from models.analysis.answer.head_attribution import attribution_of
from models.analysis.answer.logit_lens import lens_of
from models.generate.decoding import generator
from models.kind import SELF
from models.lab import run_prompt
from models.labs.stack import StackLab
from models.nets.mean_patterns import mean_patterns, normalised, seen
from models.nets.transformer import Transformer
from models.plan import HeadPlan
from models.tasks.base import Batch
from models.training.executor import one_thread
from models.training.recipes import Recipe as Training
from models.training.trainer import loss_of, optimisers_of, rate, update

BATCH = 32  # sequences of one step
MOMENTS = 60
HELD_OUT = 1000  # held-out sequences; all moments but the last use the first SOME of them
SOME = 250
# These settings decide whether lookup is learned at all; see models/training/recipes.py.
SETTINGS: dict[str, Any] = {"learning_rate": 2e-3, "warmup": 50, "beta2": 0.99, "weight_decay": 0.01,
                            "embedding_std": 1.0, "table_rate": 10.0}


def learn(task: str, attention: str = "softmax", layers: int = 2, heads: int = 4, seed: int = 0, steps: int = STEPS,
          plan: HeadPlan = HeadPlan()) -> Learning:
    """Returns a training of a small model, which runs while you iterate over it.

        learning = al.learn("lookup", attention="random")
        for moment in learning:
            print(moment.step, moment.loss, moment.accuracy)
        lab = learning.lab

    Args:
        task: `lookup`, `repeat`, `position` or `count`.
        attention: attention type, a name in `learning.ATTENTION`.
        layers: number of layers, 1 to 3.
        heads: number of heads per layer, 1 to 8.
        seed: seed of the initial weights and of the training sequences. The same seed gives the same numbers on the
            same machine.
        steps: number of optimiser steps, 1 to 3000.
        plan: interventions that hold from the first step, forward and backward. A constant head has even weights over
            the positions that it may see; a pruned head (gate 0) adds nothing and gets no gradient.

    Returns:
        The training.

    Raises:
        InputError: an argument is outside its range, or the plan patches heads or names a head that does not exist.
    """
    return Learning(Recipe(task, attention, layers, heads, seed, steps, plan))


class Learning:
    """The training of one small model.

    Iterating yields its moments: about 60, more at the beginning. A second iteration yields the same moments again.
    A notebook shows the training with its curve and a slider over its moments; the remaining steps are done first.

    Attributes:
        recipe: all settings; `str(learning.recipe)` is their short text form.
    """

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self._moments: list[Moment] = []
        self._steps = moments_at(recipe.steps)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            self._model = Transformer(recipe.config, embedding_std=SETTINGS["embedding_std"])
        self._training = Training(recipe.config, recipe.steps, **SETTINGS)
        self._optimisers = optimisers_of(self._model, self._training)
        self._live = lab_of(recipe, self._model, even(recipe))
        self._watched = self._live.read(TASKS[recipe.task].example)
        self._done = 0

    def __iter__(self) -> Iterator[Moment]:
        """Yields the moments; trains between them if they have not been computed yet."""
        for number, step in enumerate(self._steps):
            if number == len(self._moments):
                with one_thread():  # more threads make such small products slower
                    self._train_to(step)
                    self._moments.append(self._moment())
            yield self._moments[number]

    @functools.cached_property
    def lab(self) -> StackLab:
        """The trained model; the remaining steps are done first.

        Its constant patterns are the means over held-out sequences, except that heads which were constant during the
        training keep the even weights that they were trained with.
        """
        for _ in self:
            pass
        with one_thread():
            tokens = TASKS[self.recipe.task].sample(HELD_OUT, 1.0, generator(HELD_OUT_SEED, 1))
            means = normalised(mean_patterns(self._model, tokens), causal=True)
        constant = torch.where(constant_heads(self.recipe)[:, :, None, None], even(self.recipe), means)
        return lab_of(self.recipe, self._model.eval().requires_grad_(False), constant, self._moments[-1].accuracy)

    @property
    def baseline(self) -> float:
        """The accuracy of the best guess from the last token alone, on the held-out sequences."""
        return baseline(self.recipe.task)

    def _repr_html_(self) -> str:
        return html(str(self.recipe), self.baseline, [moment.packed() for moment in self])

    def objective(self, model: Transformer, tokens: Tensor, positions: Tensor, answers: Tensor,
                  memory_loss: float) -> Tensor:
        """Returns the loss of a batch under the plan; the arguments are those of loss_of."""
        interventions = self._live.interventions(self.recipe.plan, tokens.shape[1])
        return loss_of(model, tokens, positions, answers, memory_loss, interventions)

    def _train_to(self, step: int) -> None:
        task, training = TASKS[self.recipe.task], self._training
        for done in range(self._done, step):
            batch = task.batch(BATCH, done / training.steps, generator(self.recipe.seed, done))
            update(self._model, batch, training, self._optimisers, self.objective, rate(done, training), "float32")
        self._done = step

    @torch.inference_mode()
    def _moment(self) -> Moment:
        plan = self.recipe.plan
        loss, accuracy = self._score()
        return Moment(self._done, loss, accuracy, run_prompt(self._live, self._watched, plan),
                      lens_of(self._live, self._watched, plan, 1), attribution_of(self._live, self._watched, plan))

    def _score(self) -> tuple[float, float]:
        batch = held_out(self.recipe.task)
        count = HELD_OUT if self._done == self.recipe.steps else SOME
        tokens, answers = batch.tokens[:count], batch.targets[:count, -1]
        interventions = self._live.interventions(self.recipe.plan, tokens.shape[1])
        logits = torch.cat([self._model.logits(self._model(part, interventions)[:, -1]) for part in tokens.split(250)])
        return (float(torch.nn.functional.cross_entropy(logits, answers)),
                float((logits.argmax(-1) == answers).float().mean()))


def moments_at(steps: int) -> list[int]:
    """Returns the steps of the moments, from 0 to `steps`, denser at the beginning."""
    return sorted({round(steps * (number / MOMENTS) ** 1.6) for number in range(MOMENTS + 1)})


@functools.lru_cache(len(TASKS))
def held_out(task: str) -> Batch:
    """Returns the held-out sequences of a task, which are the same for all trainings."""
    return TASKS[task].held_out(HELD_OUT, generator(HELD_OUT_SEED))


@functools.lru_cache(len(TASKS))
def baseline(task: str) -> float:
    """Returns the accuracy of the best guess from the last token alone, on the held-out sequences of a task."""
    batch = held_out(task)
    return float((TASKS[task].guess(batch.tokens) == batch.targets[:, -1]).float().mean())


def even(recipe: Recipe) -> Tensor:
    """Returns (L, H, N, N): even weights of every query over the positions that it may see."""
    n = TASKS[recipe.task].longest
    return normalised(seen(n, n, causal=True), causal=True).expand(recipe.layers, recipe.heads, n, n)


def constant_heads(recipe: Recipe) -> Tensor:
    """Returns (L, H) bool: the heads that are constant during the training."""
    return torch.tensor([[recipe.plan.state(SELF, layer, head).constant for head in range(recipe.heads)]
                         for layer in range(recipe.layers)])


def lab_of(recipe: Recipe, model: Transformer, constant: Tensor, accuracy: float | None = None) -> StackLab:
    """Returns the Lab of a model with constant patterns (L, H, N, N); a model in training has no accuracy."""
    card: Mapping[str, Any] = {} if accuracy is None else {
        "name": f"learn-{recipe}", "task": READERS[recipe.task].name,
        "training": {"recipe": str(recipe), "steps": recipe.steps, "seed": recipe.seed},
        "metric": {"accuracy": accuracy, "sequences": HELD_OUT},
        "weights": {"model.safetensors": _digest(model)}}
    return StackLab(f"learn-{recipe}", READERS[recipe.task], model, {SELF: constant}, card)


def state_of(lab: StackLab) -> dict[str, Tensor]:
    """Returns the weights and the constant patterns of a trained model, by name."""
    accuracy = torch.tensor(lab.card["metric"]["accuracy"], dtype=torch.float64)
    return {**lab.model.state_dict(), "constant": lab.constant[SELF].contiguous(), "accuracy": accuracy}


def lab_of_state(recipe: Recipe, state: dict[str, Tensor]) -> StackLab:
    """Returns the Lab of a model from the result of `state_of`."""
    weights = dict(state)
    constant, accuracy = weights.pop("constant"), float(weights.pop("accuracy"))
    with torch.random.fork_rng(devices=[]):
        model = Transformer(recipe.config)
    model.load_state_dict(weights)
    return lab_of(recipe, model.eval().requires_grad_(False), constant, accuracy)


def _digest(model: Transformer) -> str:
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def keep_freed_memory() -> None:
    """Makes glibc keep freed memory, for a process that only trains; a step takes a fifth less time."""
    with contextlib.suppress(AttributeError, OSError):  # without glibc a step is only slower
        for parameter, value in ((-3, 256 * 2**20), (-1, 512 * 2**20)):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            ctypes.CDLL(None).mallopt(parameter, value)
