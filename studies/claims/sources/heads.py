"""Claim 5: a few specialised heads do the heavy lifting (Voita et al. 2019, arXiv 1905.09418)."""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy
from numpy import ndarray

from models.analysis import pruning_orders
from models.analysis.head_measures import spearman
from models.messages import N_, listed, message
from models.plan import Address
from studies import per_text
from studies.claims import Claim, Statement, commands, tables
from studies.claims.contrast import judged
from studies.claims.evidence import Evidence
from studies.claims.verdict import Estimate, below, by_error, deciding, of_values
from studies.per_text import error

MODELS = ("translation-softmax", "stories-softmax", "stories-selective", "masked-softmax")
NAME = MODELS[0]
LOST = 0.5  # largest loss of BLEU that counts as little
PRUNED = "translation-pruned-60"  # the released model of seed 0, with about half of the encoder's heads
ENCODER, DECODER, CROSS = "encoder", "decoder", "cross"
TITLES = {ENCODER: message("the encoder"), DECODER: message("the decoder"), CROSS: message("cross-attention")}


def claim(evidence: Evidence) -> Claim:
    heads = {name: study for name in MODELS if (study := evidence.study(name, "heads"))}
    return Claim("heads", message("Heads: a few specialised ones matter most"),
                 "Voita et al. 2019, arXiv 1905.09418",
                 message("The source: translation, 3 × 48 heads, millions of pairs. Here: 3 × 24 heads, 0.17 million "
                         "short pairs; and two language models and a masked one of 32 heads."), MODELS, "translation",
                 [_few(evidence), _roles(heads), _agree(heads), _order(evidence)])


