"""Claim 3: Selective attention (Leviathan, Kalman and Matias 2024, arXiv 2410.02703)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from models.studies.claims import commands, tables
from models.studies.claims.evidence import Evidence, Metric
from models.studies.claims.statement import Chart, Claim, Statement
from models.studies.claims.synthesizer import perplexity
from models.studies.claims.verdict import Check, Samples, below, conclude, differences, fact, not_above
from models.words import N_, listed, told

EVENTS = (6, 12, 24, 48, 96)
TRAINED = 24  # events of the longest text of training
SOLVED = 0.99  # share of right answers
LOST = 0.5  # share of right answers below which a model cannot retrieve
MOST = 2.0  # factor: more than half of the context is dropped
KINDS = {"selective": told("selective"), "softmax": told("softmax"), "log-n": told("log n"), "random": told("random")}


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
    return Claim("selective", told("Selective attention: tokens may vote to forget others"),
                 "Leviathan, Kalman and Matias 2024, arXiv 2410.02703",
                 told("The source trained models of about 100 million parameters on C4 with a context of 512 and "
                      "more. Here: 2.6 million and a context of 256. The source names variable assignment without "
                      "its settings; ours are our own."),
                 [_perplexity(samples), _memory_loss(samples), _solved(answers), _longer(answers), _random(answers),
                  _memory(evidence, samples)])


def _pair(samples: Mapping[str, Samples], name: str, check: Check, theirs: str, **words: str) -> Statement:
    """Selective attention, plain or with the memory loss, against softmax."""
    over = tables.ratios(samples[name], samples["softmax"])
    title = told("selective, memory loss") if name == "selective-memory" else told("selective")
    names = [(told("softmax"), samples["softmax"]), (title, samples[name])]
    table = tables.table([(label, "", values) for label, values in names], ".2f")
    table += [{**row, "source": theirs} for row in tables.table([(told("{title} / softmax", title=title), "", over)])]
    columns = list(dict.fromkeys(column for row in table for column in row))
    table = [{column: row.get(column, tables.NOTHING) for column in columns} for row in table]
    points = tables.dots([(title, None, over)])
    chart = Chart("dots", points, told("perplexity divided by softmax's"), rule=(1.0, "softmax"),
                  alt=told("{title} over softmax: {values}", title=title, values=listed(
                      (told("{steps:,} steps {value}", steps=steps, value=tables.cell(values, ".3f"))
                       for steps, values in over.items()), "; ")))
    return Statement(verdict=conclude([check]), table=table, chart=chart if points else None,
                     command=commands.evaluated(["stories-softmax", f"stories-{name}"]), **words)


def _perplexity(samples: Mapping[str, Samples]) -> Statement:
    check = below(told("selective below softmax"), differences(samples["selective"], samples["softmax"], math.log))
    return _pair(samples, "selective", check, told("below 1"), key="selective-perplexity",
                 text=told("Selective attention has a lower perplexity than softmax at the same size."),
                 source=told("equal to a standard transformer with about twice the heads and parameters of "
                             "attention; its perplexities are not recoverable"),
                 sure=told("Read in the paper's abstract; a summary adds “consistently better, growing with size”."),
                 rule=told("perplexity below softmax's, beyond chance; parameters, data and steps are equal"),
                 reason=told("The training may be too short for the mask to pay."))


def _memory_loss(samples: Mapping[str, Samples]) -> Statement:
    check = not_above(told("with the memory loss not above softmax"),
                      differences(samples["selective-memory"], samples["softmax"], math.log))
    return _pair(samples, "selective-memory", check, told("1 or less"), key="selective-loss",
                 text=told("Trained to forget more (memory loss), it is still no worse than softmax."),
                 source=told("not recoverable: no number for this in what we read"),
                 sure=told("The abstract has the memory that is saved at equal perplexity, see the last statement."),
                 rule=told("perplexity not above softmax's by more than 1%"),
                 reason=told("The memory loss asks for forgetting from the first step, before the model knows what "
                             "it can do without."))


def _events_table(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> list[dict[str, str]]:
    return tables.wide([(KINDS[name], answers[name]) for name in names], EVENTS, "events")


def _events_chart(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> Chart | None:
    steps = tables.best_budget([samples for name in names for samples in answers[name].values()])
    points = tables.lines([(KINDS[name], answers[name]) for name in names], steps)
    if not points:
        return None
    alt = listed((told("{name} at {x} events {value:.1%}", name=point["name"], x=point["x"], value=point["value"])
                  for point in points), "; ")
    return Chart("lines", points, told("right answers"),
                 told("events; training ended at {trained}", trained=TRAINED), alt=alt, form=".0%")


SETTINGS = told("The source's vocabulary, lengths and accuracies are in no text that we read.")
NONE = told("not recoverable")


def _solves(answers: Mapping[str, Mapping[int, Samples]], events: int) -> Check:
    return not_above(told("at least {solved:.0%} right at {events} events", solved=SOLVED, events=events), {
        steps: {seed: SOLVED - value for seed, value in values.items()}
        for steps, values in answers["selective"][events].items()}, 0.0)


def _solved(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    check = _solves(answers, TRAINED)
    names = ("selective", "softmax")
    return Statement(
        "selective-solved", told("Selective attention solves variable assignment."), NONE, SETTINGS,
        told("at least {solved:.0%} of the answers at {trained} events, the longest of training", solved=SOLVED,
             trained=TRAINED),
        conclude([check]), _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated(["assignment-selective", "assignment-softmax"]),
        told("Learning this task depends more on the recipe than on the attention; see models/recipes.py."))


def _longer(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [_solves(answers, events) for events in (48, 96)]
    checks += [below(told("selective above {kind} at {events} events", kind=KINDS[other], events=events),
                     differences(answers[other][events], answers["selective"][events]))
               for other in ("softmax", "log-n") for events in (48, 96)]
    names = ("selective", "softmax", "log-n")
    return Statement(
        "selective-longer", told("It also solves texts that are longer than those of training, better than the "
                                 "others."),
        NONE, SETTINGS, told("at 48 and 96 events, twice and four times the training's, at least {solved:.0%} of the "
                             "answers, and more than softmax and than log n, beyond chance",
                             solved=SOLVED),
        conclude(checks), _events_table(answers, names),
        _events_chart(answers, names), commands.evaluated([f"assignment-{name}" for name in names]),
        told("At twice the training's length all are nearly perfect, so that there is little to tell apart; at four "
             "times F has summed over positions that no training text had."))


def _random(answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [below(told("random below {lost:.0%} at {trained} events", lost=LOST, trained=TRAINED),
                    answers["random"][TRAINED], LOST),
              below(told("random below softmax"), differences(answers["random"][TRAINED], answers["softmax"][TRAINED]))]
    names = ("random", "softmax", "selective")
    return Statement(
        "selective-random", told("Scores that do not look at the text cannot retrieve: random fails at this task."),
        told("random attention matches trained Transformers on memorising and arithmetic, and fails at retrieval"),
        told("Read in the abstract of another paper (MixiT, arXiv 2506.01115), whose random attention is frozen; no "
             "number."),
        told("fewer than {lost:.0%} right answers at {trained} events and fewer than softmax, beyond chance; it "
             "reads at most 24", lost=LOST, trained=TRAINED),
        conclude(checks), _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated([f"assignment-{name}" for name in names]),
        told("Short texts leave few places where the answer can stand, so that much can be guessed."))


CURVES = {"selective": ("selective", "chosen"), N_("selective, the oldest go"): ("selective", "chosen-oldest"),
          N_("memory loss"): ("selective-memory", "chosen"),
          N_("memory loss, the oldest go"): ("selective-memory", "chosen-oldest"),
          N_("softmax, the oldest go"): ("softmax", "chosen")}


def _memory(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    curves = {title: evidence.memory(f"stories-{name}", way) for title, (name, way) in CURVES.items()}
    limit = curves["softmax, the oldest go"].get(1)
    comparable = {title: bool(differences(samples[CURVES[title][0]], samples["softmax"])) for title in CURVES}
    best = {title: largest_factor(curves[title], limit if comparable[title] else None)
            for title in ("selective", "memory loss")}
    known = [factor for factor in best.values() if factor is not None]
    found = fact(told("more than half of the memory dropped, here up to {known:g}x", known=max(known, default=0)),
                 max(known) > MOST if known else None)
    checks = [Check(found.what, found.outcome, 1 if known else 0)]
    checks += [_by_mask(title, factor, curves[title], curves[f"{title}, the oldest go"])
               for title, factor in best.items()]
    factors = sorted({factor for curve in curves.values() for factor in curve})
    table = [{N_("perplexity with 1 / x of the memory"): told(title)} | {
        f"{factor:g}x": f"{curve[factor]:.2f}" if factor in curve else tables.NOTHING for factor in factors}
        for title, curve in curves.items() if curve] or [{"perplexity with 1 / x of the memory": tables.NOTHING}]
    points = [{"name": title, "x": factor, "seed": 0, "value": round(value, 3)}
              for title, curve in curves.items() for factor, value in curve.items()]
    chart = Chart("lines", points, told("perplexity"), told("memory of a full context divided by what is kept"),
                  rule=(limit, told("softmax with all its memory")) if limit else None,
                  alt=listed((told("{name} {x:g}x {value:.2f}", name=told(str(point["name"])), x=point["x"],
                                   value=point["value"]) for point in points), "; "))
    return Statement(
        "selective-memory", told("Most of the context can be dropped at equal perplexity."),
        told("16x less memory of attention at a context of 512, 25x at 1,024, 47x at 2,048, at softmax's perplexity"),
        told("Read in the paper's abstract."),
        told("at a context of 256, with more than {most:g} times less memory, the perplexity is still not above that "
             "of softmax with all of its own, with or without the memory loss; and that F chooses well: with the "
             "least memory that is still enough, each does better than if it forgot its oldest tokens, beyond "
             "chance. A last control, which decides nothing: softmax that forgets its oldest", most=MOST),
        conclude(checks), table, chart if points else None,
        "for name in stories-selective stories-selective-memory stories-softmax; do "
        "python -m models.studies.forgetting $name; done\npython -m models.studies.claims",
        told("A model that reads better to begin with can afford to forget anything; and in so short a context the "
             "oldest tokens are not far away. In the source the gain grows with the context."))


def _by_mask(title: str, factor: float | None, chosen: dict[float, float], oldest: dict[float, float]) -> Check:
    """Does forgetting what F says beat forgetting the oldest, at 1 / factor of the memory?"""
    what = told("{title}: better than forgetting the oldest", title=told(title))
    if factor is None or factor not in chosen or factor not in oldest:
        return below(what, {})
    return below(told("{what} at {factor:g}x", what=what, factor=factor),
                 {1: {0: math.log(chosen[factor] / oldest[factor])}})


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
