"""Claim 2 in translation: Synthesizers in the self-attention of encoder and decoder.

Cross-attention is softmax in all models, as in the source.
"""

import math
from collections.abc import Mapping, Sequence

from models.messages import N_, message
from models.training.recipes import RECIPES
from studies import per_text
from studies.claims import commands, tables
from studies.claims.contrast import Side, judged, log_of, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.statement import Statement
from studies.claims.verdict import Estimate, Samples, below, differences
from studies.pace import PLAIN

ALONE, MIXED = ("dense", "random", "factorized-random"), "random-softmax"
TWICE = 2  # factor on the largest fraction of BLEU that one of the three types loses in the source


def bleu(metric: Metric) -> float:
    """Returns BLEU with the card's beam."""
    return metric["bleu"]


def bleus(evidence: Evidence, first: Sequence[str], second: Sequence[str]) -> Estimate | None:
    """Returns the mean ln BLEU of some translation models minus that of others."""
    read = log_of("bleu")
    pool = [name for name, recipe in RECIPES.items() if name.startswith("translation-") and recipe.steps == RECIPES[
        PLAIN].steps]
    sides, others = ([Side(name, read, per_text.sentence_logs) for name in names] for names in (first, second))
    return of_trainings(evidence, sides, others, [Side(name, read) for name in pool])


def _compared(evidence: Evidence, first: str, second: str) -> tuple[Samples, float]:
    """Returns the difference of ln BLEU of two models, and its standard error due to the sampling of sentences."""
    between = differences(evidence.samples(first, bleu), evidence.samples(second, bleu), math.log)
    return between, evidence.text_error(between, (first, per_text.sentence_logs), (second, per_text.sentence_logs))


def _ours(samples: Mapping[str, Samples], titles: Mapping[str, str]) -> str:
    return message("BLEU: {values}", values=tables.each_over_time([
        (titles[name], values) for name, values in samples.items()], ".2f"))


def _rows(evidence: Evidence, titles: Mapping[str, str], theirs: Mapping[str, float],
          samples: Mapping[str, Samples]) -> list[dict[str, str]]:
    """Returns one table row per attention type: our BLEU, the source's BLEU, and the number of parameters."""
    rows = tables.table([(titles[name], f"{theirs[name]:.2f}", values) for name, values in samples.items()], ".2f",
                        theirs=N_("source, WMT'14"))
    models = [PLAIN if name == "softmax" else f"translation-{name}" for name in samples]
    return tables.with_parameters(rows, [evidence.card(model) for model in models], evidence.card(PLAIN))


def best(evidence: Evidence, titles: Mapping[str, str], theirs: Mapping[str, float],
         over: Mapping[str, Samples]) -> Statement:
    """Returns the statement that random + softmax translates best."""
    others = {"softmax": PLAIN, **{name: f"translation-{name}" for name in ALONE}}
    ours = f"translation-{MIXED}"
    checks = [below(message("{kind} below {other}", kind=titles[name], other=titles[MIXED]), between, texts=texts)
              for name, model in others.items() for between, texts in [_compared(evidence, model, ours)]]
    samples = {name: evidence.samples(model, bleu) for name, model in ((MIXED, ours), *others.items())}
    rows = _rows(evidence, titles, theirs, samples)
    perplexities = tables.table([(titles[name], "", over.get(name, {})) for name in samples])
    for name, row, also in zip(samples, rows, perplexities, strict=True):
        row |= {message("perplexity / softmax's, {budget}", budget=message(column)): "1" if name == "softmax" else value
                for column, value in [*also.items()][2:]}
    points = tables.dots([(titles[name], theirs[name], values) for name, values in samples.items()])
    models = [PLAIN, *(f"translation-{name}" for name in (*ALONE, MIXED))]
    return judged(
        "synthesizer-best", _ours(samples, titles), bleus(evidence, [ours], [PLAIN]), checks, rows,
        tables.chart("dots", points if any(samples.values()) else [], "BLEU", (
            message("{kind} {value:.2f}", kind=p["name"], value=p["value"]) for p in points)),
        commands.evaluated(models, f"python -m studies.generated.sentences {' '.join(models)}"))


def statement(evidence: Evidence, titles: Mapping[str, str], theirs: Mapping[str, float]) -> Statement:
    """Returns the statement on translation quality."""
    plain = evidence.samples(PLAIN, bleu)
    samples = {name: evidence.samples(f"translation-{name}", bleu) for name in (*ALONE, MIXED)}
    lost = TWICE * (1 - min(theirs[name] for name in ALONE) / theirs["softmax"])
    between = {name: _compared(evidence, PLAIN, f"translation-{name}") for name in samples}
    checks = [below(message("{kind}: less than {lost:.1%} of BLEU lost", kind=titles[name], lost=lost),
                            between[name][0],
                    -math.log(1 - lost), between[name][1]) for name in ALONE]
    checks.append(below(message("{kind} above softmax", kind=titles[MIXED]), between[MIXED][0],
                                texts=between[MIXED][1]))
    names = [PLAIN, *(f"translation-{name}" for name in samples)]
    every = {"softmax": plain, **samples}
    rows = _rows(evidence, titles, theirs, every)
    speeds = {row["name"]: f"{row['median']:.2f}" for row in
              evidence.measured.get("training_speed", {}).get("rows", [])}
    for name, row in zip(every, rows, strict=True):
        row[N_("steps per second / softmax's")] = speeds.get(f"translation-{name}", tables.NOTHING)
    over = {name: tables.ratios(values, plain) for name, values in samples.items()}
    points = tables.dots([(titles[name], theirs[name] / theirs["softmax"], by_steps)
                          for name, by_steps in over.items()])
    budget = tables.best_budget([*over.values()])
    chart = tables.chart("dots", points if any(over.values()) else [], message("BLEU / softmax's"), (
        message("{kind} {ours}, source {theirs:.3f}", kind=titles[name], theirs=theirs[name] / theirs["softmax"],
                ours=tables.cell(by_steps.get(budget, {}), ".3f")) for name, by_steps in over.items()),
                         rule=(1.0, "softmax"))
    return judged(
        "synthesizer-translation", _ours(every, titles),
        bleus(evidence, [PLAIN], [f"translation-{name}" for name in ALONE]), checks, rows, chart,
        commands.evaluated(names, f"python -m studies.generated.sentences {' '.join(names)}"), lost=lost)
