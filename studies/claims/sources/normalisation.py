"""Claim 4: normalisation of attention scores, and its effect at other lengths (Su Jianlin, kexue.fm 8823 and 9019)."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy

from models.messages import N_, listed, message
from studies import per_text
from studies.claims import Chart, Claim, Statement, commands, stated, tables
from studies.claims.contrast import Side, decide, judged, of_trainings
from studies.claims.evidence import Evidence, Metric
from studies.claims.verdict import UNKNOWN, Check, Samples, below, differences, fact, no_worse

LENGTHS = (32, 64, 128, 256, 512)
TRAINED = 64
OTHERS = tuple(n for n in LENGTHS if n != TRAINED)
SHORTER = tuple(n for n in LENGTHS if n < TRAINED)
LONGER = 128  # text length, in tokens, at which another model was trained
# accuracy in % by length, for masked words, trained at 64 (kexue 8823)
LOG_N = {64: 43.11, 128: 41.17, 256: 34.04, 512: 20.15}
SQRT = {64: 43.27, 128: 36.53, 256: 23.02, 512: 15.12}
HEADS = 0.75  # fraction of the heads for which the statement must be true
UNCHANGED = 1e-5  # largest change of an attention value that counts as rounding
ByLength = dict[int, Samples]
# title -> model and scale policy; an empty policy is the policy of the training
SIDES = {"relu²/n, n fixed": ("masked-gau-relu2", ""), "relu²/n, n = length": ("masked-gau-relu2", "length"),
         "relu²/n, mixed lengths": ("masked-gau-relu2-mixed", ""), "softmax": ("masked-gau-softmax", ""),
         "softmax, trained at 128": ("masked-gau-softmax-128", ""), "log n": ("masked-log-n", ""),
         "constant temperature": ("masked-temperature", ""), "GAU softmax": ("masked-gau-softmax", ""),
         "GAU softmax, read with log n": ("masked-gau-softmax", "logn")}


def accuracy(length: int) -> Callable[[Metric], float]:
    """Returns a function that reads the accuracy at a length from a metric."""
    return lambda metric: metric["accuracy_by_length"][str(length)]


def reading(policy: str, length: int) -> Callable[[Metric], float]:
    """Returns a function that reads a gated unit's accuracy under another scale policy."""
    return lambda metric: metric["readings"][policy][str(length)]["accuracy"]


def claim(evidence: Evidence) -> Claim:
    def measured(name: str, read: Callable[[int], Callable[[Metric], float]] = accuracy) -> ByLength:
        return {n: evidence.samples(f"masked-{name}", read(n)) for n in LENGTHS}

    read = {
        N_("relu²/n, n fixed"): measured("gau-relu2"),
        N_("relu²/n, n = length"): measured("gau-relu2", lambda n: reading("length", n)),
        N_("relu²/n, mixed lengths"): measured("gau-relu2-mixed"),
        "softmax": measured("gau-softmax"),
        N_("softmax, trained at 128"): measured("gau-softmax-128")}
    scaled = {"log n": measured("log-n"), N_("constant temperature"): measured("temperature"),
              "1/√d": measured("softmax"),
              N_("GAU softmax, read with log n"): measured("gau-softmax", lambda n: reading("logn", n)),
              "GAU softmax": read["softmax"]}
    return Claim("normalisation", message("Normalisation: other text lengths"),
                 "Su Jianlin, kexue.fm 8823 (log n) and 9019 (relu²)",
                 message("Masked tokens predicted right in texts of 32 to 512 tokens, trained at {trained} (mixed: "
                         "16 to 128; one: {longer}). The source's models are larger, trained far longer, on Chinese. "
                         "relu² and its softmax are in gated attention units.", trained=TRAINED, longer=LONGER),
                 ("masked-softmax", *dict.fromkeys(name for name, _ in SIDES.values())), "masked",
                 [_reading(evidence, read), _cure(evidence, read), _softmax(evidence, read), _log_n(evidence, scaled),
                  _entropy(evidence), _relu2(evidence)])


def _ours(read: Mapping[str, ByLength], names: tuple[str, ...], n: int) -> str:
    return message("{n} tokens: {values}", n=n, values=tables.each([
        (name, tables.spread(tables.at_decision(read[name][n]), ".1%")) for name in names]))


def _by_length(read: Mapping[str, ByLength], names: tuple[str, ...],
               theirs: Mapping[str, Mapping[int, float]] | None = None) -> list[dict[str, str]]:
    return tables.wide([(name, read[name]) for name in names], LENGTHS, "tokens", theirs)


