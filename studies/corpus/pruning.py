"""Loss, BLEU and speed of a model as its heads are pruned one after another.

    python -m studies.corpus.pruning stories-softmax [--minutes M] [--tokens N] [--sentences S]

Heads are pruned in the orders of models/analysis/pruning_orders.py: by learned gates, if studies/prune_heads.py
has learned some; by the loss when each alone is pruned and by confidence, both as `python -m
studies.corpus.heads` measured them; and in DRAWS random orders. At each number of remaining heads, the pruned
heads are removed from the model (models/nets/head_removal.py), nothing is trained, and the mean loss of test
texts is measured. For a translation model, BLEU is measured too, in the first of these orders. An encoder-decoder is
pruned twice: all its heads, and the heads of its encoder alone.

Each point has the standard error, due to the sampling of texts, of its loss difference from the unmodified model. The
cost of a forward pass is the number of multiplications, counted by torch, and the processor time, the least of REPEATS
runs.

Numbers of heads are measured from coarse to fine. Each point is stored in RUNS/NAME/pruning.json, so a stopped command
continues where it stopped. After M minutes the points so far are written to
studies/measurements/NAME.pruning.json, which *How many heads can go?* shows.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch

from models.analysis import pruning_orders
from models.analysis.head_measures import in_one_row
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM, Order
from models.catalogue import names, names_of
from models.kind import ENCODER
from models.lab import Lab
from models.labs.seq2seq import Seq2SeqLab
from models.labs.stack import StackLab
from models.loading import load
from models.nets.head_removal import OurModel, multiplications, without
from models.nets.seq2seq import Seq2Seq
from models.plan import Address, HeadPlan
from models.storage.checkpoint import read_json, write_json
from models.tasks.base import Batch, Task
from models.tasks.pairs import BEAM
from models.tasks.text_scores import bleu
from models.tasks.translation import TranslationMetric
from studies import held_out, store
from studies.command import Option, study
from studies.per_text import error

ALL = "all"  # name of the scope with all heads
DRAWS = 5
STEPS = 8  # number of equal steps from all heads to none, for random orders, BLEU of all heads, and costs
REPEATS = 40
MINUTES, SENTENCES = 60, 300
COST_TOKENS = {ALL: 128, "translation": 16}  # number of tokens of the text whose forward pass is timed


@dataclass(frozen=True)
class Scope:
    """A set of heads to prune, with the orders to prune them in."""

    name: str  # ALL, or the name of an attention block
    addresses: tuple[Address, ...]  # addresses of the heads
    orders: dict[str, Order]  # name -> order; random orders are called `random 0`, `random 1`, ...

    @property
    def main(self) -> str:
        """Returns the name of the pruning order that is measured at the most points."""
        return LEARNED if LEARNED in self.orders else ALONE

    def sizes(self, steps: int | None = None) -> list[int]:
        """Returns the numbers of remaining heads to measure, from coarse to fine."""
        count = len(self.addresses)
        if steps is not None:
            return sorted({round(i * count / steps) for i in range(steps + 1)})
        sizes: dict[int, None] = {}
        parts = 1
        while len(sizes) <= count:
            sizes |= dict.fromkeys(round(i * count / parts) for i in range(parts + 1))
            parts *= 2
        return list(sizes)


def scopes_of(lab: StackLab | Seq2SeqLab, heads: dict[str, Any], gates: dict[str, Any]) -> list[Scope]:
    """Returns the sets of heads to prune of a model."""
    names_of = [ALL, *([ENCODER] if len(lab.kinds) > 1 else [])]
    scopes = []
    for name in names_of:
        kinds = [kind for kind in lab.kinds if name in (ALL, kind.name)]
        addresses = tuple(address for kind in kinds for address in kind.addresses)
        values = {what: in_one_row(kinds, {kind.name: heads["kinds"][kind.name][what] for kind in kinds})
                  for what in ("loss", "confidence")}
        orders = {LEARNED: pruning_orders.learned(gates.get("series", []), addresses),
                  ALONE: pruning_orders.by_values(addresses, values["loss"]),
                  CONFIDENCE: pruning_orders.by_values(addresses, values["confidence"]),
                  **{f"{RANDOM} {draw}": pruning_orders.at_random(addresses, draw) for draw in range(DRAWS)}}
        scopes.append(Scope(name, addresses, {key: order for key, order in orders.items() if order}))
    return scopes


class Points:
    """Measured points, stored in a file with a stamp of weights and options; points with another stamp are ignored."""

    def __init__(self, path: Path, stamp: Any) -> None:
        self._path, self._stamp = path, stamp
        kept = read_json(path) if path.exists() else {}
        self.values: dict[str, Any] = kept["points"] if kept.get("stamp") == stamp else {}

    def get(self, key: str, make: Callable[[], Any]) -> Any:
        """Returns the point of a key; measures and stores it first if it is missing."""
        if key not in self.values:
            self.values[key] = make()
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_json(self._path, {"stamp": self._stamp, "points": self.values})
        return self.values[key]


class Measuring:
    """Measures the curves of one unmodified model, point by point; `sentences` are test sentences for BLEU."""

    def __init__(self, model: OurModel, task: Task, batches: Sequence[Batch], sentences: int, points: Points) -> None:
        self.model, self.task, self.batches, self.points = model, task, batches, points
        self.untouched, self.counts = held_out.losses(model, batches)
        self.sentences = sentences

    def loss(self, order: Order, left: int) -> list[float]:
        """Returns the loss in nats, and the standard error of its difference from the unmodified model."""
        losses, counts = held_out.losses(without(self.model, pruning_orders.closed(order, left)), self.batches)
        more = (losses - self.untouched).numpy()
        return [round(held_out.mean(losses, counts), 4), round(error(more, counts.numpy()), 5)]

    def bleu(self, order: Order, left: int) -> list[Any]:
        """Returns BLEU with the card's beam on the first test sentences, and sacrebleu's signature."""
        texts, references = self.task.corpus.test(self.sentences)
        smaller = without(self.model, pruning_orders.closed(order, left))
        score, signature = bleu(self.task.metric.translate(smaller, texts, BEAM), references)
        return [round(score, 2), signature]

    def work(self, scopes: Sequence[Scope]) -> Iterator[str]:
        """Measures one point after another, the coarsest first. Yields a line of text for each."""
        for scope in scopes:
            few = {*scope.sizes(STEPS)}
            for left in (size for size in scope.sizes() if size in few):
                for name, order in scope.orders.items():
                    yield self._one(scope, name, left, "loss", self.loss, order)
        if isinstance(self.task.metric, TranslationMetric):
            for scope in scopes:
                for left in scope.sizes(STEPS) if scope.name == ALL else scope.sizes():
                    yield self._one(scope, scope.main, left, "bleu", self.bleu, scope.orders[scope.main])
        for scope in scopes:
            for left in scope.sizes():
                for name in scope.orders:
                    if not name.startswith(RANDOM):
                        yield self._one(scope, name, left, "loss", self.loss, scope.orders[name])

    def _one(self, scope: Scope, name: str, left: int, what: str, measure: Callable[[Order, int], list[Any]],
             order: Order) -> str:
        value = self.points.get(key_of(what, order, left), lambda: measure(order, left))[0]
        return f"{scope.name}, {name}, {left} heads: {what} {value}"


def key_of(what: str, order: Order, left: int) -> str:
    """Returns the key of a point. It depends on the set of pruned heads, not on the order in which they were pruned."""
    return f"{what} {pruning_orders.pruned(HeadPlan(), order, left)}"


def curves(scope: Scope, points: dict[str, Any]) -> dict[str, Any]:
    """Returns the measured points of a scope, and its orders, because later measurements may change the orders."""
    def of(name: str, what: str) -> list[tuple[int, list[Any]]]:
        keys = {left: key_of(what, scope.orders[name], left) for left in sorted(scope.sizes())}
        return [(left, points[key]) for left, key in keys.items() if key in points]

    result: dict[str, Any] = {name: [[left, *values] for left, values in of(name, "loss")] for name in scope.orders
                              if not name.startswith(RANDOM)}
    by_left: dict[int, list[float]] = {}
    for draw in range(DRAWS):
        for left, (loss, _) in of(f"{RANDOM} {draw}", "loss"):
            by_left.setdefault(left, []).append(loss)
    result[RANDOM] = [[left, round(fmean(losses), 4), round(stdev(losses), 4)]
                      for left, losses in sorted(by_left.items()) if len(losses) == DRAWS]
    scores = of(scope.main, "bleu")
    measurement: dict[str, Any] = {"curves": result, "main": scope.main, "orders": {
        name: pruning_orders.written(order) for name, order in scope.orders.items() if name in result}}
    if scores:
        measurement["bleu"] = {"points": [[left, score] for left, (score, _) in scores], "beam": BEAM,
                               "signature": scores[0][1][1]}
    return measurement


@torch.inference_mode()
def costs(model: OurModel, scope: Scope, tokens: int) -> list[dict[str, Any]]:
    """Returns the cost of a forward pass at some numbers of remaining heads, in the main order."""
    text = torch.randint(3, model.config.vocabulary, (1, tokens), generator=torch.Generator().manual_seed(0))
    given = (text, text) if isinstance(model, Seq2Seq) else (text,)
    sizes = scope.sizes(STEPS)
    smaller = {left: without(model, pruning_orders.closed(scope.orders[scope.main], left)) for left in sizes}
    counts = {left: multiplications(pruned, *given) for left, pruned in smaller.items()}
    seconds = {left: float("inf") for left in sizes}
    for _ in range(REPEATS):
        for left, pruned in smaller.items():
            began = time.process_time()
            pruned.logits(pruned(*given))
            seconds[left] = min(seconds[left], time.process_time() - began)
    return [{"left": left, "multiplications": counts[left], "of_heads": counts[left] - counts[0],
             "seconds": round(seconds[left], 6)} for left in sizes]


def measured(lab: StackLab | Seq2SeqLab, task: Task, scopes: Sequence[Scope], points: Points, until: float, tokens: int,
             sentences: int) -> dict[str, Any]:
    """Returns the content of the measurement, with the points measured until a deadline."""
    batches = held_out.test_texts(task.corpus, tokens)
    measuring = Measuring(lab.model, task, batches, sentences, points)
    complete = True
    for progress in measuring.work(scopes):
        print(progress, flush=True)
        if time.monotonic() > until:
            complete = False
            break
    length = COST_TOKENS.get(task.name, COST_TOKENS[ALL])
    length = min(length, lab.longest or length, task.corpus.trained_length)
    return {"texts": len(measuring.counts), "predictions": int(measuring.counts.sum()), "draws": DRAWS,
            "sentences": sentences if isinstance(task.metric, TranslationMetric) else 0, "complete": complete,
            "cost_tokens": length,
            "scopes": {scope.name: curves(scope, points.values) | {"costs": costs(lab.model, scope, length)}
                       for scope in scopes}}


def _study(lab: Lab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    torch.set_num_threads(1)  # one thread, as in the app
    assert isinstance(lab, (StackLab, Seq2SeqLab))  # the command accepts only our own models
    heads = store.read(lab.name, "heads")
    if heads is None:
        raise ValueError(f"measure its heads first: python -m studies.corpus.heads {lab.name}")
    scopes = scopes_of(lab, heads, store.read(lab.name, "gates") or {})
    points = Points(arguments.runs / lab.name / "pruning.json",
                    [store.sha(lab.card), arguments.tokens, arguments.sentences])
    return measured(lab, task, scopes, points, time.monotonic() + 60 * arguments.minutes, arguments.tokens,
                    arguments.sentences)


if __name__ == "__main__":
    study("pruning", __doc__, [name for name in names() if name not in names_of("assignment")], load, _study, [
        Option("minutes", MINUTES, "of each model", float, repeats=False),
        Option("tokens", held_out.TOKENS, "of test texts, about"),
        Option("sentences", SENTENCES, "that BLEU is measured on")])
