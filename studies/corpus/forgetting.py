"""Perplexity against memory: how many keys of its context a model can drop at equal perplexity.

    python -m studies.corpus.forgetting stories-selective [--windows W]

writes studies/measurements/NAME.memory.json: perplexity of held-out windows at 1/2, 1/4, ... of the memory,
where

    factor = N · L / sum of K_l,   K_l the keys that layer l keeps (models/generate/decoding.py), N the window's tokens

`way` names how the keys are dropped:

    chosen          greedy budgets: keys are taken from the layer where the validation loss rises least
    equal           the same budget in every layer
    chosen-oldest, equal-oldest
                    controls for a model with F: drop the oldest key except BOS, not the key with the largest F

F is the selective mask (accumulated votes). The budgets of `chosen-oldest` come from a separate search, so that each
rule is evaluated with budgets chosen for this rule. A model without F always drops the oldest key. The file has the
points of `chosen` under `points` and all others under `comparisons`. `losses` has one loss per window, of the same
windows for every model, so that two models can be compared. The factor and the greedy choice are from Leviathan et al.
2024, arXiv 2410.02703.
"""

import argparse
import itertools
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from models.catalogue import names_of
from models.generate.decoding import FEWEST, Decoder, can_decode, generator
from models.labs.stack import StackLab
from models.loading import own
from models.nets.transformer import Transformer
from models.tasks.base import Task
from models.tasks.stories import CONTEXT, StoriesCorpus
from studies.command import Option, study

if TYPE_CHECKING:
    from tqdm import tqdm

FACTORS = (1, 2, 4, 8, 16, 32)
MOVES = 8  # number of greedy steps from one factor to the next; with 4 there would be no choice between layers
OLDEST = "-oldest"  # suffix of the names of the controls, which drop the oldest tokens
# number of windows of 256 tokens to report, and to choose budgets on; fewer windows if they are longer
WINDOWS, VALIDATION = 64, 24
SEED = 7  # random seed of the choice of windows, which is the same for every model


@torch.inference_mode()
def losses(model: Transformer, targets: Tensor, budgets: Sequence[int], by_age: bool = False) -> Tensor:
    """Returns (W,) mean losses of the windows in nats, decoded one token at a time within the budgets."""
    texts, longest = targets.shape
    decoder = Decoder(model, texts, longest, budgets, by_age=by_age)
    total = torch.zeros(len(targets))
    tokens = functional.pad(targets, (1, -1), value=0)
    for now, right in zip(tokens.unbind(1), targets.unbind(1), strict=True):
        total += functional.cross_entropy(model.logits(decoder.step(now)), right, reduction="none")
    return total / targets.shape[1]


def choose(model: Transformer, targets: Tensor, factors: Sequence[int], progress: "tqdm[Any]",
           by_age: bool = False) -> dict[int, list[int]]:
    """Returns budgets per layer for each factor, by a greedy search; `progress` is tqdm's bar, in windows."""
    budgets = [targets.shape[1]] * model.config.layers
    chosen = {1: budgets}
    for factor in factors[1:]:
        share = sum(budgets) // (2 * MOVES)
        for _ in range(MOVES):
            tried = []
            for layer in range(len(budgets)):
                smaller = [k - share * (i == layer) for i, k in enumerate(budgets)]
                if smaller[layer] >= FEWEST:
                    # if losses are equal, the keys are taken from the layer with the most keys
                    tried.append((float(losses(model, targets, smaller, by_age).mean()), -budgets[layer], smaller))
                progress.update(len(targets))
            loss, _, budgets = min(tried)
            progress.write(f"choosing for {factor}: {budgets}, perplexity {math.exp(loss):.2f}")
        chosen[factor] = budgets
    return chosen


def measure(model: Transformer, targets: Tensor, validation: Tensor,
            factors: Sequence[int] = FACTORS) -> list[dict[str, Any]]:
    """Returns the points of the curve, for every way and factor. Prints progress."""
    from tqdm import tqdm  # pages, which read the measurement, do without it

    layers, n = model.config.layers, targets.shape[1]
    lessened, controls = len(factors) - 1, model.blocks[0].attention.selects
    curves = 4 if controls else 2
    searches = 2 if controls else 1
    work = lessened * (searches * MOVES * layers * len(validation) + curves * len(targets)) + len(targets)
    progress = tqdm(total=work, unit="window")
    chosen = choose(model, validation, factors, progress)
    plans = {"chosen": chosen, "equal": {factor: [n // factor] * layers for factor in factors[1:]}}
    if controls:
        by_age = choose(model, validation, factors, progress, by_age=True)
        plans |= {f"chosen{OLDEST}": {factor: by_age[factor] for factor in by_age if factor > 1},
                  f"equal{OLDEST}": plans["equal"]}
    points = []
    for way, by_factor in plans.items():
        for factor, budgets in by_factor.items():
            loss = losses(model, targets, budgets, by_age=way.endswith(OLDEST))
            books, stories = (math.exp(part.mean()) for part in loss.chunk(2))
            points.append({"way": way, "factor": factor, "perplexity": round(math.exp(loss.mean()), 3),
                           "perplexity_books": round(books, 3), "perplexity_stories": round(stories, 3),
                           "budgets": budgets, "kept_share": round(kept_share(budgets, n), 4),
                           "losses": [round(value, 4) for value in loss.tolist()]})
            progress.update(len(targets))
            progress.write(f"{way}, factor {factor}: perplexity {points[-1]['perplexity']:.2f}")
    progress.close()
    return points


def kept_share(budgets: Sequence[int], n: int) -> float:
    """Returns the number of keys read over a text of n tokens, as a fraction of the number without budgets."""
    read = sum(min(i, budget) for budget in budgets for i in range(1, n + 1))
    return read / (len(budgets) * n * (n + 1) / 2)


def held_out(corpus: StoriesCorpus, count: int) -> Tensor:
    """Returns (count, N) ids of test windows, half of books and half of stories; the same for all models with N."""
    return _drawn(corpus.held_out(corpus.trained_length), count)


def for_choosing(corpus: StoriesCorpus, count: int) -> Tensor:
    """Returns (count, N) ids of validation windows, otherwise as `held_out`."""
    return _drawn(torch.cat([batch.targets for batch in corpus.validation()]), count)


def largest_factor(curve: Mapping[float, float], limit: float) -> float:
    """Returns the largest factor with every perplexity up to it at most `limit`; 0 if full memory exceeds it."""
    within = itertools.takewhile(lambda point: point[1] <= limit, sorted(curve.items()))
    return max((factor for factor, _ in within), default=0.0)


def _drawn(windows: Tensor, count: int) -> Tensor:
    """Returns `count` of (B, N) windows: half from the first half, which has the books, and half from the second."""
    books, stories = windows.chunk(2)
    order = torch.randperm(len(books), generator=generator(SEED))[:count // 2]
    return torch.cat((books[order], stories[order]))


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    if not can_decode(lab.model):
        raise ValueError(f"{lab.name} has no cache of keys to forget from")
    corpus = task.corpus
    assert isinstance(corpus, StoriesCorpus)  # the command accepts only models of stories
    began = time.process_time()
    targets = held_out(corpus, arguments.windows or WINDOWS * CONTEXT // corpus.trained_length)
    validation = for_choosing(corpus, VALIDATION * CONTEXT // corpus.trained_length)
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


if __name__ == "__main__":
    study("memory", __doc__, names_of("stories"), own, _study, [
        Option("windows", None, f"that are reported, half of books; even; by default {WINDOWS}, of longer ones fewer",
               _even)])
