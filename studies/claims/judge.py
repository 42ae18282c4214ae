"""Judges every statement of the sources from cards, seeds and measurements, and describes the trainings of its models.

This module is separate from the package's `__init__`, because it imports all measures and takes seconds. Pages read the
verdicts that `python -m studies.claims --write` stored.
"""

from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from typing import Any

from models.messages import N_, listed, message, plural_message
from models.training import sweeps
from models.training.recipes import is_current
from studies.claims import KEYS, Chart, Claim, tables
from studies.claims.contrast import corrected
from studies.claims.evidence import Evidence

DIGITS = 12  # number of digits of a SHA-256 in a table
MODULES = {key: import_module(f"{__package__}.sources.{key}") for key in KEYS}


def trainings(evidence: Evidence, names: Sequence[str]) -> list[dict[str, str]]:
    """Returns a table with one row per released model: seeds, steps, test texts, and the digest of the weights."""
    rows = []
    for name in names:
        card = evidence.card(name)
        if not card:
            continue
        metric = card["metric"]
        seeds = {steps: len(by_seed) for steps, by_seed in evidence.metrics(name).items()}
        rows.append({
            N_("model"): name,
            N_("seeds"): listed((
                *(plural_message("{n} seed of {steps:,} steps", "{n} seeds of {steps:,} steps", count, steps=steps)
                  for steps, count in sorted(seeds.items(), reverse=True)),
                *(() if is_current(name, card["training"]) else (message(
                    "trained at rate {rate:g}, not the sweep's: not compared until trained again",
                    rate=card["training"]["learning_rate"]),))), "; "),
            N_("measured on"): _measured_on(metric),
            N_("weights, SHA-256"): evidence.weights(name)[:DIGITS] or tables.NOTHING})
    return rows


def _measured_on(metric: dict[str, Any]) -> str:
    if "texts_per_length" in metric:
        return message("{n:,} texts of each length", n=metric["texts_per_length"])
    if "tokens_per_length" in metric:
        return message("{tokens:,} tokens per length × {n}", tokens=metric["tokens_per_length"],
                       n=metric.get("draws", 1))
    return message("{tokens:,} tokens", tokens=metric["tokens"]) if "tokens" in metric else tables.NOTHING


def curves(evidence: Evidence, names: Sequence[str]) -> Chart | None:
    """Returns a chart of the validation loss during training; None if no card has a curve."""
    points = []
    for name in names:
        curve = evidence.card(name).get("curve", {})
        points += [{"name": name, "x": step, "seed": 0, "value": loss}
                   for step, loss in zip(curve.get("step", ()), curve.get("validation_loss", ()), strict=True)]
    last = {point["name"]: point for point in points}
    return tables.chart("lines", points, message("loss on the validation split, nats"), (
        message("{name} after {steps:,} steps {loss:.3f}", name=point["name"], steps=point["x"], loss=point["value"])
        for point in last.values()), message("steps of training"))


def sweep(family: str) -> list[dict[str, str]]:
    """Returns a table with one row per attention type: the loss at each rate of the sweep, and the chosen rate."""
    trials, plan = sweeps.read(family), sweeps.plan_of(family)
    rates = plan.rates
    longer = sorted({trial["learning_rate"] for trial in trials if trial.get("steps") == plan.second})
    rows = []
    for attention in dict.fromkeys(trial["attention"] for trial in trials):
        first_round = [trial for trial in trials if trial["attention"] == attention and "steps" not in trial]
        by_rate = {t["learning_rate"]: t["loss"] for t in first_round if t["table_rate"] == sweeps.USUAL_TABLE_RATE}
        chosen = sweeps.chosen(family, attention)
        row = {N_("attention"): attention}
        row |= {message("rate {rate:g}", rate=rate): f"{by_rate[rate]:.3f}" if rate in by_rate else tables.NOTHING
                for rate in rates}
        best = chosen.get("learning_rate")
        first = sweeps.best_rate(trials, attention, rates)
        by_table = {t["table_rate"]: t["loss"] for t in first_round if t["learning_rate"] == first}
        row |= {message("tables {rate:g}×",
                        rate=rate): f"{by_table[rate]:.3f}" if rate in by_table and len(by_table) > 1
                else tables.NOTHING for rate in sweeps.TABLE_RATES}
        second = {t["learning_rate"]: t["loss"] for t in trials
                  if t["attention"] == attention and t.get("steps") == plan.second}
        row |= {message("{steps:,} steps, rate {rate:g}", steps=plan.second, rate=rate):
                f"{second[rate]:.3f}" if rate in second else tables.NOTHING for rate in longer}
        row[N_("chosen")] = tables.NOTHING if best is None else message(
            "{rate:g}, tables {tables:g}×", rate=best, tables=chosen["table_rate"]) if len(by_table) > 1 \
            else f"{best:g}"
        if first is not None and plan.second and not sweeps.second_round(trials, attention, plan, first)[1]:
            row["chosen"] = message("{chosen} (first round)", chosen=row["chosen"])
        rows.append(row)
    return rows


def judge(evidence: Evidence | None = None) -> list[Claim]:
    """Returns all claims with their verdicts, in the order of KEYS."""
    evidence = evidence or Evidence()
    claims = [judge_claim(key, evidence) for key in MODULES]
    verdicts = iter(corrected([statement.verdict for claim in claims for statement in claim.statements]))
    return [replace(claim, statements=[replace(statement, verdict=next(verdicts)) for statement in claim.statements])
            for claim in claims]


def judge_claim(key: str, evidence: Evidence) -> Claim:
    """Returns the claim of this key with its verdicts, not yet corrected for all statements."""
    claim = MODULES[key].claim(evidence)
    return replace(claim, trainings=trainings(evidence, claim.models),
                   curves=curves(evidence, claim.models), rates=sweep(claim.family),
                   waiting=tuple(name for name in claim.models if evidence.waits(name)))