def runs_of(evidence: Evidence, kinds: set[str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Returns the trainings with learned gates on exactly these blocks, and the control trainings without gates."""
    gates = evidence.study(NAME, "gates")
    series, controls = ([run for run in gates.get(place, []) if set(run["kinds"]) == kinds]
                        for place in ("series", "controls"))
    return series, controls


def _few(evidence: Evidence) -> Statement:
    whole = evidence.card(NAME).get("metric", {}).get("bleu")
    runs, controls = runs_of(evidence, {ENCODER})
    baseline = {(run["steps"], run["seed"]): run["bleu"] for run in controls}
    # For each seed, the run nearest to half of the heads is used. The best run would favour seeds with more strengths.
    half = [run for run in runs if 2 * sum(run["heads_left"].values()) <= sum(
        len(row) for rows in run["probabilities"].values() for row in rows)]
    lost: dict[int, dict[int, float]] = {}
    for run in sorted(half, key=lambda run: sum(run["heads_left"].values())):
        if (key := (run["steps"], run["seed"])) in baseline:
            lost.setdefault(run["steps"], {})[run["seed"]] = baseline[key] - run["bleu"]
    nearest = {run["seed"]: run["bleu"] for run in sorted(half, key=lambda run: sum(run["heads_left"].values()))}
    behind = [] if whole is None else [whole - bleu for bleu in nearest.values()]
    rows = [{N_("heads of the encoder left"): str(sum(run["heads_left"].values())), N_("source"): tables.NOTHING,
             N_("seed"): str(run["seed"]), "BLEU": f"{run['bleu']:.2f}"}
            for run in sorted(runs, key=lambda run: -sum(run["heads_left"].values()))]
    rows = [{N_("heads of the encoder left"): message("all"), N_("source"): message("10 of 48: −0.15; 4 of 48: −0.25"),
             N_("seed"): tables.NOTHING, "BLEU": tables.NOTHING if whole is None else f"{whole:.2f}"},
            *({N_("heads of the encoder left"): message("all heads, trained further without gates"),
               N_("source"): tables.NOTHING,
               N_("seed"): str(run["seed"]), "BLEU": f"{run['bleu']:.2f}"} for run in controls), *rows]
    points = [{"name": "BLEU", "x": sum(run["heads_left"].values()), "seed": run["seed"], "value": run["bleu"]}
              for run in (*controls, *runs)]
    chart = tables.chart("lines", points, "BLEU", (
        message("{n} heads BLEU {bleu}", n=point["x"], bleu=point["value"]) for point in points),
                         message("heads of the encoder left"))
    return judged(
        "heads-few", message("half of the heads: {lost} BLEU lost", lost=tables.over_time(lost, ".2f")),
        of_values(behind, 1, _sentence_error(evidence)),
        [below(message("less than {lost} BLEU lost with half of the heads", lost=LOST), lost, LOST,
               _sentence_error(evidence))],
        rows, chart,
        commands.learned([ENCODER], (*controls, *runs), f"python -m studies.generated.sentences {PRUNED}"), lost=LOST)


def _sentence_error(evidence: Evidence) -> float:
    """Returns the error, due to the sampling of sentences, of the BLEU of the released model minus the pruned one's."""
    difference = per_text.difference(per_text.sentences(evidence.study(name, "sentences")) for name in (NAME, PRUNED))
    return error(difference.values, difference.counts) if difference else math.nan


def at_strengths_of_all_seeds(runs: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Returns the runs at the strengths for which every seed has a run, so that the seeds can be compared."""
    tried = {seed: {run["strength"] for run in runs if run["seed"] == seed} for seed in {run["seed"] for run in runs}}
    return [run for run in runs if all(run["strength"] in strengths for strengths in tried.values())]


def _mean(of_models: Sequence[tuple[float, float]]) -> Estimate | None:
    """Returns the mean over models of (value, standard error); None unless all are known."""
    if len(of_models) < len(MODELS) or not all(map(math.isfinite, (x for pair in of_models for x in pair))):
        return None
    return Estimate(fmean(value for value, _ in of_models),
                    math.sqrt(sum(error**2 for _, error in of_models)) / len(of_models))


def ranks_of_roles(study: Mapping[str, Any]) -> tuple[float, float, int, int]:
    """Tests whether pruning a head with a role costs more than one without (Mann, Whitney 1947)."""
    addresses: list[Address] = []
    values: list[float] = []
    for kind, kind_values in study["kinds"].items():
        losses = numpy.array(kind_values["loss"])
        addresses += [(kind, layer, head) for layer, head in numpy.ndindex(losses.shape)]
        values += losses.reshape(-1).tolist()
    order = pruning_orders.by_values(addresses, values)
    roled = {(role["kind"], role["layer"], role["head"]) for role in study["roles"]}
    place = numpy.array([address in roled for address in order])
    ours, others = numpy.flatnonzero(place), numpy.flatnonzero(~place)
    if not len(ours) or not len(others):
        return math.nan, 0.0, len(ours), len(others)
    share = float((ours[:, None] > others).mean())
    deviation = math.sqrt((len(order) + 1) / (12 * len(ours) * len(others)))
    return share, (share - 0.5) / deviation, len(ours), len(others)


def _roles(heads: Mapping[str, dict[str, Any]]) -> Statement:
    ranks = {name: ranks_of_roles(study) for name, study in heads.items()}
    checks = [by_error(message("in {model}", model=name), share - 0.5, (share - 0.5) / sigmas if sigmas else math.nan)
              for name, (share, sigmas, _, _) in ranks.items()]
    rows = [{N_("model"): name, N_("source"): tables.NOTHING, N_("heads with a role"): f"{ours} / {ours + others}",
             N_("kept longer"): tables.NOTHING if math.isnan(share) else f"{share:.0%} ({sigmas:+.1f} σ)"}
            for name, (share, sigmas, ours, others) in ranks.items()]
    points = [{"name": name, "which": "here", "value": round(share, 4)} for name, (share, *_) in ranks.items()
              if not math.isnan(share)]
    chart = tables.chart("dots", points, message("pairs: head with a role kept longer"), N_("{name} {value:.0%}"),
                         rule=(0.5, message("no difference")), form=".0%")
    return judged(
        "heads-roles",
        message("{values} of the pairs", values=tables.each([
            (name, f"{share:.0%}") for name, (share, *_) in ranks.items() if not math.isnan(share)])),
        _mean([
            (share - 0.5, (share - 0.5) / sigmas if sigmas else math.nan) for share, sigmas, *_ in ranks.values()]),
        checks, rows, chart,
        f"python -m studies.corpus.heads {' '.join(MODELS)}\npython -m studies.claims")


def _layers(study: Mapping[str, Any], what: str) -> list[ndarray] | None:
    """Returns the values (H,) of each layer of each attention block; None if some were not measured."""
    blocks = study["kinds"].values()
    if not all(what in block for block in blocks):
        return None
    return [numpy.array(row) for block in blocks for row in block[what]]


def within_layers(first: Sequence[ndarray], second: Sequence[ndarray]) -> tuple[float, float]:
    """Returns the mean over layers of the rank correlation, and its distance from 0."""
    correlations = [0.0 if math.isnan(correlation := spearman(a, b)) else correlation
                    for a, b in zip(first, second, strict=True)]
    mean = fmean(correlations)
    return mean, mean * len(first) / math.sqrt(sum(1 / (len(layer) - 1) for layer in first))


def _agree(heads: Mapping[str, dict[str, Any]]) -> Statement:
    rows, checks, points, agreement = [], [], [], []
    for name, study in heads.items():
        sure, relevant, loss = (_layers(study, what) for what in ("confidence", "relevance", "loss"))
        if sure is None or relevant is None or loss is None:
            continue
        agree, sigmas = within_layers(sure, relevant)
        agreement.append((agree, agree / sigmas if sigmas else math.nan))
        for what, first, second in ((N_("confidence and relevance in {model}"), sure, relevant),
                                    (N_("confidence and loss when pruned alone in {model}"), sure, loss),
                                    (N_("relevance and loss when pruned alone in {model}"), relevant, loss)):
            mean, away = within_layers(first, second)
            checks.append(by_error(message(what, model=name), mean, mean / away if away else 0.0))
        rows.append({N_("model"): name, N_("source"): tables.NOTHING,
                     N_("confidence, relevance"): f"{agree:.2f} ({sigmas:+.1f} σ)",
                     N_("confidence, loss when pruned alone"): f"{within_layers(sure, loss)[0]:.2f}",
                     N_("relevance, loss when pruned alone"): f"{within_layers(relevant, loss)[0]:.2f}"})
        points.append({"name": name, "which": "here", "value": round(agree, 4)})
    chart = tables.chart("dots", points, message("rank correlation of confidence and relevance"),
                         N_("{name} {value:.2f}"), rule=(0.0, message("none")))
    return judged(
        "heads-agree",
        message("rank correlation: {values}", values=tables.each([(str(p["name"]),
                f"{p['value']:.2f}") for p in points])),
        _mean(agreement), checks, rows, chart,
        f"python -m studies.corpus.heads {' '.join(MODELS)}\npython -m studies.claims")


def _order(evidence: Evidence) -> Statement:
    runs, controls = runs_of(evidence, {ENCODER, DECODER, CROSS})
    rows = [{N_("strength"): f"{run['strength']:g}" if run["strength"] else message("no gates"),
             N_("source"): tables.NOTHING, N_("seed"): str(run["seed"]),
             **{kind: str(run["heads_left"][kind]) for kind in TITLES}, "BLEU": f"{run['bleu']:.2f}"}
            for run in (*controls, *runs)]
    compared = at_strengths_of_all_seeds(runs)
    checks = [below(message("fewer left in {one} than in {other}", one=TITLES[first], other=TITLES[second]),
                    _differences(compared, first, second)) for first, second in pairwise(TITLES)]
    apart = _differences(compared, CROSS, ENCODER)
    points = [{"name": kind, "which": "here", "value": count} for run in runs
              for kind, count in run["heads_left"].items()]
    chart = tables.chart("dots", points, message("remaining heads by block and gate strength"), N_("{name} {value}"))
    return judged(
        "heads-order",
        message("heads left of 24: {values}", values=tables.each([(title, tables.spread(
            [run["heads_left"][kind] for run in compared], ".1f")) for kind, title in TITLES.items()])),
        of_values([*apart.get(deciding(apart), {}).values()]), checks, rows, chart,
        commands.learned([ENCODER, DECODER, CROSS], (*controls, *runs)),
        strengths=listed(sorted({f"{run['strength']:g}" for run in compared}) or [tables.NOTHING]))


def _differences(runs: Sequence[Mapping[str, Any]], first: str, second: str) -> dict[int, dict[int, float]]:
    """Returns steps -> seed -> remaining heads of block `first` minus those of `second`, a mean over strengths."""
    counts: dict[int, dict[int, list[float]]] = {}
    for run in runs:
        counts.setdefault(run["steps"], {}).setdefault(run["seed"], []).append(
            run["heads_left"][first] - run["heads_left"][second])
    return {steps: {seed: fmean(values) for seed, values in by_seed.items()} for steps, by_seed in counts.items()}
