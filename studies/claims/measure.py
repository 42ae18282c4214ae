"""Measures the numbers that claims need and that are not in the cards: `python -m studies.claims all`.

It writes studies/measurements/claims.json: models without attention, fixed random attention with smaller scores,
gated units under other scale policies, the effect of a factor on relu², and the speed of a pass and of a training.
"""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy
import torch
from numpy import ndarray
from torch import Tensor
from torch.nn import functional

from models.catalogue import names
from models.generate.decoding import generator
from models.loading import own
from models.nets.attention.base import NO_INTERVENTION, Intervention, Record, Rotary, split
from models.nets.attention.dot_product import DotProduct, Softmax, rotary_table, rotate
from models.nets.transformer import Transformer
from models.plan import HeadPlan
from models.storage.checkpoint import build
from models.tasks.base import Batch
from models.tasks.dialogue import read_pairs
from models.tasks.masked import LENGTH, MaskedMetric
from models.tasks.stories import CONTEXT, VOCABULARY, StoriesCorpus
from models.training.recipes import FAMILIES, RECIPES, SHORT, short_recipe, task_of
from models.training.trainer import faster_precision, objective_of, optimisers_of, precision_for, rate, train, update
from studies import seeds, store
from studies.claims.sources.normalisation import SIDES
from studies.claims.sources.synthesizer import AGAINST, TEXTS, TIMED, TOKENS
from studies.claims.sources.synthesizer.generated import PLAIN

COMPARED = tuple(name for name, recipe in RECIPES.items()
                 if FAMILIES[name] == "translation" and recipe.steps == SHORT["translation"] and name != PLAIN)
UNTIMED = 2  # number of untimed first steps, which compile kernels and allocate memory
FACTORS = (0.25, 0.6, 1.0, 1.7, 4.0)  # factors on the scores; powers of two alone would cause no rounding
DISCOUNT = 0.75  # amount subtracted from each count of a pair (absolute discounting; Ney, Essen and Kneser 1994)
BLOCKS, PAIRS = 30, 4  # number of interleaved blocks of each timing, and number of runs of each model per block
WARM_UP = 5  # number of untimed repetitions
LEVEL = 0.02  # standard deviation of scores for nearly uniform rows; the initial value of learned tables


def no_attention(data: Path, runs: Path) -> dict[str, Any]:
    """Returns two perplexities of stories-softmax without attention, on the windows of the card's metric."""
    if "stories-softmax" not in names():
        return {}
    lab, task = own("stories-softmax"), task_of("stories-softmax", data, runs)
    layers, heads = lab.shape["self"]
    plan = HeadPlan().with_heads([("self", i, j) for i in range(layers) for j in range(heads)], gate=0.0)
    closed = _Gated(lab.model, lab.interventions(plan, CONTEXT))
    return {"stories-softmax": {"weights": store.sha(lab.card), "metric": lab.card["metric"], "values": {
        "gates_0": task.metric.evaluate(cast(Transformer, closed))["perplexity"],
        "trained_without": pairs_perplexity(task.corpus)}}}


class _Gated:
    """A model under interventions, with the interface that StoriesMetric uses."""

    def __init__(self, model: Transformer, interventions: Sequence[Intervention] | None) -> None:
        self._model, self._interventions, self.logits = model, interventions, model.logits

    def __call__(self, tokens: Tensor) -> Tensor:
        return self._model(tokens, self._interventions)


