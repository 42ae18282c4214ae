"""Compares the minimal head sets of models/analysis/minimal_heads.py with simpler ways to choose the same number.

    python -m studies.corpus.minimal_heads stories-softmax [--texts T] [--tokens N]

The prediction is the next token after a held-out text; all texts have the same length. The minimal head set is the
smallest set that the search found with KL(unmodified ‖ pruned) within the bound. The KL divergence is also measured for
other sets with the same number of heads:

    confidence     the most confident heads on this text
    single-head    the heads that raise the KL most when pruned alone
    single-loss    the heads that raise the loss of the text's next token most when pruned alone
    random         the best of 20 random sets
    backward       backward elimination: repeatedly prunes the head that raises the KL least; slow

Writes studies/measurements/NAME.needs.json. `others_best` is the lowest KL of all methods except `backward`.
"""

import argparse
import os
import time
from statistics import fmean, median
from typing import Any

import torch
from scipy import stats
from torch import Tensor

from models.analysis import minimal_heads
from models.analysis.gated_predictions import Gating, Question
from models.analysis.head_measures import confidences, in_one_row
from models.catalogue import names_of
from models.generate.decoding import generator
from models.labs.stack import StackLab
from models.loading import own
from models.plan import HeadPlan
from models.prompt import Prompt
from models.tasks.base import Task
from models.tasks.stories import StoriesCorpus
from studies.command import Option, study

TEXTS, TOKENS, RANDOM = 50, 20, 20
SEED = 9  # random seed of the choice of texts and of the random sets
OTHERS = ("confidence", "single-head", "single-loss", "random")


def texts(lab: StackLab, corpus: StoriesCorpus, count: int, tokens: int) -> list[Prompt]:
    """Returns held-out prompts, half of books and half of stories."""
    prompts = []
    for part in corpus.held_out(256).chunk(2):
        chosen = torch.randperm(len(part), generator=generator(SEED))[:count // 2]
        for row in part[chosen, :tokens].tolist():
            ids = (0, *row[:-1])
            prompts.append(Prompt(ids, tuple(lab.task.labels[i] for i in ids), (tokens - 1,), tuple(row)))
    return prompts


def measure(lab: StackLab, prompt: Prompt, bound: float, index: int) -> dict[str, Any]:
    """Returns the minimal number of heads for a prompt, its KL, the KL of each other choice, and the time."""
    began, worked = time.perf_counter(), time.process_time()
    before = lab.run(prompt, [HeadPlan()])[0]
    gating = Gating.of(lab, prompt, Question.of(before, 0))
    curve = minimal_heads.learn(gating, len(prompt.ids))
    unpolished = curve.fewest(bound)
    minimal_heads.polish(curve, bound)
    seconds, cpu = time.perf_counter() - began, time.process_time() - worked
    heads = curve.fewest(bound)
    orders = {"confidence": torch.tensor(in_one_row(lab.kinds, confidences(lab, before))),
              "single-head": gating.prune_each(gating.divergence), "single-loss": gating.prune_each(gating.loss)}
    others = {name: dict(minimal_heads.by_order(gating, scores.argsort(descending=True)))[heads]
              for name, scores in orders.items()}
    random = generator(SEED, index)
    sets = torch.stack([torch.randperm(len(gating.heads), generator=random) < heads for _ in range(RANDOM)])
    others["random"] = float(gating.in_parts(gating.divergence, sets.float()).min())
    metrics = {"heads": heads, "kl": curve.best[heads][0], "seconds": seconds, "cpu_seconds": cpu, **others,
               "others_best": min(others.values()), "backward": backward(gating)[heads],
               "gates_alone_heads": unpolished}
    return {key: value if isinstance(value, int) else round(value, 5) for key, value in metrics.items()}


def backward(gating: Gating) -> dict[int, float]:
    """Returns number of heads -> KL in nats, for backward elimination down to no head."""
    stays = torch.ones(len(gating.heads), dtype=torch.bool)
    divergence_by_size: dict[int, float] = {}
    single = torch.eye(len(stays), dtype=torch.bool)
    while stays.any():
        sets: Tensor = stays & ~single[stays]
        divergences = gating.in_parts(gating.divergence, sets.float())
        stays = sets[int(divergences.argmin())]
        divergence_by_size[int(stays.sum())] = float(divergences.min())
    return divergence_by_size


def summary(results: list[dict[str, Any]]) -> dict[str, Any]:
    """Returns means, medians and a sign test over all prompts."""
    keys = ("kl", *OTHERS, "others_best", "backward")
    better = sum(result["kl"] < result["others_best"] for result in results)
    worse = sum(result["kl"] > result["others_best"] for result in results)
    return {
        "heads": round(fmean(result["heads"] for result in results), 2),
        "gates_alone_heads": round(fmean(result["gates_alone_heads"] for result in results), 2),
        "mean_kl": {key: round(fmean(result[key] for result in results), 4) for key in keys},
        "better_than_best_of_others": better, "no_worse_than_best_of_others": len(results) - worse,
        "sign_test": round(stats.binomtest(better, max(1, better + worse), alternative="greater").pvalue, 6),
        **{key: {"median": round(median(result[key] for result in results), 2),
                 "most": round(max(result[key] for result in results), 2)} for key in ("seconds", "cpu_seconds")}}


def _study(lab: StackLab, task: Task, arguments: argparse.Namespace) -> dict[str, Any]:
    assert isinstance(task.corpus, StoriesCorpus)  # the command accepts only models of stories
    prompts = texts(lab, task.corpus, arguments.texts, arguments.tokens)
    torch.set_num_threads(1)  # one thread, as in the app
    results = []
    for index, prompt in enumerate(prompts):
        results.append(measure(lab, prompt, arguments.bound, index))
        print(f"{index + 1} of {len(prompts)}: {results[-1]}", flush=True)
    print(summary(results))
    return {"texts": len(prompts), "tokens": arguments.tokens, "bound": arguments.bound,
            "threads": torch.get_num_threads(), "cores": os.cpu_count(), "summary": summary(results),
            "results": results}


if __name__ == "__main__":
    study("needs", __doc__, names_of("stories"), own, _study, [
        Option("texts", TEXTS, "half of books and half of stories"),
        Option("tokens", TOKENS, "of each, BOS included"),
        Option("bound", minimal_heads.BOUND, "nats of KL that the answer may have", float)])
