"""Claim 2 in summaries: Synthesizers in the self-attention of encoder and decoder."""

import math
from collections.abc import Mapping

from numpy import array, ndarray

from models.messages import N_, message
from studies import per_text
from studies.bootstrap import error
from studies.claims import commands, tables
from studies.claims.contrast import Side, judged, of_trainings
from studies.claims.evidence import Evidence
from studies.claims.statement import Chart, Statement
from studies.claims.verdict import Check, Estimate, Samples, differences

MIXED = ("dense-softmax", "random-softmax")
COMPARED = ("softmax", "random", "dense", *MIXED)
INTERVAL = 1.645  # half-width of the 90% interval in standard errors


def statement(evidence: Evidence, titles: Mapping[str, str]) -> Statement:
    """Returns the statement that mixtures of a Synthesizer and softmax summarise better than softmax."""
    rouge = {name: values for name in COMPARED
             if len(values := array(evidence.study(f"summary-{name}", "rouge").get("texts", ()), float))}
    errors = {name: INTERVAL * error(values, values * 0 + 1) for name, values in rouge.items()}
    samples = {name: evidence.samples(f"summary-{name}", lambda metric: float(per_text.rouge(metric).values.mean()))
               for name in COMPARED}
    checks = [_check(evidence, samples, rouge, name, titles) for name in MIXED]
    rows = [{N_("attention"): titles[name], N_("source"): "35.95" if name == "random-softmax" else tables.NOTHING,
             N_("here, ROUGE-L"): f"{rouge[name].mean():.1f} ± {errors[name]:.1f}" if name in rouge
             else tables.NOTHING,
             N_("here, mean over seeds"): tables.cell(tables.at_decision(samples[name]), ".1f")} for name in COMPARED]
    return judged(
        "synthesizer-summaries",
        message("ROUGE-L: {values}", values=tables.each([
            (titles[name], tables.spread(tables.at_decision(samples[name]), ".1f")) for name in rouge])),
        _alone(evidence), checks, rows, rouge_chart(rouge, errors, titles),
        commands.full_seeds(f"python -m studies.generated.rouge {' '.join(f'summary-{name}' for name in COMPARED)}",
                            [f"summary-{name}" for name in COMPARED]))


def _alone(evidence: Evidence) -> Estimate | None:
    """Returns ROUGE-L of softmax minus the mean of random and dense."""
    def side(name: str) -> Side:
        return Side(f"summary-{name}", lambda metric: float(per_text.rouge(metric).values.mean()), per_text.rouge)

    return of_trainings(evidence, [side("softmax")], [side("random"), side("dense")], [side(name) for name in COMPARED])


def _check(evidence: Evidence, samples: Mapping[str, Samples], rouge: Mapping[str, ndarray], name: str,
           titles: Mapping[str, str]) -> Check:
    """Returns the check that a mixture is above softmax; with fewer than FEWEST trainings, of the released models."""
    what = message("{kind} above softmax", kind=titles[name])
    between = differences(samples["softmax"], samples[name])
    return evidence.below_over_seeds(what, between, behind(rouge, name),
                                     *((f"summary-{side}", per_text.rouge) for side in ("softmax", name)))


def rouge_chart(rouge: Mapping[str, ndarray], errors: Mapping[str, float], titles: Mapping[str, str]) -> Chart | None:
    """Returns the chart of the mean ROUGE-L of each attention type with its 90% interval; None if nothing is measured.
    """
    points = [{"name": titles[name], "value": round(float(values.mean()) + sign * errors[name], 4), "which": which}
              for name, values in rouge.items() for which, sign in (
                  (message("here"), 0), (message("90% interval"), -1), (message("90% interval"), 1))]
    return tables.chart("dots", points, "ROUGE-L", (
        message("{kind} {value:.1f}", kind=titles[name], value=float(values.mean())) for name, values in rouge.items()))


def behind(rouge: Mapping[str, ndarray], name: str) -> ndarray | None:
    """Returns for each text ROUGE-L of softmax minus that of another type; None if not measured on the same texts."""
    if name not in rouge or "softmax" not in rouge or len(rouge[name]) != len(rouge["softmax"]):
        return None
    difference = rouge["softmax"] - rouge[name]
    return difference if all(map(math.isfinite, difference)) else None
