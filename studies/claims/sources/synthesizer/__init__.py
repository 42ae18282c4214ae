"""Claim 2: Synthesizer (Tay et al. 2020, arXiv 2005.00743)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from models.messages import N_, message
from models.training.recipes import RECIPES
from studies import per_text
from studies.claims import Chart, Claim, Statement, commands, tables
from studies.claims.contrast import Side, judged, largest, log_of, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.sources.synthesizer import generated, transfer
from studies.claims.sources.synthesizer.generated import BLEU as BLEU
from studies.claims.sources.synthesizer.generated import MIXED, TITLES
from studies.claims.verdict import (
    Estimate,
    Samples,
    below,
    deciding,
    differences,
    median_below,
    no_worse,
    of_values,
    within,
)

LM1B = {  # perplexity on LM1B, the source's language modelling
    "softmax": 38.21, "random": 40.60, "factorized-random": 42.40, "dense": 40.88, "factorized-dense": 41.20,
    "random-dense": 42.35, "dense-softmax": 37.27, "random-softmax": 40.05, "fixed-random": 50.52}
LEARNED = ("random", "factorized-random", "dense", "factorized-dense", "random-dense", *MIXED)
THEIRS = N_("source, LM1B")
TABLES = message("tables, in a copy of the paper")

# largest ratio of perplexities that counts as close; in the source the learned types have at most 1.11, fixed random
# 1.32
CLOSE = 1.15
ALIKE = 1.05  # largest ratio of two perplexities that count as alike; in the source random and dense differ by 0.7%
# settings of the timing of random attention in measure.py: timed parts, compared models, texts per batch, tokens
TIMED, AGAINST = (N_("attention layer"), N_("whole model")), (N_("softmax"), N_("fused softmax"))
TEXTS, TOKENS = (1, 8), (128, 256)
HALF = 0.5  # fraction of the loss difference (nats) between no attention and softmax
STORIES = tuple(name for name in RECIPES if name.startswith("stories-") and not name.endswith("-512"))


def perplexity(metric: Metric) -> float:
    """Returns the perplexity of a metric."""
    return metric["perplexity"]


def claim(evidence: Evidence) -> Claim:
    samples = {name: evidence.samples(f"stories-{name}", perplexity) for name in TITLES}
    over = {name: tables.ratios(samples[name], samples["softmax"]) for name in TITLES}
    return Claim("synthesizer", message("Synthesizer: scores without query and key"),
                 "Tay et al. 2020, arXiv 2005.00743",
                 message("The source: 53 to 74 million parameters, LM1B (perplexity) and WMT'14 (BLEU). Here: 2.3 to "
                         "4.7 million, books and stories, minutes of training. Perplexities are divided by "
                         "softmax's: higher is worse. The source's random has fewer parameters than softmax, ours "
                         "has relatively large tables."),
                 tuple(_stories(*TITLES)), "stories",
                 [_close(evidence, over), _worse(evidence, samples, over), _floor(evidence, samples),
                  _alike(evidence, over), _mixtures(evidence, over), generated.best(evidence, over), _speed(evidence),
                  generated.translation(evidence), generated.summaries(evidence), generated.dialogues(evidence),
                  *transfer.statements(evidence)])


def _ratio(name: str) -> float:
    return LM1B[name] / LM1B["softmax"]


def perplexities(evidence: Evidence, first: Sequence[str], second: Sequence[str] = ("softmax",)) -> Estimate | None:
    """Returns the mean ln perplexity of some attention types minus that of others."""
    read = log_of("perplexity")
    sides, others = ([Side(f"stories-{name}", read, per_text.losses) for name in names] for names in (first, second))
    return of_trainings(evidence, sides, others, [Side(name, read) for name in STORIES])


def compared(evidence: Evidence, name: str, baseline: str = "softmax") -> tuple[Samples, float]:
    """Returns the loss differences (nats) of two stories models, and their standard error due to sampling of texts."""
    first, second = f"stories-{name}", f"stories-{baseline}"
    between = differences(evidence.samples(first, perplexity), evidence.samples(second, perplexity), math.log)
    return between, evidence.text_error(between, (first, per_text.losses), (second, per_text.losses))


def _ratio_table(evidence: Evidence, over: Mapping[str, Samples], names: tuple[str, ...]) -> list[dict[str, str]]:
    rows = tables.table([(TITLES[name], f"{_ratio(name):.3f}", over[name]) for name in names], theirs=THEIRS)
    rows = tables.with_parameters(rows, [evidence.card(name) for name in _stories(*names)],
                                  evidence.card("stories-softmax"))
    return _with_corpora(evidence, rows, names)


def _with_corpora(evidence: Evidence, rows: list[dict[str, str]], names: Sequence[str]) -> list[dict[str, str]]:
    """Returns the rows with the ratios in books only and in stories only, of the deciding trainings."""
    titles = {"books": N_("books alone, {steps:,} steps"), "stories": N_("stories alone, {steps:,} steps")}
    for corpus, title in titles.items():
        def read(metric: Metric, corpus: str = corpus) -> float:
            return metric[f"perplexity_{corpus}"]

        plain = evidence.samples("stories-softmax", read)
        over = [tables.ratios(evidence.samples(f"stories-{name}", read), plain) for name in names]
        steps = max((deciding(ratios) for ratios in over), default=0)
        for row, ratios in zip(rows, over, strict=True):
            row |= {message(title, steps=steps): tables.cell(ratios.get(steps, {}), ".3f")} if steps else {}
    return rows


def _ratio_chart(over: Mapping[str, Samples], names: tuple[str, ...]) -> Chart | None:
    if not any(over[name] for name in names):
        return None
    points = tables.dots([(TITLES[name], _ratio(name), over[name]) for name in names])
    best = tables.best_budget([over[name] for name in names])
    return tables.chart("dots", points, message("perplexity / softmax's"), (
        message("{kind} {ours}, source {theirs:.3f}", kind=TITLES[name], theirs=_ratio(name),
                ours=tables.cell(over[name].get(best, {}), ".3f")) for name in names), rule=(1.0, "softmax"))


def _stories(*names: str) -> list[str]:
    return [f"stories-{name}" for name in names]


def _close(evidence: Evidence, over: Mapping[str, Samples]) -> Statement:
    checks = [below(message("{kind} within {close:.0%} of softmax", kind=TITLES[name], close=CLOSE - 1), between,
                    math.log(CLOSE), texts)
              for name in LEARNED for between, texts in [compared(evidence, name)]]
    return judged(
        "synthesizer-close",
        message("{values} (perplexity / softmax's)", values=tables.range_over_time(
            [(TITLES[name], over[name]) for name in LEARNED])),
        largest([perplexities(evidence, [name]) for name in LEARNED]), checks,
        _ratio_table(evidence, over, LEARNED), _ratio_chart(over, LEARNED),
        commands.evaluated(_stories("softmax", *LEARNED)), close=CLOSE - 1)


def _worse(evidence: Evidence, samples: Mapping[str, Samples], over: Mapping[str, Samples]) -> Statement:
    others = ("softmax", *LEARNED)
    checks = [below(message("fixed random above {kind}", kind=TITLES[name]), between, texts=texts)
              for name in others for between, texts in [compared(evidence, name, "fixed-random")]]
    names = ("fixed-random", *LEARNED)
    level = evidence.measured_of("stories-fixed-random", "fixed_scale")
    control = {level["steps"]: {int(seed): value for seed, value in level["perplexity"].items()}} if level else {}
    ratios = tables.ratios(control, samples["softmax"])
    rows = tables.table([(TITLES[names[0]], f"{_ratio(names[0]):.3f}", over[names[0]]),
                         (message("fixed random, nearly even"), "", ratios),
                         *((TITLES[name], f"{_ratio(name):.3f}", over[name]) for name in LEARNED)], theirs=THEIRS)
    rows = tables.with_parameters(rows, [evidence.card(name) for name in _stories(names[0], *names)],
                                  evidence.card("stories-softmax"))
    return judged(
        "synthesizer-fixed",
        message("{value} (perplexity / softmax's)", value=tables.over_time(over["fixed-random"])),
        perplexities(evidence, ["fixed-random"], ["factorized-dense"]), checks, rows, _ratio_chart(over, names),
        commands.evaluated(_stories("softmax", "fixed-random", *LEARNED), commands.measured("fixed_scale")))


def _floor(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    floors = evidence.measured_of("stories-softmax", "no_attention") or {}
    # the lower bound `gates_0` is computed from the released model, so it is valid for that model's number of steps
    shipped = max(samples["softmax"], default=0)
    ours = {name: samples[name].get(shipped, {}).get(0) for name in ("softmax", "fixed-random")}
    trained, untrained = floors.get("trained_without"), floors.get("gates_0")
    rows = [(message("softmax"), ours["softmax"]), (message("fixed random"), ours["fixed-random"]),
            (message("last token alone"), trained), (message("all gates at 0"), untrained)]
    shares = {name: _share(ours["softmax"], ours["fixed-random"], floor) for name, floor in (
        (message("last token alone"), trained), (message("all gates at 0"), untrained))}
    missing = {
        steps: {seed: HALF - share for seed, value in values.items() if (share := _share(
            samples["softmax"][steps].get(seed), value, trained)) is not None}
        for steps, values in samples["fixed-random"].items() if steps in samples["softmax"]}
    # The fraction is 1 minus a ratio of two loss differences; the difficulty of the texts affects both in the same way.
    steps = deciding(missing)
    way = math.log(trained / fmean(samples["softmax"][steps].values())) if trained and steps else math.nan
    names = ("stories-fixed-random", "stories-softmax")
    texts = evidence.text_error(missing, *((name, per_text.losses) for name in names))
    decided = [HALF - value for value in missing.get(steps, {}).values()]
    estimate = of_values(decided, len(decided), texts / way)
    estimate = estimate and replace(estimate, steps=steps)
    check = below(message("over half of the way to softmax"), missing, texts=texts / way)
    known = [(name, value) for name, value in rows if value is not None]
    table = [{N_("attention"): name, N_("source"): tables.NOTHING,
              N_("here, perplexity"): f"{value:.1f}" if value is not None else tables.NOTHING} for name, value in rows]
    table += [{"attention": message("fixed random's share from {name}", name=name), "source": tables.NOTHING,
               "here, perplexity": f"{share:.0%}"} for name, share in shares.items() if share is not None]
    if steps:
        closed = {seed: HALF - value for seed, value in missing[steps].items()}
        table.append({"attention": message("the first share after {steps:,} steps",
                                           steps=steps),
                      "source": tables.NOTHING, "here, perplexity": tables.cell(closed, ".1%")})
    points = [{"name": name, "value": value, "which": message("here")} for name, value in known]
    chart = tables.chart("dots", points, message("perplexity"), N_("{name} {value:.1f}")) if trained else None
    return judged(
        "synthesizer-floor",
        message("{share} of the way from no attention to softmax", share=tables.spread(
            [HALF - value for value in missing.get(steps, {}).values()], ".1%")),
        estimate, [check], table, chart, commands.measured("no_attention"))


def _share(softmax: float | None, fixed: float | None, floor: float | None) -> float | None:
    """Returns the fraction of the gap between `floor` and softmax that fixed random attention closes."""
    if softmax is None or fixed is None or floor is None or floor <= softmax:
        return None
    return math.log(floor / fixed) / math.log(floor / softmax)


def _alike(evidence: Evidence, over: Mapping[str, Samples]) -> Statement:
    names = ("random", "dense")
    between, texts = compared(evidence, *names)
    estimate = perplexities(evidence, names[:1], names[1:])
    check = within(message("random and dense alike"), between, math.log(ALIKE), texts)
    return judged(
        "synthesizer-alike",
        message("{values} (perplexity / softmax's)", values=tables.each_over_time([
            (TITLES[name], over[name]) for name in names])),
        estimate and replace(estimate, value=abs(estimate.value)), [check], _ratio_table(evidence, over, names),
        _ratio_chart(over, names), commands.evaluated(_stories("softmax", *names)), alike=ALIKE - 1)


def _mixtures(evidence: Evidence, over: Mapping[str, Samples]) -> Statement:
    checks = [no_worse(message("{kind} at softmax or better", kind=TITLES[name]), between, texts=texts)
              for name in MIXED for between, texts in [compared(evidence, name)]]
    return judged(
        "synthesizer-mixtures",
        message("{values} (perplexity / softmax's)", values=tables.each_over_time([
            (TITLES[name], over[name]) for name in MIXED])),
        perplexities(evidence, MIXED), checks, _ratio_table(evidence, over, MIXED), _ratio_chart(over, MIXED),
        commands.evaluated(_stories("softmax", *MIXED)), tables=TABLES)


def _speed(evidence: Evidence) -> Statement:
    rows = evidence.measured.get("speed", {}).get("rows", [])
    checks = [median_below(message("{row} faster", row=_place(row)), row.get("blocks")) for row in rows]
    setting = {"what": "whole model", "against": "fused softmax", "texts": 8, "tokens": 256}
    batch: list[Any] = next((row.get("blocks", []) for row in rows if setting.items() <= row.items()), [])
    table = [{N_("measured part"): _place(row), "source": tables.NOTHING,
              N_("here, time of random / time of softmax"): message(
                  "{median:.3f} ({low:.3f} to {high:.3f})", median=row["median"], low=row["quartiles"][0],
                  high=row["quartiles"][1])}
             for row in rows]
    points = [{"name": _place(row), "value": value, "which": which} for row in rows for value, which in (
        (row["median"], message("median")), *((quartile, message("quartiles")) for quartile in row["quartiles"]))]
    chart = tables.chart("dots", points, message("time of random / time of softmax"), (
        message("{name} {value:.2f}", name=_place(row), value=row["median"]) for row in rows),
                         rule=(1.0, message("equal")))
    return judged(
        "synthesizer-speed",
        message("{values} (time of random / softmax's)", values=tables.each([
            (other, message("{low} to {high}", low=f"{min(medians):.2f}", high=f"{max(medians):.2f}"))
            for other in AGAINST if (medians := [row["median"] for row in rows if row["against"] == other])])),
        of_values([-math.log(ratio) for ratio in batch], 0), checks, table, chart, "python -m studies.claims speed")


def _place(row: dict) -> str:
    """Returns for example `whole model, 8 × 256, against fused softmax`: texts per batch × tokens per text."""
    return message("{what}, {texts} × {tokens}, against {other}", what=message(row["what"]), texts=row["texts"],
                   tokens=row["tokens"], other=message(row["against"]))
