"""Claim 2 in generated texts (translations, summaries, dialogues): Synthesizers in the self-attention of both sides.

Cross-attention is softmax in all models, as in the source.
"""

import math
from collections.abc import Mapping, Sequence

import numpy
from numpy import ndarray

from models.messages import N_, message
from models.training.recipes import RECIPES
from studies import per_text
from studies.claims import Chart, Statement, commands, tables
from studies.claims.contrast import Side, judged, log_of, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.verdict import Estimate, Samples, below, below_in_texts, differences
from studies.per_text import error

PLAIN = "translation-softmax-one-pass"  # softmax, trained for as many steps as the other translation models
TRANSLATED, MIXTURE = ("dense", "random", "factorized-random"), "random-softmax"
BLEU = {"softmax": 27.67, "random": 27.27, "factorized-random": 27.30, "dense": 27.43, "factorized-dense": 27.32,
        "random-dense": 27.68, "dense-softmax": 27.57, "random-softmax": 28.47}  # WMT'14 English to German
TITLES = {"softmax": message("softmax"), "random": message("random"), "factorized-random": message("factorised random"),
          "dense": message("dense"), "factorized-dense": message("factorised dense"),
          "random-dense": message("random + dense"),
          "dense-softmax": message("dense + softmax"), "random-softmax": message("random + softmax"),
          "fixed-random": message("fixed random")}
TWICE = 2  # factor on the largest fraction of BLEU that one of the three types loses in the source
ALONE, MIXED = ("random", "dense"), ("dense-softmax", "random-softmax")
COMPARED = ("softmax", *ALONE, *MIXED)
INTERVAL = 1.645  # half-width of the 90% interval in standard errors
SCORES = {  # BLEU-1, BLEU-4 and ROUGE-L on PersonaChat in the source
    "softmax": ("12.03", "3.20", "13.38"), "random": ("14.64", "2.25", "15.00"), "dense": ("15.58", "4.02", "15.22"),
    "dense-softmax": ("14.24", "3.57", "14.22"), "random-softmax": ("14.70", "2.28", "14.79")}


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


def _ours(samples: Mapping[str, Samples]) -> str:
    return message("BLEU: {values}", values=tables.each_over_time([
        (TITLES[name], values) for name, values in samples.items()], ".2f"))


def _rows(evidence: Evidence, samples: Mapping[str, Samples]) -> list[dict[str, str]]:
    """Returns one table row per attention type: our BLEU, the source's BLEU, and the number of parameters."""
    rows = tables.table([(TITLES[name], f"{BLEU[name]:.2f}", values) for name, values in samples.items()], ".2f",
                        theirs=N_("source, WMT'14"))
    models = [PLAIN if name == "softmax" else f"translation-{name}" for name in samples]
    return tables.with_parameters(rows, [evidence.card(model) for model in models], evidence.card(PLAIN))


def best(evidence: Evidence, over: Mapping[str, Samples]) -> Statement:
    """Returns the statement that random + softmax translates best."""
    others = {"softmax": PLAIN, **{name: f"translation-{name}" for name in TRANSLATED}}
    ours = f"translation-{MIXTURE}"
    checks = [below(message("{kind} below {other}", kind=TITLES[name], other=TITLES[MIXTURE]), between, texts=texts)
              for name, model in others.items() for between, texts in [_compared(evidence, model, ours)]]
    samples = {name: evidence.samples(model, bleu) for name, model in ((MIXTURE, ours), *others.items())}
    rows = _rows(evidence, samples)
    perplexities = tables.table([(TITLES[name], "", over.get(name, {})) for name in samples])
    for name, row, also in zip(samples, rows, perplexities, strict=True):
        row |= {message("perplexity / softmax's, {budget}", budget=message(column)): "1" if name == "softmax" else value
                for column, value in [*also.items()][2:]}
    points = tables.dots([(TITLES[name], BLEU[name], values) for name, values in samples.items()])
    models = [PLAIN, *(f"translation-{name}" for name in (*TRANSLATED, MIXTURE))]
    return judged(
        "synthesizer-best", _ours(samples), bleus(evidence, [ours], [PLAIN]), checks, rows,
        tables.chart("dots", points if any(samples.values()) else [], "BLEU", (
            message("{kind} {value:.2f}", kind=p["name"], value=p["value"]) for p in points)),
        commands.evaluated(models, f"python -m studies.generated.sentences {' '.join(models)}"))


