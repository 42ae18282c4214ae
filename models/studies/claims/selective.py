"""Claim 3: Selective attention (Leviathan, Kalman and Matias 2024, arXiv 2410.02703)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping

from numpy import ndarray

from models.studies.claims import commands, tables
from models.studies.claims.evidence import Evidence, Metric
from models.studies.claims.statement import Chart, Claim, Statement
from models.studies.claims.synthesizer import perplexity
from models.studies.claims.verdict import (
    TOLERANCE,
    UNKNOWN,
    YES,
    Check,
    Samples,
    below,
    below_in_texts,
    conclude,
    differences,
    fact,
    no_worse,
)
from models.tasks.stories import CONTEXT
from models.words import N_, listed, told

EVENTS = (6, 12, 24, 48, 96)
LONG = (48, 96)
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


def last_quarter(events: int) -> Callable[[Metric], float]:
    """The same of questions in the last quarter of the events: 73 to 96 of 96."""
    return lambda metric: metric["accuracy_by_quarter"][str(events)][-1]


def elsewhere(events: int) -> Callable[[Metric], float]:
    """The same where the event before the question names another variable."""
    return lambda metric: metric["elsewhere_by_events"][str(events)]


def claim(evidence: Evidence) -> Claim:
    samples = {name: evidence.samples(f"stories-{name}", perplexity)
               for name in ("softmax", "selective", "selective-memory")}
    answers = {name: {events: evidence.samples(f"assignment-{name}", right_answers(events)) for events in EVENTS}
               for name in KINDS}
    late = {name: {events: evidence.samples(f"assignment-{name}", last_quarter(events)) for events in LONG}
            for name in KINDS}
    return Claim("selective", told("Selective attention: tokens may vote to forget others"),
                 "Leviathan, Kalman and Matias 2024, arXiv 2410.02703",
                 told("The source trained models of about 100 million parameters on C4 with a context of 512 and "
                      "more. Here: 2.6 million and a context of 256. The source names variable assignment without "
                      "its settings; ours are our own."),
                 (*(f"stories-{name}" for name in samples), *(f"assignment-{name}" for name in KINDS)), "stories",
                 [_perplexity(evidence, samples), _memory_loss(evidence, samples), _solved(answers),
                  _longer(answers, late), _random(evidence, answers), _memory(evidence, samples), _blimp(evidence),
                  _pieces(evidence)])


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


def _texts(evidence: Evidence, name: str) -> float:
    return evidence.text_error(f"stories-{name}", "stories-softmax", CONTEXT, "losses")


def _perplexity(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    check = below(told("selective below softmax"), differences(samples["selective"], samples["softmax"], math.log),
                  texts=_texts(evidence, "selective"))
    return _pair(samples, "selective", check, told("below 1"), key="selective-perplexity",
                 text=told("Selective attention has a lower perplexity than softmax at the same size."),
                 source=told("equal to a standard transformer with about twice the heads and parameters of "
                             "attention; its perplexities are not recoverable"),
                 sure=told("Read in the paper's abstract; a summary adds “consistently better, growing with size”."),
                 rule=told("perplexity below softmax's, beyond chance; parameters, data and steps are equal"),
                 reason=told("The training may be too short for the mask to pay."))


def _memory_loss(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    check = no_worse(told("with the memory loss not above softmax"),
                     differences(samples["selective-memory"], samples["softmax"], math.log),
                     texts=_texts(evidence, "selective-memory"))
    return _pair(samples, "selective-memory", check, told("1 or less"), key="selective-loss",
                 text=told("Trained to forget more (memory loss), it is still no worse than softmax."),
                 source=told("not recoverable: no number for this in what we read"),
                 sure=told("The abstract has the memory that is saved at equal perplexity, see the last statement."),
                 rule=told("perplexity above softmax's by less than 1%, beyond chance"),
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


def _solves(answers: Mapping[str, Mapping[int, Samples]], events: int, what: str = "") -> Check:
    what = what or told("at least {solved:.0%} right at {events} events", solved=SOLVED, events=events)
    return below(what, {
        steps: {seed: SOLVED - value for seed, value in values.items()}
        for steps, values in answers["selective"][events].items()})


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


def _longer(answers: Mapping[str, Mapping[int, Samples]], late: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [_solves(late, events, told("at least {solved:.0%} right in the last quarter of {events} events",
                                         solved=SOLVED, events=events)) for events in LONG]
    checks += [below(told("selective above {kind} in the last quarter of {events} events", kind=KINDS[other],
                          events=events), differences(late[other][events], late["selective"][events]))
               for other in ("softmax", "log-n") for events in LONG]
    names = ("selective", "softmax", "log-n")
    rows = tables.wide([(told("{kind}, last quarter", kind=KINDS[name]), {
        events: late[name].get(events, {}) for events in EVENTS}) for name in names], EVENTS, "events")
    return Statement(
        "selective-longer", told("It also solves texts that are longer than those of training, better than the "
                                 "others."),
        NONE, SETTINGS, told("of 48 and 96 events, twice and four times the training's, at least {solved:.0%} of the "
                             "answers in the last quarter, and there more than softmax and than log n, beyond chance. "
                             "A mean over all questions hides what length does: most of them stand early",
                             solved=SOLVED),
        conclude(checks), [*_events_table(answers, names), *rows],
        _events_chart(answers, names), commands.evaluated([f"assignment-{name}" for name in names]),
        told("F has summed over positions that no training text had."))


def _random(evidence: Evidence, answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    away = {name: evidence.samples(f"assignment-{name}", elsewhere(TRAINED)) for name in ("random", "softmax")}
    checks = [below(told("random below {lost:.0%} where the event before names another variable", lost=LOST),
                    away["random"], LOST),
              below(told("random below softmax there"), differences(away["random"], away["softmax"]))]
    names = ("random", "softmax", "selective")
    kinds = {name: {events: evidence.samples(f"assignment-{name}", elsewhere(events)) for events in EVENTS}
             for name in names}
    blind = {label: {events: _blind(evidence, which, events) for events in EVENTS} for label, which in (
        (told("repeating the last digit"), "accuracy_by_events"),
        (told("repeating the last digit, another variable before"), "elsewhere_by_events"))}
    rows = tables.wide([*blind.items(), *((told("{kind}, another variable before", kind=KINDS[name]), kinds[name])
                                          for name in names)], EVENTS, "events")
    return Statement(
        "selective-random", told("Scores that do not look at the text hardly retrieve: random fails at this task."),
        told("random attention matches trained Transformers on memorising and arithmetic, and fails at retrieval"),
        told("Read in the abstract of another paper (MixiT, arXiv 2506.01115), whose random attention is frozen; no "
             "number."),
        told("of {trained} events, fewer than {lost:.0%} right answers and fewer than softmax, beyond chance, where "
             "the event before the question names another variable. Who just repeats the last digit, and knows no "
             "names, answers all other questions right", lost=LOST, trained=TRAINED),
        conclude(checks), [*_events_table(answers, names), *rows], _events_chart(answers, names),
        commands.evaluated([f"assignment-{name}" for name in names]),
        told("Short texts leave few places where the answer can stand, so that some of it can be found by place "
             "alone."))


def _blind(evidence: Evidence, which: str, events: int) -> Samples:
    """What the last digit gets, as a sample of one: the texts are the same for all models."""
    found = evidence.samples("assignment-softmax", lambda metric: metric["blind"][which][str(events)])
    return {steps: dict(list(values.items())[:1]) for steps, values in found.items()}


BLIMP = ("softmax", "log-n", "scalable-softmax", "gated", "selective", "selective-memory", "random", "dense",
         "factorized-random", "factorized-dense", "fixed-random", "random-dense", "dense-softmax", "random-softmax")


def _blimp(evidence: Evidence) -> Statement:
    """Paradigms are drawn again, not pairs: what a model knows of one, it knows of most of its pairs."""
    found = {name: its for name in BLIMP if (its := evidence.study(f"stories-{name}", "blimp"))}
    shares = {name: {which: statistics.fmean(map(int, bits)) for which, bits in its["rights"].items()}
              for name, its in found.items()}
    behind = None
    if "selective" in shares and shares["selective"].keys() == shares.get("softmax", {}).keys():
        behind = [shares["softmax"][which] - share for which, share in shares["selective"].items()]
    rows = [{N_("attention"): name, N_("source"): tables.NOTHING,
             N_("here, pairs right"): f"{its['accuracy']:.1%} ± {1.96 * its['accuracy_error']:.1%}",
             N_("pairs"): f"{its['pairs']:,}"} for name, its in found.items()]
    points = [{"name": name, "value": round(value, 4), "which": which} for name, its in found.items()
              for which, value in ((told("here"), its["accuracy"]), *(
                  (told("95% interval"), its["accuracy"] + sign * 1.96 * its["accuracy_error"]) for sign in (-1, 1)))]
    chart = Chart("dots", points, told("pairs right"), rule=(0.5, told("chance")), form=".0%", alt=listed(
        (told("{name} {value:.1%}", name=name, value=its["accuracy"]) for name, its in found.items()), "; "))
    return Statement(
        "selective-blimp", told("Selective attention also does better on tests that nobody trained it for."),
        told("not recoverable: better on HellaSwag; its accuracies are in no text that we read"),
        told("HellaSwag asks for more than so small a model knows; ours is BLiMP, pairs of sentences of which one is "
             "grammatical."),
        told("without any training for it, selective gives the grammatical sentence of a pair the higher probability "
             "more often than softmax, beyond chance: the same pairs for both, and BLiMP's 67 paradigms drawn again. "
             "By chance half are right; ± is the 95% interval by the choice of pairs. The others decide nothing"),
        conclude([below_in_texts(told("selective above softmax"), behind)]),
        rows or [{"attention": tables.NOTHING, "source": tables.NOTHING, "here, pairs right": tables.NOTHING,
                  "pairs": tables.NOTHING}],
        chart if points else None,
        f"python -m models.studies.blimp {' '.join(f'stories-{name}' for name in found or BLIMP)}",
        told("Grammar of single sentences, of a dozen words, leaves little to forget."))


def _pieces(evidence: Evidence) -> Statement:
    found = evidence.study("stories-selective", "pieces")
    less = [[word - name for name, word in zip(layer["names"], layer["words"], strict=True)]
            for layer in found.get("layers", [])]  # below 0 where more is said against a first piece
    best = min(range(len(less)), key=lambda layer: statistics.fmean(less[layer]), default=0)
    rows = [{N_("layer"): str(number), N_("source"): tables.NOTHING,
             N_("said against a name's first piece"): f"{statistics.fmean(layer['names']):.2f}",
             N_("said against a word"): f"{statistics.fmean(layer['words']):.2f}"}
            for number, layer in enumerate(found.get("layers", []), 1)]
    points = [{"name": told("layer {layer}", layer=number), "value": round(statistics.fmean(layer[kind]), 4),
               "which": which} for number, layer in enumerate(found.get("layers", []), 1)
              for kind, which in (("names", told("name in pieces")), ("words", told("words")))]
    chart = Chart("dots", points, told("said by a token against the one before it"), alt=listed((
        told("{name}, {which}: {value:.2f}", name=p["name"], which=p["which"], value=p["value"]) for p in points),
        "; "))
    return Statement(
        "selective-pieces", told("Later pieces of a name ask that its first piece be forgotten."),
        told("an example: in “Bar ##ack Obama” the second piece masks the first; no number"),
        told("The example was told to us, not read in the paper; ours counts over held-out texts."),
        told("in some layer of stories-selective, the second piece of a capitalised word says more against the first "
             "than a word says against the word before it, beyond chance: windows drawn again, the best of all layers. "
             "What is said is what F grows by; one such name is among the examples of the stories models"),
        conclude([below_in_texts(told("more said against first pieces in layer {layer}", layer=best + 1),
                                 less[best] if less else None, best_of=max(1, len(less)))]),
        rows or [{"layer": tables.NOTHING, "source": tables.NOTHING, "said against a name's first piece":
                  tables.NOTHING, "said against a word": tables.NOTHING}],
        chart if points else None, "python -m models.studies.pieces stories-selective",
        told("A tokenizer of 4,096 pieces splits more names than one of 32,000, and the pieces say less alone."))


Windows = dict[float, ndarray]  # factor -> (W,) losses of the same windows, nats

CURVES = {"selective": ("selective", "chosen"), N_("selective, the oldest go"): ("selective", "chosen-oldest"),
          N_("memory loss"): ("selective-memory", "chosen"),
          N_("memory loss, the oldest go"): ("selective-memory", "chosen-oldest"),
          N_("softmax, the oldest go"): ("softmax", "chosen")}


def _memory(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    curves = {title: evidence.memory(f"stories-{name}", way) for title, (name, way) in CURVES.items()}
    limit = curves["softmax, the oldest go"].get(1)
    comparable = {title: bool(differences(samples[CURVES[title][0]], samples["softmax"])) for title in CURVES}
    windows = {title: evidence.memory_losses(f"stories-{name}", way) for title, (name, way) in CURVES.items()}
    whole = windows["softmax, the oldest go"].get(1)
    best = {title: _equal_up_to(windows[title], whole if comparable[title] else None)
            for title in ("selective", "memory loss")}
    known = [factor for factor in best.values() if factor is not None]
    checks = [fact(told("more than half of the memory dropped, here up to {known:g}x", known=max(known, default=0)),
                   max(known) > MOST if known else None)]
    checks += [_by_mask(title, factor, windows[title], windows[f"{title}, the oldest go"])
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
        told("at a context of 256, with more than {most:g} times less memory, the perplexity is above that of "
             "softmax with all of its own by less than {margin:.0%}, beyond chance, with or without the memory loss; "
             "and that F chooses well: with the least memory that is still enough, each does better than if it forgot "
             "its oldest tokens, within budgets chosen for that, beyond chance. Chance is that of the windows, drawn "
             "again; models are one each. A last control, which decides nothing: softmax that forgets its oldest",
             most=MOST, margin=TOLERANCE),
        conclude(checks), table, chart if points else None,
        "for name in stories-selective stories-selective-memory stories-softmax; do "
        "python -m models.studies.forgetting $name; done\npython -m models.studies.claims",
        told("A model that reads better to begin with can afford to forget anything; and in so short a context the "
             "oldest tokens are not far away. In the source the gain grows with the context."))


def _by_mask(title: str, factor: float | None, chosen: Windows, oldest: Windows) -> Check:
    """Does forgetting what F says beat forgetting the oldest, at 1 / factor of the memory? Window by window."""
    what = told("{title}: better than forgetting the oldest", title=told(title))
    if factor is None or factor not in chosen or factor not in oldest:
        return Check(what, UNKNOWN, 0)
    return below_in_texts(told("{what} at {factor:g}x", what=what, factor=factor), chosen[factor] - oldest[factor])


def _equal_up_to(windows: Windows, whole: ndarray | None) -> float | None:
    """The largest factor up to which the loss is clearly no worse than `whole`, window by window; None while that is
    not measured."""
    if not windows or whole is None:
        return None
    result = 0.0
    for factor in sorted(windows):
        if below_in_texts("", windows[factor] - whole, math.log1p(TOLERANCE)).outcome != YES:
            break
        result = factor
    return result


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
