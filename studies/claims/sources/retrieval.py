"""Claim 3 on retrieval: selective attention in variable assignment, by number of events and position of the query."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from models.messages import N_, message
from models.tasks.assignment import ALL, ELSEWHERE, LATE
from studies import per_text
from studies.claims import Chart, Statement, commands, tables
from studies.claims.contrast import Side, judged, largest, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.verdict import Check, Samples, below, differences

EVENTS = (6, 12, 24, 48, 96)
LONG = (48, 96)
TRAINED = 24  # number of events in the longest training text
SOLVED = 0.99  # fraction of right answers above which a model counts as solving the task
LOST = 0.5  # fraction of right answers below which a model counts as unable to retrieve
KINDS = {"selective": message("selective"), "softmax": message("softmax"), "log-n": message("log n"),
         "random": message("random")}


def right(events: int, among: str) -> Callable[[Metric], float]:
    """Returns a function that reads the fraction of right answers from a metric; `among` is a key of Answered.among.

    LATE is the last quarter (events 73 to 96 of 96), ELSEWHERE are queries after an event with another variable.
    """
    if among == LATE:
        return lambda metric: metric["accuracy_by_quarter"][str(events)][-1]
    name = {ALL: "accuracy_by_events", ELSEWHERE: "elsewhere_by_events"}[among]
    return lambda metric: metric[name][str(events)]


def _side(kind: str, events: int, among: str) -> Side:
    return Side(f"assignment-{kind}", right(events, among), per_text.answers(events, among))


def statements(evidence: Evidence) -> list[Statement]:
    """Returns the statements on variable assignment."""
    answers = {name: {events: evidence.samples(f"assignment-{name}", right(events, ALL)) for events in EVENTS}
               for name in KINDS}
    late = {name: {events: evidence.samples(f"assignment-{name}", right(events, LATE)) for events in LONG}
            for name in KINDS}
    return [_solved(evidence, answers), _longer(evidence, answers, late), _random(evidence, answers)]


def _events_table(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> list[dict[str, str]]:
    return tables.wide([(KINDS[name], answers[name]) for name in names], EVENTS, "events")


def _events_chart(answers: Mapping[str, Mapping[int, Samples]], names: tuple[str, ...]) -> Chart | None:
    steps = tables.best_budget([samples for name in names for samples in answers[name].values()])
    points = tables.lines([(KINDS[name], answers[name]) for name in names], steps)
    return tables.chart("lines", points, message("right answers"), N_("{name} at {x} events {value:.1%}"),
                        message("events; training ended at {trained}", trained=TRAINED), form=".0%")


def _right(events: int, samples: Mapping[str, Samples]) -> str:
    return message("{events} events: {values} right", events=events, values=tables.each([
        (name, tables.spread(tables.at_decision(values), ".1%")) for name, values in samples.items()]))


def _texts(evidence: Evidence, samples: Samples, events: int, among: str, *kinds: str) -> float:
    """Returns the standard error due to the sampling of texts; `among` is a key of Answered.among."""
    return evidence.text_error(samples, *((f"assignment-{kind}", per_text.answers(events, among)) for kind in kinds))


def _solves(evidence: Evidence, samples: Samples, events: int, among: str, what: str, kind: str = "selective") -> Check:
    missing = {steps: {seed: SOLVED - value for seed, value in values.items()} for steps, values in samples.items()}
    return below(what, missing, texts=_texts(evidence, missing, events, among, kind))


def _solved(evidence: Evidence, answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    names = ("selective", "softmax")
    checks = [_solves(evidence, answers[name][TRAINED], TRAINED, ALL,
                      message("{kind}: at least {solved:.0%} right, {events} events", kind=KINDS[name], solved=SOLVED,
                              events=TRAINED), name) for name in names]
    return judged(
        "selective-solved", _right(TRAINED, {KINDS[name]: answers[name][TRAINED] for name in names}),
        largest([of_trainings(evidence, [replace(
            _side(name, TRAINED, ALL), read=lambda metric: 1 - right(TRAINED, ALL)(metric))]) for name in names]),
        checks, _events_table(answers, names), _events_chart(answers, names),
        commands.evaluated(["assignment-selective", "assignment-softmax"]), solved=SOLVED, trained=TRAINED)


def _longer(evidence: Evidence, answers: Mapping[str, Mapping[int, Samples]],
            late: Mapping[str, Mapping[int, Samples]]) -> Statement:
    checks = [_solves(evidence, late["selective"][events], events, LATE,
                      message("last quarter of {events} events: at least {solved:.0%} right", solved=SOLVED,
                              events=events)) for events in LONG]
    checks += [below(message("last quarter of {events} events: selective above {kind}", kind=KINDS[other],
                             events=events), between, texts=_texts(evidence, between, events, LATE, other, "selective"))
               for other in ("softmax", "log-n") for events in LONG
               for between in [differences(late[other][events], late["selective"][events])]]
    names = ("selective", "softmax", "log-n")
    rows = tables.wide([(message("{kind}, last quarter", kind=KINDS[name]), {
        events: late[name].get(events, {}) for events in EVENTS}) for name in names], EVENTS, "events")
    return judged(
        "selective-longer",
        message("last quarter of {text}", text=_right(EVENTS[-1], {
            KINDS[name]: late[name][EVENTS[-1]] for name in names})),
        of_trainings(evidence, *([_side(kind, LONG[-1], LATE)] for kind in ("selective", "softmax"))), checks,
        [*_events_table(answers, names), *rows], _events_chart(answers, names),
        commands.evaluated([f"assignment-{name}" for name in names]), solved=SOLVED)


def _random(evidence: Evidence, answers: Mapping[str, Mapping[int, Samples]]) -> Statement:
    away = {name: evidence.samples(f"assignment-{name}", right(TRAINED, ELSEWHERE)) for name in ("random", "softmax")}
    between = differences(away["random"], away["softmax"])
    checks = [below(message("random below {lost:.0%}, another variable before", lost=LOST),
                    away["random"], LOST, _texts(evidence, away["random"], TRAINED, ELSEWHERE, "random")),
              below(message("random below softmax there"), between,
                    texts=_texts(evidence, between, TRAINED, ELSEWHERE, "random", "softmax"))]
    names = ("random", "softmax", "selective")
    kinds = {name: {events: evidence.samples(f"assignment-{name}", right(events, ELSEWHERE)) for events in EVENTS}
             for name in names}
    blind = {label: {events: _blind(evidence, which, events) for events in EVENTS} for label, which in (
        (message("last digit"), "accuracy_by_events"),
        (message("last digit, another variable before"), "elsewhere_by_events"))}
    rows = tables.wide([*blind.items(), *((message("{kind}, another variable before", kind=KINDS[name]), kinds[name])
                                          for name in names)], EVENTS, "events")
    return judged(
        "selective-random",
        _right(TRAINED, {KINDS[name]: away[name] for name in ("random", "softmax")} | {
            message("last digit"): blind[message("last digit, another variable before")][
                TRAINED]}),
        of_trainings(evidence, [_side("random", TRAINED, ELSEWHERE)]), checks,
        [*_events_table(answers, names), *rows], _events_chart(answers, names),
        commands.evaluated([f"assignment-{name}" for name in names]), lost=LOST, trained=TRAINED)


def _blind(evidence: Evidence, which: str, events: int) -> Samples:
    """Returns the accuracy of the baseline that repeats the last digit, in the form of Samples."""
    samples = evidence.samples("assignment-softmax", lambda metric: metric["blind"][which][str(events)])
    known = next((value for values in samples.values() for value in values.values()), None)
    return {} if known is None else {0: {0: known}}