def _chart(read: Mapping[str, ByLength], names: tuple[str, ...],
           theirs: Mapping[str, Mapping[int, float]] | None = None) -> Chart | None:
    steps = tables.best_budget([samples for name in names for samples in read[name].values()])
    points = tables.lines([(name, read[name]) for name in names], steps)
    if not points:
        return None
    alt = listed((message("{name} at {x} tokens {value:.1%}", name=message(p["name"]), x=p["x"], value=p["value"])
                  for p in points), "; ")
    points += [{"name": message("source, {name}", name=message(name)), "x": n, "value": value / 100, "seed": "source"}
               for name, by_length in (theirs or {}).items() for n, value in by_length.items()]
    return Chart("lines", points, message("hidden tokens predicted right, {steps:,} steps", steps=steps),
                 message("tokens; trained at {trained}", trained=TRAINED), alt=alt, form=".0%")


def _less(evidence: Evidence, read: Mapping[str, ByLength], first: str, second: str, n: int) -> tuple[Samples, float]:
    """Returns by how much the first accuracy is lower than the second, and the standard error over texts."""
    between = differences(read[first][n], read[second][n])
    return between, evidence.text_error(between, *((name, per_text.guesses(n, policy))
                                                   for name, policy in (SIDES[first], SIDES[second])))


def _side(title: str, lengths: Sequence[int]) -> Side:
    """Returns the mean accuracy over lengths of a model in one of SIDES."""
    name, policy = SIDES[title]

    def read(metric: Metric) -> float:
        return statistics.fmean((reading(policy, n) if policy else accuracy(n))(metric) for n in lengths)

    def texts(metric: Metric) -> per_text.Texts:
        every = [per_text.guesses(n, policy)(metric) for n in lengths]
        return per_text.Texts(numpy.mean([own.values for own in every], 0), every[0].counts)

    return Side(name, read, texts)


def _above(evidence: Evidence, read: Mapping[str, ByLength], first: str, second: str, n: int) -> Check:
    between, texts = _less(evidence, read, second, first, n)
    return below(message("{one} above {other} at {n}", one=message(first), other=message(second), n=n), between,
                         texts=texts)


def _read_commands(*names: str) -> str:
    return commands.measured("readings", [f"masked-{name}" for name in names])


def _reading(evidence: Evidence, read: Mapping[str, ByLength]) -> Statement:
    names = ("relu²/n, n fixed", "relu²/n, n = length")
    return judged(
        "normalisation-reading", _ours(read, names, LENGTHS[0]),
        of_trainings(evidence, *([_side(name, SHORTER)] for name in names)),
        [_above(evidence, read, *names, n) for n in SHORTER], _by_length(read, names), _chart(read, names),
        _read_commands("gau-relu2"))


def _cure(evidence: Evidence, read: Mapping[str, ByLength]) -> Statement:
    mixed, fixed, length = "relu²/n, mixed lengths", "relu²/n, n fixed", "relu²/n, n = length"
    checks = [_above(evidence, read, mixed, length, n) for n in OTHERS]
    checks += [no_worse(message("mixed lengths, n = length: no worse than fixed n at {n}", n=n), between,
                                texts=texts)
               for n in OTHERS for between, texts in [_less(evidence, read, fixed, mixed, n)]]
    names = (mixed, fixed, length)
    return judged(
        "normalisation-cure", _ours(read, names, LENGTHS[-1]),
        of_trainings(evidence, [_side(mixed, OTHERS)], [_side(length, OTHERS)]), checks,
        _by_length(read, names), _chart(read, names), _read_commands("gau-relu2", "gau-relu2-mixed"))


def _softmax(evidence: Evidence, read: Mapping[str, ByLength]) -> Statement:
    readings = ("relu²/n, n fixed", "relu²/n, n = length")
    checks = [_above(evidence, read, "softmax", other, n) for other in readings for n in OTHERS]
    between, texts = _less(evidence, read, "softmax, trained at 128", "softmax", LONGER)
    checks.append(no_worse(message("at {n} no worse than softmax trained at {n}", n=LONGER), between, texts=texts))
    names = ("softmax", "softmax, trained at 128", *readings)
    return judged(
        "normalisation-softmax", _ours(read, names, LENGTHS[-1]),
        of_trainings(evidence, [_side("softmax", OTHERS)], [_side(readings[1], OTHERS)]),
        checks, _by_length(read, names), _chart(read, names),
        "for name in masked-gau-softmax masked-gau-relu2; do python -m models.training.evaluate $name; done\n"
        + _read_commands("gau-relu2", "gau-softmax", "gau-softmax-128"), n=LONGER)


