"""Claim 7: a gate after attention (Qiu et al. 2025, arXiv 2505.06708)."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from models.messages import N_, listed, message
from models.tasks.stories import CONTEXT
from studies.claims import Chart, Claim, Statement, commands, tables
from studies.claims.contrast import judged, of_texts
from studies.claims.evidence import Evidence
from studies.claims.sources.synthesizer import compared, perplexities, perplexity
from studies.claims.verdict import Estimate, below, below_in_texts

PLAIN, GATED = MODELS = ("stories-softmax", "stories-gated")
ALSO = "stories-selective"  # a model shown for comparison, on which no verdict depends
TITLES = {PLAIN: message("softmax"), GATED: message("gated"), ALSO: message("selective")}
MOST = 0.5  # upper limit of the sink relative to softmax's, and of the mean of the gates
BREAKS = 2.0  # factor on the perplexity above which a model counts as broken
# attention weight on the first token if every row of a causal map is uniform
EVEN = statistics.fmean(1 / (i + 1) for i in range(1, CONTEXT))
LONGER = (2 * CONTEXT, 4 * CONTEXT)  # lengths in tokens of the longer texts
MEASURED = f"python -m studies.corpus.sinks {' '.join(TITLES)}\npython -m studies.claims"
REPEATED = message("numbers repeated in another paper's repository")


def claim(evidence: Evidence) -> Claim:
    return Claim("gated", message("Gated attention: each head gates its own output"),
                 "Qiu et al. 2025, arXiv 2505.06708",
                 message("The source: 1.7 and 15 billion parameters, up to 3.5 trillion tokens. Here: 2.6 million, "
                         "ten million tokens."), MODELS, "stories",
                 [_perplexity(evidence), _sink(evidence), _sparse(evidence), _by_token(evidence), _longer(evidence)])


def _perplexity(evidence: Evidence) -> Statement:
    samples = {name: evidence.samples(name, perplexity) for name in MODELS}
    over = tables.ratios(samples[GATED], samples[PLAIN])
    between, texts = compared(evidence, "gated")
    check = below(message("gated below softmax"), between, texts=texts)
    points = tables.dots([(TITLES[GATED], None, over)])
    alt = listed((message("{steps:,} steps {value}", steps=steps, value=tables.cell(values, ".3f"))
                  for steps, values in over.items()), "; ")
    chart = Chart("dots", points, message("perplexity / softmax's"), rule=(1.0, message("softmax")),
                  alt=message("gated over softmax: {values}", values=alt))
    return judged(
        "gated-perplexity", message("{value} (perplexity / softmax's)", value=tables.over_time(over)),
        perplexities(evidence, ["softmax"], ["gated"]), [check],
        tables.table([(TITLES[GATED], message("below 1"), over)]), chart if points else None,
        commands.evaluated(MODELS))


def _sink(evidence: Evidence) -> Statement:
    by_name = _studies(evidence)
    pairs = _pairs(evidence, {name: study["by_window"] for name, study in by_name.items()})
    less = [gated - EVEN - MOST * (plain - EVEN) for plain, gated in pairs]
    rows = [{N_("attention"): TITLES[name], N_("source"): theirs, N_("here, weight on the first token"):
             f"{statistics.fmean(study['by_window']):.1%}" if (study := by_name.get(name)) else tables.NOTHING}
            for name, theirs in zip(TITLES, ("46.7%", "4.8%", tables.NOTHING), strict=True)]
    rows.append({"attention": message("even weights"), "source": tables.NOTHING,
                 "here, weight on the first token": f"{EVEN:.1%}"})
    points = [{"name": message("layer {layer}", layer=layer), "value": round(statistics.fmean(shares), 4),
               "which": TITLES[name]}
              for name, study in by_name.items() for layer, shares in enumerate(study["share"], 1)]
    return judged(
        "gated-sink",
        tables.each([*((TITLES[name], f"{statistics.fmean(study['by_window']):.1%}")
                       for name, study in by_name.items()),
                     (message("even weights"), f"{EVEN:.1%}")]),
        _removed(pairs), [below_in_texts(message("less than half of softmax's"), less)], rows,
        _dots(points, message("share of the weights"), ".0%", (EVEN, message("even weights"))), MEASURED, n=CONTEXT)


def _sparse(evidence: Evidence) -> Statement:
    gates = _studies(evidence).get(GATED, {}).get("gates", {})
    windows = gates.get("by_window")
    quiet = [gates["first"] - value for value in windows] if windows else None
    ours = (f"{statistics.fmean(windows):.3f}", f"{gates['closed']:.0%}", f"{gates['first']:.3f}",
            f"{gates['others']:.3f}") if windows else (tables.NOTHING,) * 4
    rows = [{N_("gates"): what, N_("source"): theirs, N_("here"): here} for (what, theirs), here in zip((
        (message("mean"), "0.185"), (message("below 0.1"), "37%"),
        (message("of the first token"), message("2.6 times lower")), (message("of the other tokens"), tables.NOTHING)),
        ours, strict=True)]
    points = [{"name": message("layer {layer}", layer=layer), "value": round(statistics.fmean(values), 4),
               "which": message("here")} for layer, values in enumerate(gates.get("mean", ()), 1)]
    return judged(
        "gated-sparse",
        message("mean gate {mean}; {closed} below 0.1; first token {first}, others {others}",
                mean=ours[0], closed=ours[1], first=ours[2], others=ours[3]),
        of_texts(windows),
        [below_in_texts(message("mean below one half"), windows, MOST),
         below_in_texts(message("first token below others"), quiet)],
        rows, _dots(points, message("mean of the gates"), ".2~f"), MEASURED)


def _by_token(evidence: Evidence) -> Statement:
    study = _studies(evidence).get(GATED, {})
    losses, numbers = study.get("losses", {}), study.get("perplexity", {})

    def rises(way: str) -> list[float] | None:
        """Returns for each window ln BREAKS minus the loss difference in nats; it is below 0 if the model breaks."""
        return [math.log(BREAKS) - (loss - own) for loss, own in zip(losses[way], losses["own"], strict=True)] \
            if losses else None

    risen = [constant - own for constant, own in zip(losses["constant"], losses["own"], strict=True)] \
        if losses else None
    labels = {"own": message("as the model computes them"), "constant": message("each head's mean for every token"),
              "open": message("all 1")}
    rows = [{N_("gates"): label, N_("source"): theirs, N_("here, perplexity"): f"{numbers[way]:.1f}" if numbers else
             tables.NOTHING} for (way, label), theirs in zip(labels.items(), (
                 "12", message("112 (one constant for all)"), message("breaks")), strict=True)]
    points = [{"name": label, "value": numbers[way], "which": message("here")} for way,
               label in labels.items() if numbers]
    return judged(
        "gated-token",
        message("perplexity {values}", values=tables.each([(label, f"{numbers[way]:.1f}")
                                                           for way, label in labels.items() if numbers])),
        of_texts(risen),
        [below_in_texts(message("doubled with mean gates"), rises("constant")),
         below_in_texts(message("doubled with gates of 1"), rises("open"))],
        rows, _dots(points, message("perplexity"), ".4~r"), MEASURED)


def _longer(evidence: Evidence) -> Statement:
    losses = {name: {n: _losses(evidence, name, n) for n in (CONTEXT, *LONGER)} for name in MODELS}

    def less(n: int) -> list[float]:
        return [gated - plain for plain, gated in _pairs(evidence, {name: losses[name][n] for name in MODELS})]

    rows = [{N_("attention"): TITLES[name], N_("source, RULER's score (higher is better)"): theirs, **{
        message("here, perplexity at {n} tokens",
                n=n): f"{math.exp(statistics.fmean(values)):.1f}" if values else tables.NOTHING
        for n, values in losses[name].items()}} for name, theirs in zip(MODELS, ("31.65", "58.82"), strict=True)]
    points = [{"name": TITLES[name], "x": n, "seed": 0, "value": round(math.exp(statistics.fmean(values)), 3)}
              for name in MODELS for n, values in losses[name].items() if values]
    chart = tables.chart("lines", points, message("perplexity"), (
        message("{name}, {n} tokens: {value:.1f}", name=p["name"], n=p["x"], value=p["value"]) for p in points),
                         message("tokens"))
    return judged(
        "gated-longer",
        message("perplexity at {n} tokens: {values}", n=LONGER[-1], values=tables.each([
            (TITLES[name], f"{math.exp(statistics.fmean(by_length[LONGER[-1]])):.1f}")
            for name, by_length in losses.items() if by_length[LONGER[-1]]])),
        of_texts([-value for value in less(LONGER[-1])]),
        [below_in_texts(message("below softmax at {n} tokens", n=n), less(n)) for n in LONGER], rows,
        chart, f"python -m studies.corpus.lengths {' '.join(MODELS)}\npython -m studies.claims", repeated=REPEATED)


def _studies(evidence: Evidence) -> dict[str, dict[str, Any]]:
    """Returns model -> measurement of studies/corpus/sinks.py, for the models that have one."""
    return {name: study for name in TITLES if (study := evidence.study(name, "sink"))}


def _pairs(evidence: Evidence, values: Mapping[str, Sequence[float]]) -> list[tuple[float, float]]:
    """Returns (softmax, gated) values text by text; empty if a model was not measured or has to be trained again."""
    plain, gated = (values.get(name, ()) for name in MODELS)
    is_pair = len(plain) == len(gated) and all(evidence.is_compared(name) for name in MODELS)
    return list(zip(plain, gated, strict=True)) if is_pair else []


def _removed(pairs: Sequence[tuple[float, float]]) -> Estimate | None:
    """Returns the share of softmax's attention to the first token, in excess of even weights, that gates remove."""
    if len(pairs) < 2 or (excess := statistics.fmean(plain for plain, _ in pairs) - EVEN) <= 0:
        return None
    ratio = (statistics.fmean(gated for _, gated in pairs) - EVEN) / excess
    around = of_texts([(gated - EVEN - ratio * (plain - EVEN)) / excess for plain, gated in pairs])
    return around and replace(around, value=1 - ratio)


def _losses(evidence: Evidence, name: str, n: int) -> Sequence[float]:
    """Returns losses (T,) in nats of texts with n tokens; the tokens are the same at every length."""
    readings = evidence.study(name, "length").get("readings", {})
    return readings.get("trained", {}).get(str(n), {}).get("texts", {}).get("losses", [])


def _dots(points: list[dict[str, Any]], title: str, form: str, rule: tuple[float, str] | None = None) -> Chart | None:
    return tables.chart("dots", points, title, (
        message("{name}, {which}: {value}", name=p["name"], which=p["which"], value=f"{p['value']:.3g}")
        for p in points), rule=rule, form=form)