def translation(evidence: Evidence) -> Statement:
    """Returns the statement on translation quality."""
    plain = evidence.samples(PLAIN, bleu)
    samples = {name: evidence.samples(f"translation-{name}", bleu) for name in (*TRANSLATED, MIXTURE)}
    lost = TWICE * (1 - min(BLEU[name] for name in TRANSLATED) / BLEU["softmax"])
    between = {name: _compared(evidence, PLAIN, f"translation-{name}") for name in samples}
    checks = [below(message("{kind}: less than {lost:.1%} of BLEU lost", kind=TITLES[name], lost=lost),
                            between[name][0],
                    -math.log(1 - lost), between[name][1]) for name in TRANSLATED]
    checks.append(below(message("{kind} above softmax", kind=TITLES[MIXTURE]), between[MIXTURE][0],
                                texts=between[MIXTURE][1]))
    names = [PLAIN, *(f"translation-{name}" for name in samples)]
    every = {"softmax": plain, **samples}
    rows = _rows(evidence, every)
    speeds = {row["name"]: f"{row['median']:.2f}" for row in
              evidence.measured.get("training_speed", {}).get("rows", [])}
    for name, row in zip(every, rows, strict=True):
        row[N_("steps per second / softmax's")] = speeds.get(f"translation-{name}", tables.NOTHING)
    over = {name: tables.ratios(values, plain) for name, values in samples.items()}
    points = tables.dots([(TITLES[name], BLEU[name] / BLEU["softmax"], by_steps) for name, by_steps in over.items()])
    budget = tables.best_budget([*over.values()])
    chart = tables.chart("dots", points if any(over.values()) else [], message("BLEU / softmax's"), (
        message("{kind} {ours}, source {theirs:.3f}", kind=TITLES[name], theirs=BLEU[name] / BLEU["softmax"],
                ours=tables.cell(by_steps.get(budget, {}), ".3f")) for name, by_steps in over.items()),
                         rule=(1.0, "softmax"))
    return judged(
        "synthesizer-translation", _ours(every),
        bleus(evidence, [PLAIN], [f"translation-{name}" for name in TRANSLATED]), checks, rows, chart,
        commands.evaluated(names, f"python -m studies.generated.sentences {' '.join(names)}"), lost=lost)


def summaries(evidence: Evidence) -> Statement:
    """Returns the statement that mixtures of a Synthesizer and softmax summarise better than softmax."""
    rouge = {name: values for name in COMPARED
             if len(values := numpy.array(evidence.study(f"summary-{name}", "rouge").get("texts", ()), float))}
    errors = {name: INTERVAL * error(values, values * 0 + 1) for name, values in rouge.items()}
    samples = {name: evidence.samples(f"summary-{name}", lambda metric: float(per_text.rouge(metric).values.mean()))
               for name in COMPARED}
    checks = [evidence.below_over_seeds(
        message("{kind} above softmax", kind=TITLES[name]), differences(samples["softmax"], samples[name]),
        behind(rouge, name), *((f"summary-{side}", per_text.rouge) for side in ("softmax", name))) for name in MIXED]
    rows = [{N_("attention"): TITLES[name], N_("source"): "35.95" if name == "random-softmax" else tables.NOTHING,
             N_("here, ROUGE-L"): f"{rouge[name].mean():.1f} ± {errors[name]:.1f}" if name in rouge
             else tables.NOTHING,
             N_("here, mean over seeds"): tables.cell(tables.at_decision(samples[name]), ".1f")} for name in COMPARED]
    return judged(
        "synthesizer-summaries",
        message("ROUGE-L: {values}", values=tables.each([
            (TITLES[name], tables.spread(tables.at_decision(samples[name]), ".1f")) for name in rouge])),
        _alone(evidence), checks, rows, rouge_chart(rouge, errors),
        commands.full_seeds("studies.generated.rouge", [f"summary-{name}" for name in COMPARED]))


def _alone(evidence: Evidence) -> Estimate | None:
    """Returns ROUGE-L of softmax minus the mean of random and dense."""
    def side(name: str) -> Side:
        return Side(f"summary-{name}", lambda metric: float(per_text.rouge(metric).values.mean()), per_text.rouge)

    return of_trainings(evidence, [side("softmax")], [side("random"), side("dense")], [side(name) for name in COMPARED])


