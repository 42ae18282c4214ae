"""Claim 3: Selective attention (Leviathan, Kalman and Matias 2024, arXiv 2410.02703)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from models.studies.claims import commands, tables
from models.studies.claims.evidence import Evidence, Metric
from models.studies.claims.statement import Chart, Claim, Statement
from models.studies.claims.synthesizer import perplexity
from models.studies.claims.verdict import Check, Samples, below, conclude, differences, fact, not_above

EVENTS = (6, 12, 24, 48, 96)
TRAINED = 24  # events of the longest text of training
SOLVED = 0.99  # share of right answers
LOST = 0.5  # share of right answers below which a model cannot retrieve
MOST = 2.0  # factor: more than half of the context is dropped
KINDS = {"selective": "selective", "softmax": "softmax", "log-n": "log n", "random": "random"}


def right_answers(events: int) -> Callable[[Metric], float]:
    """Reads the share of right answers at this number of events."""
    def read(metric: Metric) -> float:
        return metric["accuracy_by_events"][str(events)]

    return read


def claim(evidence: Evidence) -> Claim:
    samples = {name: evidence.samples(f"stories-{name}", perplexity)
               for name in ("softmax", "selective", "selective-memory")}
    answers = {name: {events: evidence.samples(f"assignment-{name}", right_answers(events)) for events in EVENTS}
               for name in KINDS}
    return Claim("selective", "Selective attention: tokens may vote to forget others",
                 "Leviathan, Kalman and Matias 2024, arXiv 2410.02703",
                 "The source trained models of about 100 million parameters on C4 with a context of 512 and more. "
                 "Here: 2.6 million and a context of 256. The source names variable assignment without its settings; "
                 "ours are our own.",
                 [_perplexity(samples), _memory_loss(samples), _solved(answers), _longer(answers), _random(answers),
                  _memory(evidence, samples)])


def _pair(samples: Mapping[str, Samples], name: str, check: Check, theirs: str, **words: str) -> Statement:
    """Selective attention, plain or with the memory loss, against softmax."""
    over = tables.ratios(samples[name], samples["softmax"])
    title = name.replace("selective-memory", "selective, memory loss")
    names = [("softmax", samples["softmax"]), (title, samples[name])]
    table = tables.table([(label, "", values) for label, values in names], ".2f")
    table += [{**row, "source": theirs} for row in tables.table([(f"{title} / softmax", "", over)])]
    columns = list(dict.fromkeys(column for row in table for column in row))
    table = [{column: row.get(column, tables.NOTHING) for column in columns} for row in table]
    points = tables.dots([(title, None, over)])
    chart = Chart("dots", points, "perplexity divided by softmax's", rule=(1.0, "softmax"),
                  alt=f"{title} over softmax: " + "; ".join(
                      f"{steps:,} steps {tables.cell(values, '.3f')}" for steps, values in over.items()))
    return Statement(verdict=conclude([check]), table=table, chart=chart if points else None,
                     command=commands.evaluated(["stories-softmax", f"stories-{name}"]), **words)


def _perplexity(samples: Mapping[str, Samples]) -> Statement:
    check = below("selective below softmax", differences(samples["selective"], samples["softmax"], math.log))
    return _pair(samples, "selective", check, "below 1", key="selective-perplexity",
                 text="Selective attention has a lower perplexity than softmax at the same size.",
                 source="equal to a standard transformer with about twice the heads and parameters of attention; its "
                        "perplexities are not recoverable",
                 sure="Read in the paper's abstract; a summary adds “consistently better, growing with size”.",
                 rule="perplexity below softmax's, beyond chance; parameters, data and steps are equal",
                 reason="The training may be too short for the mask to pay.")


def _memory_loss(samples: Mapping[str, Samples]) -> Statement:
    check = not_above("with the memory loss not above softmax",
                      differences(samples["selective-memory"], samples["softmax"], math.log))
    return _pair(samples, "selective-memory", check, "1 or less", key="selective-loss",
                 text="Trained to forget more (memory loss), it is still no worse than softmax.",
                 source="not recoverable: no number for this in what we read",
                 sure="The abstract has the memory that is saved at equal perplexity, see the last statement.",
                 rule="perplexity not above softmax's by more than 1%",
                 reason="The memory loss asks for forgetting from the first step, before the model knows what it can "
                        "do without.")


def _events_table(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> list[dict[str, str]]:
    return tables.wide([(KINDS[name], answers[name]) for name in names], EVENTS, "events")


def _events_chart(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> Chart | None:
    steps = tables.best_budget([samples for name in names for samples in answers[name].values()])
    points = tables.lines([(KINDS[name], answers[name]) for name in names], steps)
    if not points:
        return None
    alt = "; ".join(f"{point['name']} at {point['x']} events {point['value']:.1%}" for point in points)
    return Chart("lines", points, "right answers", f"events; training ended at {TRAINED}", alt=alt, form=".0%")


SETTINGS = "The source's vocabulary, lengths and accuracies are in no text that we read."
NONE = "not recoverable"


def _solves(answers: Mapping[str, Mapping[int, Samples]], events: int) -> Check:
    return not_above(f"at least {SOLVED:.0%} right at {events} events", {
        steps: {seed: SOLVED - value for seed, value in values.items()}
        for steps, values in answers["selective"][events].items()}, 0.0)


def _solved(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    check = _solves(answers, TRAINED)
    names = ("selective", "softmax")
    return Statement(
        "selective-solved", "Selective attention solves variable assignment.", NONE, SETTINGS,
        f"at least {SOLVED:.0%} of the answers at {TRAINED} events, the longest of training",
        conclude([check]), _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated(["assignment-selective", "assignment-softmax"]),
        "Learning this task depends more on the recipe than on the attention; see models/recipes.py.")


def _longer(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [_solves(answers, events) for events in (48, 96)]
    checks += [below(f"selective above {KINDS[other]} at {events} events",
                     differences(answers[other][events], answers["selective"][events]))
               for other in ("softmax", "log-n") for events in (48, 96)]
    names = ("selective", "softmax", "log-n")
    return Statement(
        "selective-longer", "It also solves texts that are longer than those of training, better than the others.",
        NONE, SETTINGS, f"at 48 and 96 events, twice and four times the training's, at least {SOLVED:.0%} of the "
        "answers, and more than softmax and than log n, beyond chance", conclude(checks), _events_table(answers, names),
        _events_chart(answers, names), commands.evaluated([f"assignment-{name}" for name in names]),
        "At twice the training's length all are nearly perfect, so that there is little to tell apart; at four times "
        "F has summed over positions that no training text had.")


def _random(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [below(f"random below {LOST:.0%} at {TRAINED} events", answers["random"][TRAINED], LOST),
              below("random below softmax", differences(answers["random"][TRAINED], answers["softmax"][TRAINED]))]
    names = ("random", "softmax", "selective")
    return Statement(
        "selective-random", "Scores that do not look at the text cannot retrieve: random fails at this task.",
        "random attention matches trained Transformers on memorising and arithmetic, and fails at retrieval",
        "Read in the abstract of another paper (MixiT, arXiv 2506.01115), whose random attention is frozen; no number.",
        f"fewer than {LOST:.0%} right answers at {TRAINED} events and fewer than softmax, beyond chance; it reads at "
        "most 24", conclude(checks), _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated([f"assignment-{name}" for name in names]),
        "Short texts leave few places where the answer can stand, so that much can be guessed.")


CURVES = {"selective": ("selective", "chosen"), "selective, the oldest go": ("selective", "chosen-oldest"),
          "memory loss": ("selective-memory", "chosen"),
          "memory loss, the oldest go": ("selective-memory", "chosen-oldest"),
          "softmax, the oldest go": ("softmax", "chosen")}


def _memory(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    curves = {title: evidence.memory(f"stories-{name}", way) for title, (name, way) in CURVES.items()}
    limit = curves["softmax, the oldest go"].get(1)
    comparable = {title: bool(differences(samples[CURVES[title][0]], samples["softmax"])) for title in CURVES}
    best = {title: largest_factor(curves[title], limit if comparable[title] else None)
            for title in ("selective", "memory loss")}
    known = [factor for factor in best.values() if factor is not None]
    found = fact(f"more than half of the memory dropped, here up to {max(known, default=0):g}x",
                 max(known) > MOST if known else None)
    checks = [Check(found.what, found.outcome, 1 if known else 0)]
    checks += [_by_mask(title, factor, curves[title], curves[f"{title}, the oldest go"])
               for title, factor in best.items()]
    factors = sorted({factor for curve in curves.values() for factor in curve})
    table = [{"perplexity with 1 / x of the memory": title} | {
        f"{factor:g}x": f"{curve[factor]:.2f}" if factor in curve else tables.NOTHING for factor in factors}
        for title, curve in curves.items() if curve] or [{"perplexity with 1 / x of the memory": tables.NOTHING}]
    points = [{"name": title, "x": factor, "seed": 0, "value": round(value, 3)}
              for title, curve in curves.items() for factor, value in curve.items()]
    chart = Chart("lines", points, "perplexity", "memory of a full context divided by what is kept",
                  rule=(limit, "softmax with all its memory") if limit else None,
                  alt="; ".join(f"{point['name']} {point['x']:g}x {point['value']:.2f}" for point in points))
    return Statement(
        "selective-memory", "Most of the context can be dropped at equal perplexity.",
        "16x less memory of attention at a context of 512, 25x at 1,024, 47x at 2,048, at softmax's perplexity",
        "Read in the paper's abstract.",
        f"at a context of 256, with more than {MOST:g} times less memory, the perplexity is still not above that of "
        "softmax with all of its own, with or without the memory loss; and that F chooses well: with the least memory "
        "that is still enough, each does better than if it forgot its oldest tokens, beyond chance. A last control, "
        "which decides nothing: softmax that forgets its oldest",
        conclude(checks), table, chart if points else None,
        "for name in stories-selective stories-selective-memory stories-softmax; do "
        "python -m models.studies.forgetting $name; done\npython -m models.studies.claims",
        "A model that reads better to begin with can afford to forget anything; and in so short a context the oldest "
        "tokens are not far away. In the source the gain grows with the context.")


def _by_mask(title: str, factor: float | None, chosen: dict[float, float], oldest: dict[float, float]) -> Check:
    """Does forgetting what F says beat forgetting the oldest, at 1 / factor of the memory?"""
    what = f"{title}: better than forgetting the oldest"
    if factor is None or factor not in chosen or factor not in oldest:
        return below(what, {})
    return below(f"{what} at {factor:g}x", {1: {0: math.log(chosen[factor] / oldest[factor])}})


def largest_factor(curve: dict[float, float], limit: float | None) -> float | None:
    """The largest factor up to which no perplexity of the curve is above `limit`; 0 if even everything is not enough,
    None while something is not measured."""
    if not curve or limit is None:
        return None
    result = 0.0
    for factor, value in sorted(curve.items()):
        if value > limit:
            break
        result = factor
    return result
