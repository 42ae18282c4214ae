"""Claim 3: Selective attention (Leviathan, Kalman and Matias 2024, arXiv 2410.02703)."""

from __future__ import annotations

import math

from models.claims import commands, tables
from models.claims.evidence import Evidence, Metric
from models.claims.statement import Chart, Claim, Statement
from models.claims.synthesizer import perplexity
from models.claims.verdict import Check, Samples, below, conclude, differences, fact, not_above

EVENTS = (6, 12, 24, 48, 96)
TRAINED = 24  # events of the longest text of training
SOLVED = 0.99  # share of right answers
LOST = 0.5  # share of right answers below which a model cannot retrieve
MOST = 2.0  # factor: more than half of the context is dropped
PUBLISHED = {512: 16, 1024: 25, 2048: 47}  # context -> factor of memory at equal perplexity
KINDS = {"selective": "selective", "softmax": "softmax", "log-n": "log n", "random": "random"}


def right_answers(events: int):
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


def _pair(samples: dict[str, Samples], name: str, check: Check, **words: str) -> Statement:
    """Selective attention, plain or with the memory loss, against softmax."""
    over = tables.ratios(samples[name], samples["softmax"])
    title = name.replace("selective-memory", "selective, memory loss")
    names = [("softmax", samples["softmax"]), (title, samples[name])]
    table = tables.table([(label, "", values) for label, values in names], ".2f")
    table += [{**row, "source": "below 1"} for row in tables.table([(f"{title} / softmax", "", over)])]
    points = tables.dots([(f"{title} / softmax", None, over)])
    chart = Chart("dots", points, "perplexity divided by softmax's", rule=(1.0, "softmax"),
                  alt=f"{title} over softmax: " + "; ".join(
                      f"{steps:,} steps {tables.cell(values, '.3f')}" for steps, values in over.items()))
    return Statement(source="not recoverable: no table of perplexities in what we read",
                     sure="Only “consistently better, growing with size”, in a summary.",
                     verdict=conclude([check]), table=table, chart=chart if points else None,
                     command=commands.evaluated(["stories-softmax", f"stories-{name}"]), **words)


def _perplexity(samples: dict[str, Samples]) -> Statement:
    check = below("selective below softmax", differences(samples["selective"], samples["softmax"], math.log))
    return _pair(samples, "selective", check, key="selective-perplexity",
                 text="Selective attention has a lower perplexity than softmax at the same size.",
                 rule="perplexity below softmax's, beyond chance; parameters, data and steps are equal",
                 reason="The training may be too short for the mask to pay.")


def _memory_loss(samples: dict[str, Samples]) -> Statement:
    check = not_above("with the memory loss not above softmax",
                      differences(samples["selective-memory"], samples["softmax"], math.log))
    return _pair(samples, "selective-memory", check, key="selective-loss",
                 text="Trained to forget more (memory loss), it is still no worse than softmax.",
                 rule="perplexity not above softmax's, but for chance",
                 reason="The memory loss asks for forgetting from the first step, before the model knows what it can "
                        "do without.")


def _events_table(answers: dict[str, dict[int, Samples]], names: tuple[str, ...]) -> list[dict[str, str]]:
    return tables.wide([(KINDS[name], answers[name]) for name in names], EVENTS, "events")


def _events_chart(answers: dict[str, dict[int, Samples]], names: tuple[str, ...]) -> Chart | None:
    steps = tables.best_budget([samples for name in names for samples in answers[name].values()])
    points = tables.lines([(KINDS[name], answers[name]) for name in names], steps)
    if not points:
        return None
    alt = "; ".join(f"{point['name']} at {point['x']} events {point['value']:.1%}" for point in points)
    return Chart("lines", points, "right answers", f"events; training ended at {TRAINED}", alt=alt)


SETTINGS = "The source's vocabulary, lengths and accuracies are in no text that we read."
NONE = "not recoverable"