def pairs_perplexity(texts: StoriesCorpus) -> float:
    """Returns the perplexity of the held-out windows if each token is predicted from the previous token only."""
    corpora = ("books", "stories")
    training = [texts.stream(corpus, "train").numpy().astype(numpy.int64) for corpus in corpora]
    pairs = numpy.zeros((VOCABULARY, VOCABULARY), numpy.int32)
    for stream in training:
        numpy.add.at(pairs, (stream[:-1], stream[1:]), 1)
    single = numpy.bincount(numpy.concatenate(training), minlength=VOCABULARY) + 1.0
    single /= single.sum()
    loss, count = 0.0, 0
    for corpus in corpora:
        stream = texts.stream(corpus, "test").numpy().astype(numpy.int64)
        after = stream[:len(stream) // CONTEXT * CONTEXT].reshape(-1, CONTEXT)
        before = numpy.pad(after, ((0, 0), (1, 0)))[:, :-1]  # the token before the first one of a window is BOS
        loss -= numpy.log(pair_probability(pairs, single, before, after)).sum()
        count += after.size
    return round(math.exp(loss / count), 2)


def pair_probability(pairs: ndarray, single: ndarray, before: ndarray, after: ndarray) -> ndarray:
    """Returns p(after | before) as defined in pairs_perplexity, elementwise, in the shape of `before` and `after`."""
    total, kinds = pairs.sum(1), (pairs > 0).sum(1)
    seen = numpy.maximum(total[before], 1)
    left = numpy.where(total[before] > 0, DISCOUNT * kinds[before] / seen, 1.0)
    return numpy.maximum(pairs[before, after] - DISCOUNT, 0) / seen + left * single[after]


def readings(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the accuracy by length of released models under the scale policies of seeds.READINGS."""
    result = {}
    for name in dict.fromkeys(name for name, policy in SIDES.values() if policy):
        if name in names():
            lab = own(name)
            metric = task_of(name, data, runs).metric
            assert isinstance(metric, MaskedMetric)
            values = seeds.readings(lab.model, metric)
            result[name] = {"weights": store.sha(lab.card), "metric": lab.card["metric"], "values": values}
    return result


def fixed_scale(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the perplexity by seed of fixed random attention whose scores have standard deviation LEVEL."""
    name = "stories-fixed-random"
    recipe, task = short_recipe(name), task_of(name, data, runs)
    level, device = replace(recipe, config=replace(recipe.config, table_std=LEVEL)), torch.device("cpu")
    metrics = {}
    for seed in (0, 1, 2):
        folder = runs / name / f"level-{seed}"
        metrics[str(seed)] = task.metric.evaluate(
            train(level, task.corpus, folder, seed, device, precision_for(folder, device)))
    card = own(name).card
    return {name: {"weights": store.sha(card), "metric": card["metric"], "values": {
        "table_std": LEVEL, "steps": recipe.steps, "perplexity": {s: m["perplexity"] for s, m in metrics.items()}}}}


@torch.inference_mode()
def relu2_scale(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the effect of factors on the rows of masked-gau-relu2 and on softmax of the same scores."""
    name = "masked-gau-relu2"
    records: list[Record] = []
    texts = task_of("masked-softmax", data, runs).corpus.held_out(LENGTH)
    own(name).model(texts[::len(texts) // 16], records=records)  # about 16 texts, evenly spread
    # Recorded scores are divided by sqrt(n), as relu² needs. Softmax of such small scores would be nearly uniform.
    return {"scores": name} | under_factors(torch.cat([record.scores for record in records]) * LENGTH**0.5)


def under_factors(scores: Tensor) -> dict[str, Any]:
    """Returns mean row entropies (nats) of relu² and softmax attention by factor on the scores."""
    scores = scores[(scores > 0).any(-1)]  # scores as (rows, N), without the rows in which relu² is 0 everywhere
    result: dict[str, Any] = {"factors": list(FACTORS)}
    for kind, weigh in (("relu2", lambda s: functional.normalize(s.relu().square(), p=1, dim=-1)),
                        ("softmax", lambda s: s.softmax(-1))):
        rows = [weigh(factor * scores) for factor in FACTORS]
        plain = rows[FACTORS.index(1.0)]
        result[f"{kind}_entropy"] = [round(float(-torch.special.xlogy(row, row).sum(-1).mean()), 5) for row in rows]
        result[f"{kind}_change"] = max(float((row - plain).abs().max()) for row in rows)
    return result


@torch.inference_mode()
def speed(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the ratio of forward time, random attention over softmax, in BLOCKS interleaved blocks."""
    random = Transformer(RECIPES["stories-random"].config).eval()
    others = dict(zip(AGAINST, (Transformer(RECIPES["stories-softmax"].config).eval(), fused()), strict=True))
    rows = []
    for tokens in TOKENS:
        for texts in TEXTS:
            ids = torch.randint(1, VOCABULARY, (texts, tokens), generator=generator(5))
            x = torch.randn(texts, tokens, random.config.width, generator=generator(6))
            rotary = rotary_table(tokens, random.config.head_width)
            layer, model = TIMED
            for what, work in ((layer, lambda m, x=x, r=rotary: m.blocks[0].attention(x, r, NO_INTERVENTION)),
                               (model, lambda m, ids=ids: m.logits(m(ids)))):
                for against, other in others.items():
                    randoms, softmaxes = partial(_seconds, work, random), partial(_seconds, work, other)
                    block_ratio(randoms, softmaxes, WARM_UP)
                    ratios = [block_ratio(randoms, softmaxes) for _ in range(BLOCKS)]
                    rows.append({"what": what, "against": against, "texts": texts, "tokens": tokens} | summary(ratios))
    return {"rows": rows, "blocks": BLOCKS, "pairs": PAIRS}


def block_ratio(numerator: Callable[[], float], denominator: Callable[[], float], pairs: int = PAIRS) -> float:
    """Returns the total seconds of `numerator` divided by the total seconds of `denominator`, over alternating runs."""
    seconds = [(numerator(), denominator()) for _ in range(pairs)]
    return sum(first for first, _ in seconds) / sum(second for _, second in seconds)


def fused() -> Transformer:
    """Returns a Transformer of stories-softmax's shape with torch's fused attention kernel, which stores no pattern."""
    model = Transformer(RECIPES["stories-softmax"].config).eval()
    for block in model.blocks:
        own_attention, block.attention = block.attention, _Fused(model.config)
        block.attention.load_state_dict(own_attention.state_dict())
    return model


class _Fused(Softmax):
    """Softmax attention in one kernel, without plans and records."""

    def forward(self, x: Tensor, rotary: Rotary, *rest: Any) -> Tensor:
        source = cast(DotProduct, self.source)
        query, key = (rotate(split(project(x), self.heads), cast(tuple[Tensor, Tensor], rotary))
                      for project in (source.query, source.key))
        outputs = functional.scaled_dot_product_attention(query, key, self.values(x), is_causal=True)
        return self.output(outputs.transpose(1, 2).flatten(2))


def _seconds(work: Callable[[Transformer], Tensor], model: Transformer) -> float:
    began = time.perf_counter()
    work(model)
    return time.perf_counter() - began


class TimedTraining:
    """A training whose single steps can be timed, from the initialisation of the named model's recipe.

    `precision` is a result of models.training.trainer.faster_precision.
    """

    def __init__(self, name: str, precision: str) -> None:
        self._recipe, self._precision = RECIPES[name], precision
        torch.manual_seed(0)
        self._model = build(self._recipe.config, self._recipe.initial_std, self._recipe.embedding_std)
        self._optimisers = optimisers_of(self._model, self._recipe, precision)
        self._objective = objective_of(self._recipe)

    def seconds(self, batch: Batch) -> float:
        """Returns the seconds of one training step."""
        began = time.perf_counter()
        update(self._model, batch, self._recipe, self._optimisers, self._objective, rate(0, self._recipe),
               self._precision)
        return time.perf_counter() - began


def summary(ratios: Sequence[float]) -> dict[str, Any]:
    """Returns the median and quartiles of the ratios, and all ratios. The verdicts use the ratios of the blocks."""
    first, median, third = statistics.quantiles(ratios, n=4)
    return {"median": round(median, 3), "quartiles": [round(first, 3), round(third, 3)],
            "blocks": [round(ratio, 4) for ratio in ratios]}


def training_speed(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the ratio of steps per second to softmax's steps per second, over BLOCKS blocks of one step per model."""
    recipe, corpus = RECIPES[PLAIN], task_of(PLAIN, data, runs).corpus
    batches = [corpus.batch(step, recipe.steps, 0) for step in range(4 * (BLOCKS + UNTIMED))]
    shapes = [batch.tokens.shape for batch in batches]
    shape = max(shapes, key=shapes.count)
    batches = [batch for batch in batches if batch.tokens.shape == shape][:BLOCKS + UNTIMED]
    precision = faster_precision(torch.device("cpu"))
    rows = []
    for name in COMPARED:
        # the compiler's cache is cleared: it keeps few versions of a function and runs further ones uncompiled
        torch.compiler.reset()
        plain, compared = TimedTraining(PLAIN, precision), TimedTraining(name, precision)
        ratios = [plain.seconds(batch) / compared.seconds(batch) for batch in batches][UNTIMED:]
        rows.append({"name": name} | summary(ratios))
    return {"against": PLAIN, "blocks": len(batches) - UNTIMED, "shape": list(shape), "precision": precision,
            "rows": rows}


def known_replies(data: Path, runs: Path) -> dict[str, Any]:
    """Returns the numbers of the test texts of dialogues whose reply is also a training reply."""
    trained = {reply for _, reply in read_pairs(data, "train")}
    texts, replies = task_of("dialogue-softmax", data, runs).corpus.test()
    known = [number for number, each in enumerate(replies) if trained & {*each}]
    return {"texts": len(texts), "replies": known}


PARTS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    "no_attention": no_attention, "fixed_scale": fixed_scale, "readings": readings, "relu2_scale": relu2_scale,
    "speed": speed, "training_speed": training_speed, "known_replies": known_replies}
