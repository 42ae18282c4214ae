"""Perplexity against memory: how much of a text a model can forget and still read it as well.

    python -m models.studies.corpus.forgetting stories-selective [--windows W]

writes models/studies/measurements/NAME.memory.json: perplexity of held-out windows at 1/2, 1/4, ... of the memory,
where

    factor = N · L / sum of K_l,   K_l the keys that layer l keeps (models/generate/decoding.py), N the window's tokens

in two ways: `chosen`, budgets shared out among the layers greedily (taken from the layer where it costs the least) on
windows of the validation split; `equal`, the same budget in every layer. Of a model with F both again as controls,
`chosen-oldest` and `equal-oldest`: the oldest key but BOS is forgotten instead of the one with the largest F, within
budgets that a search of its own has found for that, so that neither is judged by what suits the other. A model without
F forgets the oldest in any case. The file's `points` are those of `chosen`, its `comparisons` the rest; `losses` are
those of each window, the same ones for every model, by which two are compared. Source of factor and greedy choice:
Leviathan et al. 2024, arXiv 2410.02703.
"""

from __future__ import annotations

import argparse
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from models.catalogue import names
from models.generate.decoding import FEWEST, Decoder, can_decode
from models.generate.sampling import generator
from models.labs.stack import StackLab
from models.loading import own
from models.nets.transformer import Transformer
from models.studies.command import Option, study
from models.tasks.base import Task
from models.tasks.stories import CONTEXT, StoriesCorpus

FACTORS = (1, 2, 4, 8, 16, 32)
MOVES = 8  # that take budgets from one factor to the next, twice as large; 4 would leave no choice between layers
OLDEST = "-oldest"  # ends the controls' names
WINDOWS, VALIDATION = 64, 24  # windows of 256 that are reported, and that budgets are chosen on; fewer of longer ones
SEED = 7  # of the choice of windows: the same ones for every model


@torch.inference_mode()
def losses(model: Transformer, targets: Tensor, budgets: Sequence[int], by_age: bool = False) -> Tensor:
    """(W,) mean loss of each window in nats, read a token at a time within the budgets.

    Args:
        targets: (W, N) ids to predict; the first from BOS.
    """
    texts, longest = targets.shape
    decoder = Decoder(model, texts, longest, budgets, by_age=by_age)
    total = torch.zeros(len(targets))
    tokens = functional.pad(targets, (1, -1), value=0)
    for now, right in zip(tokens.unbind(1), targets.unbind(1), strict=True):
        total += functional.cross_entropy(model.logits(decoder.step(now)), right, reduction="none")
    return total / targets.shape[1]


@dataclass
class Progress:
    """Prints what was done and how long the rest will take, by the windows that are still to be read."""

    total: int
    done: int = 0
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def step(self, windows: int) -> None:
        self.done += windows

    def tell(self, what: str) -> None:
        left = self.seconds / self.done * (self.total - self.done)
        print(f"{what}  ({self.seconds:.0f} s, {left:.0f} s left)", flush=True)


def choose(model: Transformer, targets: Tensor, factors: Sequence[int], progress: Progress,
           by_age: bool = False) -> dict[int, list[int]]:
    """factor -> budgets, by taking from all layers' memory a share at a time, where it costs the least.

    Args:
        targets: (V, N) ids of windows that are not reported.
        factors: 1, then each twice the one before.
        by_age: as in `losses`.
    """
    budgets = [targets.shape[1]] * model.config.layers
    chosen = {1: budgets}
    for factor in factors[1:]:
        share = sum(budgets) // (2 * MOVES)
        for _ in range(MOVES):
            tried = []
            for layer in range(len(budgets)):
                smaller = [k - share * (i == layer) for i, k in enumerate(budgets)]
                if smaller[layer] >= FEWEST:
                    # Of equal losses, from the layer that has the most.
                    tried.append((float(losses(model, targets, smaller, by_age).mean()), -budgets[layer], smaller))
                progress.step(len(targets))
            loss, _, budgets = min(tried)
            progress.tell(f"choosing for {factor}: {budgets}, perplexity {math.exp(loss):.2f}")
        chosen[factor] = budgets
    return chosen