def rouge_chart(rouge: Mapping[str, ndarray], errors: Mapping[str, float]) -> Chart | None:
    """Returns the chart of mean ROUGE-L by attention type with 90% intervals; None if nothing is measured."""
    points = [{"name": TITLES[name], "value": round(float(values.mean()) + sign * errors[name], 4), "which": which}
              for name, values in rouge.items() for which, sign in (
                  (message("here"), 0), (message("90% interval"), -1), (message("90% interval"), 1))]
    return tables.chart("dots", points, "ROUGE-L", (
        message("{kind} {value:.1f}", kind=TITLES[name], value=float(values.mean())) for name, values in rouge.items()))


def behind(rouge: Mapping[str, ndarray], name: str) -> ndarray | None:
    """Returns for each text ROUGE-L of softmax minus that of another type; None if not measured on the same texts."""
    if name not in rouge or "softmax" not in rouge or len(rouge[name]) != len(rouge["softmax"]):
        return None
    difference = rouge["softmax"] - rouge[name]
    return difference if all(map(math.isfinite, difference)) else None


def dialogues(evidence: Evidence) -> Statement:
    """Returns the statement that Synthesizers without softmax reply better than softmax."""
    rouge, replies = _measured(evidence)
    errors = {name: INTERVAL * error(_by_conversation(values, replies) / replies, replies)
              for name, values in rouge.items()}
    checks = [below_in_texts(message("{kind} above softmax", kind=TITLES[name]), None if (
        difference := behind(rouge, name)) is None else _by_conversation(difference, replies) / replies.mean())
        for name in ALONE]
    rows, here = [], N_("here, ROUGE-L")
    for name in COMPARED:
        own = evidence.card(f"dialogue-{name}").get("metric", {})
        rows.append({
            N_("attention"): TITLES[name], N_("source, BLEU-1 / BLEU-4"): " / ".join(SCORES[name][:2]),
            N_("source, ROUGE-L"): SCORES[name][2],
            N_("here, BLEU-1 / BLEU-4"): f"{own['bleu1']:.2f} / {own['bleu4']:.2f}" if own else tables.NOTHING,
            here: f"{rouge[name].mean():.1f} ± {errors[name]:.1f}" if name in rouge
            else tables.NOTHING})
    return judged(
        "synthesizer-dialogues",
        message("ROUGE-L: {values}", values=tables.each([
            (TITLES[name], row[here]) for name, row in zip(COMPARED, rows, strict=True)])),
        _new(evidence, replies), checks, rows, rouge_chart(rouge, errors),
        commands.full_seeds("studies.generated.rouge", [f"dialogue-{name}" for name in COMPARED]),
        values=tables.each([
            (TITLES[name], SCORES[name][2]) for name in COMPARED]))


def _measured(evidence: Evidence) -> tuple[dict[str, ndarray], ndarray]:
    """Returns ROUGE-L of each reply by attention type, and the number of replies in each conversation."""
    rouge: dict[str, ndarray] = {}
    replies = numpy.array([], int)
    for name in COMPARED:
        study = evidence.study(f"dialogue-{name}", "rouge")
        replies = replies if len(replies) else numpy.array(study.get("conversations", ()), int)
        values = numpy.array(study.get("texts", ()), float)
        if len(values) and (replies > 0).all() and len(values) == replies.sum():
            rouge[name] = values
    return rouge, replies


def _new(evidence: Evidence, replies: ndarray) -> Estimate | None:
    """Returns ROUGE-L of random and dense minus softmax's on replies that no training text contains."""
    known = evidence.measured.get("known_replies", {}).get("replies")
    if known is None or not len(replies):
        return None
    is_new = numpy.ones(replies.sum())
    is_new[[*known]] = 0
    counts = _by_conversation(is_new, replies)

    def texts(metric: Metric) -> per_text.Texts:
        values = per_text.rouge(metric).values
        if values.shape != is_new.shape:
            raise KeyError("other replies")
        return per_text.Texts(_by_conversation(values * is_new, replies) / numpy.maximum(counts, 1), counts)

    def mean(metric: Metric) -> float:
        return float(numpy.average(texts(metric).values, weights=counts))

    def side(name: str) -> Side:
        return Side(f"dialogue-{name}", mean, texts)

    return of_trainings(evidence, [side(name) for name in ALONE], [side("softmax")],
                        [side(name) for name in ("softmax", *ALONE)])


def _by_conversation(values: ndarray, replies: ndarray) -> ndarray:
    """Returns the sum of the values of each conversation's replies."""
    return numpy.add.reduceat(values, numpy.cumsum(replies) - replies)