def _solved(answers: dict[str, dict[int, Samples]]) -> Statement:
    check = not_above(f"at least {SOLVED:.0%} right at {TRAINED} events", {
        steps: {seed: SOLVED - value for seed, value in values.items()}
        for steps, values in answers["selective"][TRAINED].items()})
    names = ("selective", "softmax")
    return Statement(
        "selective-solved", "Selective attention solves variable assignment.", NONE, SETTINGS,
        f"at least {SOLVED:.0%} of the answers at {TRAINED} events, the longest of training",
        conclude([check]), _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated(["assignment-selective", "assignment-softmax"]),
        "Learning this task depends more on the recipe than on the attention; see models/recipes.py.")


def _longer(answers: dict[str, dict[int, Samples]]) -> Statement:
    checks = [below(f"selective above {KINDS[other]} at {events} events",
                    differences(answers[other][events], answers["selective"][events]))
              for other in ("softmax", "log-n") for events in (48, 96)]
    names = ("selective", "softmax", "log-n")
    return Statement(
        "selective-longer", "It also solves texts that are longer than those of training, better than the others.",
        NONE, SETTINGS, "more right answers than softmax and than log n at 48 and 96 events, twice and four times the "
        "training's, beyond chance", conclude(checks), _events_table(answers, names),
        _events_chart(answers, names), commands.evaluated([f"assignment-{name}" for name in names]),
        "At twice the training's length both are nearly perfect, so that there is little to tell apart.")


def _random(answers: dict[str, dict[int, Samples]]) -> Statement:
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


def _memory(evidence: Evidence, samples: dict[str, Samples]) -> Statement:
    names = ("selective", "selective-memory")
    curves = {name: evidence.memory(f"stories-{name}") for name in names}
    allowed = {name: _allowed(samples[name], samples["softmax"]) for name in names}
    best = {name: largest_factor(curves[name], allowed[name]) for name in names}
    known = [factor for factor in best.values() if factor is not None]
    check = fact(f"more than half of the context dropped at softmax's perplexity (up to {max(known, default=0):g}x)",
                 max(known) > MOST if known else None)
    check = Check(check.what, check.outcome, 1 if known else 0)
    table = [{"attention": name.replace("-memory", ", memory loss"),
              "source": "16x at 512, 25x at 1,024, 47x at 2,048" if name != "selective" else tables.NOTHING,
              "here, at 256": f"{best[name]:g}x (one seed)" if best[name] is not None else tables.NOTHING}
             for name in names]
    points = [{"name": f"{name.replace('-memory', ', memory loss')}", "x": factor, "seed": 0,
               "value": round(value / curves[name][0][1] / allowed[name], 4)}
              for name in names if best[name] is not None for factor, value in curves[name]]
    chart = Chart("lines", points, "perplexity divided by softmax's with everything", "context divided by what is kept",
                  rule=(1.0, "softmax with everything"),
                  alt="; ".join(f"{point['name']} {point['x']:g}x {point['value']:.3f}" for point in points))
    return Statement(
        "selective-memory", "Most of the context can be dropped at equal perplexity.",
        "16x less memory of attention at a context of 512, 25x at 1,024, 47x at 2,048",
        "Read in the paper's abstract; with the memory loss, as far as we know.",
        f"with more than {MOST:g} times less context, the perplexity is still not above that of softmax with "
        "everything; either model may show it",
        conclude([check]), table, chart if points else None,
        "python -m models.claims   # reads models/measurements/stories-selective.memory.json",
        "Our context is half as long, and at equal training the source's gain grows with the context.")


def _allowed(selective: Samples, softmax: Samples) -> float | None:
    """How much the perplexity may rise until softmax's is reached, as a factor; at the shipped models' steps."""
    ratios = tables.ratios(softmax, selective)
    return ratios[max(ratios)].get(0) if ratios else None


def largest_factor(curve: list[tuple[float, float]], allowed: float | None) -> float | None:
    """The largest factor up to which perplexity, against that with everything kept, has risen by `allowed` at most.

    0 if even everything is not enough; None while something is not measured. Rises are taken within a curve, since
    its texts need not be the card's.
    """
    if not curve or allowed is None or curve[0][0] != 1:
        return None
    result = 0.0
    for factor, value in curve:
        if value / curve[0][1] > allowed:
            break
        result = factor
    return result