def measure(model: Transformer, targets: Tensor, validation: Tensor,
            factors: Sequence[int] = FACTORS) -> list[dict[str, Any]]:
    """The curve's points; prints progress.

    Args:
        targets: (W, N) ids of the windows that are reported: books' first, then as many of stories.
        validation: (V, N) ids of those that budgets are chosen on.
    """
    layers, n = model.config.layers, targets.shape[1]
    lessened, controls = len(factors) - 1, model.blocks[0].attention.selects
    ways = 4 if controls else 2
    searches = 2 if controls else 1
    progress = Progress(lessened * (searches * MOVES * layers * len(validation) + ways * len(targets)) + len(targets))
    chosen = choose(model, validation, factors, progress)
    plans = {"chosen": chosen, "equal": {factor: [n // factor] * layers for factor in factors[1:]}}
    if controls:
        by_age = choose(model, validation, factors, progress, by_age=True)
        plans |= {f"chosen{OLDEST}": {f: its for f, its in by_age.items() if f > 1}, f"equal{OLDEST}": plans["equal"]}
    points = []
    for way, its in plans.items():
        for factor, budgets in its.items():
            loss = losses(model, targets, budgets, by_age=way.endswith(OLDEST))
            books, stories = (math.exp(part.mean()) for part in loss.chunk(2))
            points.append({"way": way, "factor": factor, "perplexity": round(math.exp(loss.mean()), 3),
                           "perplexity_books": round(books, 3), "perplexity_stories": round(stories, 3),
                           "budgets": budgets, "kept_share": round(kept_share(budgets, n), 4),
                           "losses": [round(value, 4) for value in loss.tolist()]})
            progress.step(len(targets))
            progress.tell(f"{way}, factor {factor}: perplexity {points[-1]['perplexity']:.2f}")
    return points


def kept_share(budgets: Sequence[int], n: int) -> float:
    """Keys that are read over a text of n tokens, all layers together, as a share of those read without budgets."""
    read = sum(min(i, budget) for budget in budgets for i in range(1, n + 1))
    return read / (len(budgets) * n * (n + 1) / 2)


def held_out(corpus: StoriesCorpus, count: int) -> Tensor:
    """(count, N) ids of held-out windows, half of books and half of stories, the same for every model of a context
    N."""
    return _drawn(corpus.held_out(corpus.trained_length), count)


def for_choosing(corpus: StoriesCorpus, count: int) -> Tensor:
    """The same of the validation split."""
    return _drawn(torch.cat([batch.targets for batch in corpus.validation()]), count)


def largest_factor(curve: Mapping[float, float], limit: float) -> float:
    """The largest factor up to which no perplexity of the curve is above `limit`; 0 if even everything is not enough.
    What was measured, without its chance, of which models/studies/claims/sources/memory.py judges."""
    within = itertools.takewhile(lambda its: its[1] <= limit, sorted(curve.items()))
    return max((factor for factor, _ in within), default=0.0)


def _drawn(windows: Tensor, count: int) -> Tensor:
    """`count` of (B, N) windows, half of the first half, which are books'."""
    books, stories = windows.chunk(2)
    order = torch.randperm(len(books), generator=generator(SEED))[:count // 2]
    return torch.cat((books[order], stories[order]))


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    if not can_decode(lab.model):
        raise ValueError(f"{lab.name} has no cache of keys to forget from")
    corpus = task.corpus
    assert isinstance(corpus, StoriesCorpus)  # by the choices below
    began = time.process_time()
    targets = held_out(corpus, arguments.windows or WINDOWS * CONTEXT // corpus.trained_length)
    validation = for_choosing(corpus, arguments.validation or VALIDATION * CONTEXT // corpus.trained_length)
    points = measure(lab.model, targets, validation)
    return {"window": corpus.trained_length, "windows": len(targets), "validation_windows": len(validation),
            "cpu_seconds": round(time.process_time() - began),
            "points": [point for point in points if point["way"] == "chosen"],
            "comparisons": [point for point in points if point["way"] != "chosen"]}


def _even(text: str) -> int:
    number = int(text)
    if number < 2 or number % 2:
        raise argparse.ArgumentTypeError(f"an even number from 2, not {text}")
    return number


def main() -> None:
    study("memory", __doc__, [name for name in names() if name.startswith("stories-")], own, _study, [
        Option("windows", None, f"that are reported, half of books; even; by default {WINDOWS}, of longer ones fewer",
               _even),
        Option("validation", None, f"that budgets are chosen on; even; by default {VALIDATION}", _even)])


if __name__ == "__main__":
    main()