def _log_n(evidence: Evidence, scaled: Mapping[str, ByLength]) -> Statement:
    theirs = {"log n": LOG_N, "1/√d": SQRT}
    names = ("log n", "constant temperature", "1/√d", "GAU softmax, read with log n", "GAU softmax")
    compared = (("log n", "constant temperature"), ("GAU softmax, read with log n", "GAU softmax"))
    return judged(
        "normalisation-log-n", _ours(scaled, names, LENGTHS[-1]),
        of_trainings(evidence, *([_side(name, (256,))] for name in compared[0])),
        [_above(evidence, scaled, *sides, n) for sides in compared for n in (256, 512)],
        _by_length(scaled, names, theirs), _chart(scaled, names, theirs),
        commands.evaluated(["masked-log-n", "masked-temperature", "masked-softmax", "masked-gau-softmax"],
                           "python -m studies.claims readings"))


def _entropy(evidence: Evidence) -> Statement:
    readings = {"1/√d": evidence.entropies("masked-softmax", "trained"),
                "log n": evidence.entropies("masked-softmax", "logn")}
    grown = {name: growth(by_length) for name, by_length in readings.items()}
    rows = [{N_("inference setting"): name, "source": message("ln n grows by 2.08"),
             N_("here, entropy at 64"): f"{statistics.fmean(readings[name][64]):.2f}" if values else tables.NOTHING,
             N_("at 512"): f"{statistics.fmean(readings[name][512]):.2f}" if values else tables.NOTHING,
             N_("growth"): f"{statistics.fmean(values):+.2f} (σ {statistics.pstdev(values):.2f})" if values
             else tables.NOTHING} for name, values in grown.items()]
    if all(grown.values()):
        steadier = [abs(a) < abs(b) for a, b in zip(grown["log n"], grown["1/√d"], strict=True)]
        means = {name: abs(statistics.fmean(values)) for name, values in grown.items()}
        checks = [fact(message("the mean grows less"), means["log n"] < means["1/√d"]),
                  fact(message("in at least {heads:.0%} of heads (measured {steadier:.0%})", heads=HEADS,
                               steadier=statistics.fmean(steadier)),
                       statistics.fmean(steadier) >= HEADS)]
    else:
        checks = [Check("", UNKNOWN)]
    points: list[dict[str, Any]] = [
        {"name": message(name), "x": n, "seed": 0, "value": round(statistics.fmean(values), 4)}
        for name, by_length in readings.items() for n, values in sorted(by_length.items())]
    if points:
        lengths = sorted({point["x"] for point in points})
        points += [{"name": message("ln n: even weights"), "x": n, "seed": 0, "value": round(math.log(n), 4)}
                   for n in lengths]
    chart = tables.chart("lines", points, message("mean entropy of attention, nats"),
                         N_("{name} at {x} tokens {value:.2f} nats"),
                         message("tokens; trained at {trained}", trained=TRAINED))
    return judged(
        "normalisation-entropy",
        message("growth {values} nats", values=tables.each([
            (name, f"{statistics.fmean(values):.2f}") for name, values in grown.items() if values])),
        None, checks, rows, chart, "python -m studies.corpus.lengths masked-softmax", heads=HEADS)


def growth(by_length: Mapping[int, list[float]]) -> list[float]:
    """Returns each head's entropy at 512 tokens minus that at the trained length, in nats; empty if not measured."""
    if TRAINED not in by_length or 512 not in by_length:
        return []
    return [after - before for before, after in zip(by_length[TRAINED], by_length[512], strict=True)]


def _relu2(evidence: Evidence) -> Statement:
    measured: dict[str, Any] = evidence.measured.get("relu2_scale") or {}
    checks = [fact(message("rows of relu² stay the same"), measured["relu2_change"] < UNCHANGED if measured else None),
              fact(message("rows of softmax do not"), measured["softmax_change"] > 1e-3 if measured else None)]
    table, points = [], []
    for index, factor in enumerate(measured.get("factors", [])):
        table.append({N_("scores times"): f"{factor:g}", "source": message("relu²: the same"),
                      N_("here, relu²"): message("{value:.4f} nats", value=measured["relu2_entropy"][index]),
                      N_("here, softmax"): message("{value:.4f} nats", value=measured["softmax_entropy"][index])})
        points += [{"name": name, "x": factor, "seed": 0, "value": measured[f"{key}_entropy"][index]}
                   for name, key in (("relu²", "relu2"), ("softmax", "softmax"))]
    verdict = decide("normalisation-relu2", None, checks)
    if measured:
        verdict = replace(verdict, why=message("scores of {scores}: largest change of a "
                                               "weight {change:.0e}", scores=measured["scores"],
                                               change=measured["relu2_change"]))
    return stated(
        "normalisation-relu2",
        message("largest change of a weight: {values}", values=tables.each([
            (name, f"{measured[f'{key}_change']:.0e}") for name, key in (("relu²", "relu2"), ("softmax", "softmax"))]
            if measured else [])),
        verdict, table,
        Chart("lines", points, message("mean entropy of a row, nats"), message("factor on the scores"),
              alt=message("relu² stays level; softmax falls")) if points else None,
        "python -m studies.claims relu2_scale", unchanged=UNCHANGED)
