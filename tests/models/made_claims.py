"""Synthetic evidence for the claims: a folder of cards, seeds and measurements with the values of the sources."""

from __future__ import annotations

import copy
import json
import math
from itertools import product
from pathlib import Path
from typing import Any

from models.storage.checkpoint import CHECKPOINTS, read_json
from models.tasks.assignment import ALL, ELSEWHERE, LATE
from studies import seeds, store
from studies.claims import measure
from studies.claims.evidence import Evidence
from studies.claims.judge import judge
from studies.claims.sources import disagreement, gated, heads, normalisation, synthesizer
from studies.papa import results
from studies.papa.corpora import CORPORA
from studies.per_text import ASKED, RIGHT
from studies.transfer import transfer_study
from studies.zero_shot import choices

PAPA_LAYERS, PAPA_HEADS = 2, 8
COUNTS = results.head_counts(PAPA_LAYERS * PAPA_HEADS)
CONSTANT_ANSWER = 0.01


def times(metric: Any, factor: float) -> Any:
    """Returns a metric with all its numbers multiplied by `factor`."""
    if isinstance(metric, dict):
        return {key: times(value, factor) for key, value in metric.items()}
    return [times(value, factor) for value in metric] if isinstance(metric, list) else factor * metric


def point(way: str, factor: int, perplexity: float) -> dict[str, Any]:
    """Returns the result with one memory size; the difficulty of a window is the same for every size."""
    return {"way": way, "factor": factor, "perplexity": perplexity, "budgets": [256 // factor] * 4,
            "losses": [math.log(perplexity) + 0.01 * (i % 5 - 2) for i in range(20)]}


def with_texts(metric: dict[str, Any]) -> dict[str, Any]:
    """Adds per-text results to a metric; all texts have the same result."""
    result = dict(metric)
    if "perplexity" in metric:
        result["text_losses"] = [math.log(metric["perplexity"])] * 20
    if "accuracy_by_length" in metric:
        result["texts"] = {n: answered(share) for n, share in metric["accuracy_by_length"].items()}
    for what, key, of in ((ALL, "accuracy_by_events", float), (LATE, "accuracy_by_quarter", lambda its: its[-1]),
                          (ELSEWHERE, "elsewhere_by_events", float)):
        for n, its in metric.get(key, {}).items():
            result.setdefault("texts", {}).setdefault(n, {})[what] = answered(of(its))
    if "readings" in metric:
        result["readings"] = {policy: {n: its | {"texts": answered(its["accuracy"])} for n, its in by_length.items()}
                              for policy, by_length in metric["readings"].items()}
    return result


def replies(made: Made, name: str, gains: list[float], each: int = 4) -> None:
    """Writes card and ROUGE-L of a dialogue model."""
    mean = 30.0 + sum(gains) / len(gains)
    metric = {"bleu1": 31.0, "bleu4": 13.0, "rougeL": mean}
    made.card(f"dialogue-{name}", metric)
    made.measured(f"dialogue-{name}.rouge.json", {
        "metric": metric, "rougeL": mean, "conversations": [each] * (len(gains) // each),
        "texts": [30 + gain + 10 * (i % 3 - 1) for i, gain in enumerate(gains)]})


def timed(ranges: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Returns rows of speeds of the random type relative to the others, evenly spaced between two values."""
    keys = ("what", "texts", "tokens")
    return [dict(zip(keys, its, strict=True)) | {"against": against, "median": 1.0, "quartiles": measured,
                                                 "blocks": blocks(*measured)}
            for its in product(synthesizer.TIMED, synthesizer.TEXTS, synthesizer.TOKENS)
            for against, measured in ranges.items()]


def blocks(low: float, high: float) -> list[float]:
    return [low + (high - low) * i / 29 for i in range(30)]


def answered(share: float) -> dict[str, list[float]]:
    """Returns per-text results of eight texts, in each of which this fraction of 100 answers is right."""
    return {RIGHT: [100 * share] * 8, ASKED: [100] * 8}


class Made:
    """A folder of synthetic evidence."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def card(self, name: str, metric: dict, steps: int = 1200, **more: object) -> dict:
        """Writes a card with two more seeds, whose metrics differ from it by 0.05% and which have per-text results."""
        card = {"training": {"steps": steps, "seed": 0}, "metric": metric, "other_seeds": {
            "1": with_texts(times(metric, 1.0005)), "2": with_texts(times(metric, 0.9995))}} | more
        self._write(f"checkpoints/{name}/card.json", card)
        if "bleu" in metric:
            self.sentences(name, [metric["bleu"]] * 20)
        return card

    def sentences(self, name: str, values: list[float]) -> None:
        """Writes the result of each sentence, as studies/generated/sentences.py does, of a model with a card."""
        card = json.loads((self.folder / f"checkpoints/{name}/card.json").read_text())
        self.measured(f"{name}.sentences.json", {"metric": card["metric"], "bleu": card["metric"]["bleu"],
                                                 "sentence_bleu": values})

    def seeds(self, name: str, metrics: list[dict], steps: int = 1200) -> None:
        for seed, metric in enumerate(metrics):
            seeds.add(name, steps, seed, metric, self.folder / "seeds")

    def full_seeds(self, name: str, metrics: list[dict], steps: int = 1200) -> None:
        """Writes the metrics of full trainings with seeds 1, 2, ...; seed 0 is the card's."""
        for seed, metric in enumerate(metrics, 1):
            seeds.add(name, steps, seed, metric, self.folder / "seeds" / seeds.FULL)

    def measured(self, file: str, content: dict) -> None:
        """Writes a measurement, of the current version unless the content has another one."""
        version = {} if file == "claims.json" else {"version": store.version(file.split(".")[-2])}
        self._write(f"measurements/{file}", version | content)

    def memory(self, name: str, whole: float, less: dict[int, float]) -> None:
        """Writes the memory curve (format of studies/corpus/forgetting.py) of a model that has a card."""
        card = json.loads((self.folder / f"checkpoints/stories-{name}/card.json").read_text())
        self.measured(f"stories-{name}.memory.json", {"name": f"stories-{name}", "metric": card["metric"], "points": [
            point("chosen", factor, value) for factor, value in ({1: whole} | less).items()],
            "comparisons": [point("chosen-oldest", factor, 99.0) for factor in less], "windows": 20, "window": 256,
            "validation_windows": 8, "command": "measure it again"})

    def _write(self, path: str, content: object) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(json.dumps(content))

    @property
    def evidence(self) -> Evidence:
        return Evidence(*(self.folder / name for name in ("checkpoints", "seeds", "measurements")))

    def verdicts(self) -> dict[str, str]:
        return {s.key: s.verdict.word for claim in judge(self.evidence) for s in claim.statements}


def as_the_sources_have_it(made: Made) -> None:
    """Writes cards, seeds and measurements for which every claim holds."""
    for name, perplexity in synthesizer.LM1B.items():
        # in the source, a mixture is worse than softmax in language modelling; here it must not be, so that the claim
        # holds
        value = {"random-softmax": 35.0}.get(name, perplexity)
        made.card(f"stories-{name}", {"perplexity": value})
    for context in ("", "-512"):
        made.card(f"stories-selective{context}", {"perplexity": 36.0})
        made.card(f"stories-selective-memory{context}", {"perplexity": 38.2})
    made.card("stories-softmax-wide", {"perplexity": 36.0})
    made.card("stories-softmax-512", {"perplexity": 38.21})
    for name, shares in {"selective": (1.0, 0.998, 0.995), "softmax": (0.999, 0.9, 0.7), "log-n": (0.99, 0.8, 0.6),
                         "random": (0.3,)}.items():
        by_events = dict(zip(("24", "48", "96"), shares, strict=False))
        made.card(f"assignment-{name}", {
            "accuracy_by_events": by_events, "accuracy_by_quarter": {n: [1.0, value] for n, value in by_events.items()},
            "elsewhere_by_events": by_events,
            "blind": {"accuracy_by_events": {"24": 0.39}, "elsewhere_by_events": {"24": 0.1}}}, steps=3000)
    made.memory("selective", 36.0, {4: 38.0, 16: 50.0})
    made.memory("selective-memory", 38.2, {4: 38.2})
    made.memory("softmax", 38.21, {4: 45.0})
    made.memory("selective-512", 36.0, {4: 38.0, 8: 38.1, 16: 50.0})
    made.memory("selective-memory-512", 38.2, {4: 38.2, 16: 38.2})
    made.memory("softmax-512", 38.21, {4: 45.0})
    lengths = normalisation.LENGTHS

    def by_length(*shares: float) -> dict:
        return {"accuracy_by_length": {str(n): share for n, share in zip(lengths, shares, strict=True)}}

    cards = {name: made.card(f"masked-{name}", by_length(*shares)) for name, shares in {
        "gau-relu2": (.35, .40, .37, .30, .20), "gau-relu2-mixed": (.37, .40, .40, .35, .25),
        "gau-softmax": (.395, .40, .41, .38, .30), "log-n": (.38, .43, .41, .34, .20),
        "temperature": (.38, .43, .37, .25, .15), "softmax": (.38, .43, .37, .23, .15),
        "gau-softmax-128": (.38, .39, .41, .39, .33)}.items()}

    def read(policy: str, *shares: float) -> dict:
        return {policy: {str(n): {"accuracy": share} for n, share in zip(lengths, shares, strict=True)}}

    readings = {"gau-relu2": read("length", .30, .40, .30, .20, .10),
                "gau-softmax": read("logn", .395, .40, .415, .40, .36)}
    # the released model's metric is in claims.json, those of the other models are in their cards
    for name, its in readings.items():
        cards[name] = made.card(f"masked-{name}", cards[name]["metric"], other_seeds={
            str(seed): with_texts(times(cards[name]["metric"] | {"readings": its}, factor))
            for seed, factor in ((1, 1.0005), (2, 0.9995))})
    made.measured("claims.json", {
        "readings": {f"masked-{name}": {"metric": cards[name]["metric"], "values": its}
                     for name, its in readings.items()},
        "no_attention": {"stories-softmax": {"metric": {"perplexity": 38.21},
                                             "values": {"gates_0": 900.0, "trained_without": 200.0}}},
        "fixed_scale": {"stories-fixed-random": {
            "metric": {"perplexity": synthesizer.LM1B["fixed-random"]}, "values": {
                "table_std": 0.02, "steps": 1200, "perplexity": {"0": 38.21 * 1.1, "1": 38.21 * 1.0005 * 1.1}}}},
        "known_replies": {"texts": 60, "replies": [0, 1]},
        "relu2_scale": {"scores": "random", "factors": [0.5, 1.0], "relu2_entropy": [2.0, 2.0], "relu2_change": 1e-8,
                        "softmax_entropy": [3.0, 2.0], "softmax_change": 0.5},
        "speed": {"rows": timed({"softmax": [0.7, 0.9], "fused softmax": [0.7, 0.9]}), "repetitions": 60},
        "training_speed": {"rows": [
            {"name": name, "median": 0.9, "quartiles": [0.85, 0.95], "blocks": blocks(0.85, 0.95)}
            for name in measure.COMPARED]}})
    for name in ("dense", "random", "factorized-random", "random-softmax"):
        made.card(f"translation-{name}", {"bleu": synthesizer.BLEU[name]})
    made.card(measure.PLAIN, {"bleu": synthesizer.BLEU["softmax"]})
    for name, gain in (("softmax", 0), ("random", -3), ("dense", -3), ("dense-softmax", 1), ("random-softmax", 2)):
        made.card(f"summary-{name}", {"rougeL": 40.0 + gain})
        made.measured(f"summary-{name}.rouge.json", {
            "metric": {"rougeL": 40.0 + gain}, "rougeL": 40.0 + gain,
            "texts": [40 + gain + 10 * (i % 3 - 1) + 0.1 * gain * (i % 5 - 2) for i in range(60)]})
    for name, gain in (("softmax", 0), ("random", 2), ("dense", 2), ("dense-softmax", 1), ("random-softmax", 1)):
        replies(made, name, [gain + 0.1 * gain * (i % 5 - 2) for i in range(60)])

    for name, right in (("selective", "1110"), ("softmax", "1010")):
        metric = json.loads((made.folder / f"checkpoints/stories-{name}/card.json").read_text())["metric"]
        made.measured(f"stories-{name}.blimp.json", {
            "metric": metric, "pairs": 268, "accuracy": right.count("1") / 4, "accuracy_error": 0.01,
            "rights": {f"paradigm {i}": right for i in range(67)}})
        made.measured(f"stories-{name}.choices.json", {"metric": metric, "sets": {
            data: {"items": 400, "accuracy": right.count("1") / 4, "accuracy_error": 0.02, "rights": 100 * right}
            for data in choices.SETS}})
    layers = [{"names": [0.9 + 0.01 * i for i in range(20)], "others": [0.3] * 20, "words": [0.2] * 20},
              {"names": [0.1] * 20, "others": [0.5] * 20, "words": [2.0] * 20}]
    made.measured("stories-selective.pieces.json", {"metric": {"perplexity": 36.0}, "layers": layers})

    for i, drop in enumerate((0.01, 0.015, 0.02, 0.025, 0.03)):
        made.measured(f"model-{i}.papa.json", needing_heads(papa_study(drop, 0.02, f"model-{i}", 0.5 + drop)))

    transferred = {"middle": 0.6, "random": 0.5, "dense": 0.5, "dense-softmax": 0.61, "random-softmax": 0.6}
    for i, (name, moment) in enumerate(transfer_study.MODELS.items()):
        by_seed = {str(seed): transferred[name] + 0.001 * (seed + i) % 0.003 for seed in transfer_study.SEEDS}
        made.measured(f"{moment}.transfer.json", {
            "elsewhere": True, "moment": {"validation_loss": 5.0},
            "version": store.version("transfer"),
            "tasks": {key: dict.fromkeys(transfer_study.WAYS, by_seed) | {"pruned": {"0": 0.1}, "constant_answer": 0.2}
                      for key in CORPORA}})

    def entropies(*values: float) -> dict:
        return {str(n): {"predictions": 1, "loss": 1.0, "accuracy": 0.5, "entropy": [[value, value + 0.1]] * 2}
                for n, value in zip(lengths, values, strict=True)}

    made.measured("masked-softmax.length.json", {"metric": cards["softmax"]["metric"], "readings": {
        "trained": entropies(2.0, 2.5, 3.0, 3.6, 4.3), "logn": entropies(2.2, 2.5, 2.7, 2.9, 3.1)}})


def heads_as_the_source_has_them(made: Made) -> None:
    """Heads with roles are important, few gates stay open, and a disagreement term makes heads differ more."""
    made.card(heads.PRUNED, {"bleu": 39.8})
    bleu = {"translation-softmax": 40.0, **disagreement.BLEU}
    for name, score in bleu.items():
        metric = made.card(name, {"bleu": score})["metric"]
        term = name.rpartition("-")[2]
        mean = {its: 0.9 + 0.05 * (its == term) for its in ("sub", "pos", "out")}
        error = dict.fromkeys(mean, 0.001)
        made.measured(f"{name}.disagreement.json", {"metric": metric, "mean": mean, "error": error})
    rows = [[float(8 * layer + head) for head in range(8)] for layer in range(4)]
    for name in heads.MODELS:
        metric = json.loads((made.folder / f"checkpoints/{name}/card.json").read_text())["metric"]
        made.measured(f"{name}.heads.json", {
            "metric": metric, "kinds": {"self": {"confidence": rows, "loss": rows,
                                                 "relevance": [[value / 9 for value in row] for row in rows]}},
            "roles": [{"kind": "self", "layer": 3, "head": head, "role": "rare"} for head in range(8)]})
    series = [{"kinds": kinds, "seed": seed, "strength": 0.02, "steps": 1000, "bleu": 39.8 + 0.05 * seed,
               "heads_left": dict(zip(kinds, (8 + seed, 13, 15), strict=False)),
               "probabilities": {kind: [[0.5] * 8] * 3 for kind in kinds}}
              for kinds in (["encoder"], ["encoder", "decoder", "cross"]) for seed in range(3)]
    controls = [{"kinds": ["encoder"], "seed": seed, "strength": 0.0, "steps": 1000, "bleu": 40.0,
                 "heads_left": {"encoder": 24}, "sentence_bleu": [40.0] * 20} for seed in range(3)]
    made.measured("translation-softmax.gates.json",
                  {"metric": {"bleu": 40.0}, "series": series, "controls": controls})


def gates_as_the_source_has_them(made: Made, **more: Any) -> None:
    """Only softmax has a sink; gates are mostly closed and depend on the token; long texts have lower losses."""
    for name, share, perplexity in ((gated.PLAIN, 0.467, 38.21), (gated.GATED, 0.048, 37.0), (gated.ALSO, 0.3, 36.0)):
        metric = made.card(name, {"perplexity": perplexity})["metric"]
        windows = [share + 0.001 * (i % 3) for i in range(20)]
        found: dict[str, Any] = {"metric": metric, "by_window": windows, "share": [[share] * 8] * 4}
        if name == gated.GATED:
            found |= {"gates": {"by_window": [0.18 + 0.01 * (i % 3) for i in range(20)], "mean": [[0.185] * 8] * 4,
                                "closed": 0.37, "first": 0.07, "others": 0.185},
                      "perplexity": {"own": 12.0, "constant": 112.0, "open": 1000.0},
                      "losses": {way: [math.log(value) + 0.01 * (i % 5) for i in range(20)]
                                 for way, value in (("own", 12.0), ("constant", 112.0), ("open", 1000.0))}} | more
        made.measured(f"{name}.sink.json", found)
        by_length = {str(n): {"predictions": 5120, "loss": 3.6, "accuracy": 0.4, "texts": {
            "predictions": [256] * 20, "losses": [math.log(perplexity) + n / 9999 * (name != gated.GATED)] * 20}}
            for n in (256, 512, 1024)}
        made.measured(f"{name}.length.json", {"metric": metric, "readings": {"trained": by_length}})


def papa_study(drop: float = 0.05, learned: float = 0.0, name: str = "masked-softmax", base: float = 0.8
               ) -> dict[str, Any]:
    """Returns results: with all heads constant a task loses `drop` of its score, half of it with half of the heads."""
    loss_at = dict(zip(COUNTS, (0.0, drop / 2, drop * 0.8, drop * 0.9, drop), strict=True))
    scores: dict[str, Any] = {}
    for count, lost in loss_at.items():
        scores[f"learned {count} 0"] = {str(seed): {"score": base * (1 - lost) + 0.001 * (seed - 1)}
                                        for seed in range(3)}
    scores[f"removed {COUNTS[-1]} 0"] = {str(seed): {"score": base / 2} for seed in range(3)}
    for seed in range(3):
        at = COUNTS[2]
        scores[f"random {at} {seed}"] = {str(seed): {"score": base * (1 - loss_at[at] - learned) + 0.001 * (seed - 1)}}
    order = [["self", layer, head] for layer in range(PAPA_LAYERS) for head in range(PAPA_HEADS)]
    tasks = {key: {"metric": corpus.metric, "labels": ["x", "y"], "order": order, "scores": copy.deepcopy(scores),
                   "constant_answer": CONSTANT_ANSWER, "cpu_seconds": 1.0}
             for key, corpus in CORPORA.items()}
    card = CHECKPOINTS / name / "card.json"
    weights = store.sha(read_json(card)) if card.exists() else "0123"
    return {"name": name, "weights": weights, "version": store.version("papa"), "metric": {}, "title": name,
            "address": name, "layers": PAPA_LAYERS, "heads": PAPA_HEADS, "parameters": 1000,
            "command": f"python -m studies.papa {name}", "cpu_seconds": 7,
            "elsewhere": not card.exists(), "tasks": tasks}


def needing_heads(found: dict[str, Any], lost: float = 0.5) -> dict[str, Any]:
    """Returns the results with other scores for all heads pruned: every task then loses the fraction `lost`."""
    for its in found["tasks"].values():
        base = its["scores"]["learned 0 0"]
        its["scores"][f"removed {COUNTS[-1]} 0"] = {seed: {"score": its["score"] * (1 - lost)}
                                                    for seed, its in base.items()}
    return found
