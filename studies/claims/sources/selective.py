"""Claim 3: Selective attention (Leviathan, Kalman and Matias 2024, arXiv 2410.02703)."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from models.messages import N_, listed, message
from studies import per_text
from studies.claims import Chart, Claim, Statement, commands, tables
from studies.claims.contrast import Side, judged, of_texts, of_trainings
from studies.claims.evidence import Evidence, is_repeated
from studies.claims.sources import memory, retrieval
from studies.claims.sources.synthesizer import compared, perplexities, perplexity
from studies.claims.verdict import TOLERANCE, Check, Estimate, Samples, below, below_in_texts, differences, no_worse
from studies.seeds import ZERO_SHOT

TITLES = {"softmax": N_("softmax"), "softmax-wide": N_("softmax, twice the heads"), "selective": N_("selective"),
          "selective-memory": N_("selective, memory loss"), "softmax-512": N_("softmax, 512 tokens"),
          "selective-512": N_("selective, 512 tokens")}
BLIMP = ("softmax", "softmax-wide", "log-n", "scalable-softmax", "gated", "selective", "selective-memory", "random",
         "dense", "factorized-random", "factorized-dense", "fixed-random", "random-dense", "dense-softmax",
         "random-softmax")
STORIES, VIDEOS = "tinystories_next_sentence", "hellaswag_activitynet"  # data sets of choices


def claim(evidence: Evidence) -> Claim:
    samples = {name: evidence.samples(f"stories-{name}", perplexity)
               for name in ("softmax", "selective", "selective-memory", "softmax-wide", *memory.LONGER)}
    return Claim("selective", message("Selective attention: tokens may vote to forget others"),
                 "Leviathan, Kalman and Matias 2024, arXiv 2410.02703",
                 message("The source: about 100 million parameters, C4, contexts of 512 and more. Here: 2.6 million, "
                         "256, for memory also 512. The settings of variable assignment are ours."),
                 (*(f"stories-{name}" for name in samples), *(f"assignment-{name}" for name in retrieval.KINDS)),
                 "stories", [_perplexity(evidence, samples), _wide(evidence, samples), _memory_loss(evidence, samples),
                             *retrieval.statements(evidence), *memory.statements(evidence), _blimp(evidence),
                             _choices(evidence), _pieces(evidence)])


def _pair(key: str, estimate: Estimate | None, samples: Mapping[str, Samples], name: str, checks: list[Check],
          theirs: str, against: str = "softmax", also: tuple[str, str] | None = None, beside: str = "",
          **values: Any) -> Statement:
    """Returns a statement that compares selective attention with softmax."""
    over = tables.ratios(samples[name], samples[against])
    title, other = message(TITLES[name]), message(TITLES[against])
    pairs = [(against, name, theirs), *([(*also, message("below 1"))] if also else [])]
    compared = dict.fromkeys(key for first, second, _ in pairs for key in (first, second))
    table = tables.table([(message(TITLES[key]), "", samples[key]) for key in compared], ".2f")
    table += tables.table([(message("{title} / {other}", title=message(TITLES[second]), other=message(TITLES[first])),
                                    source,
                            tables.ratios(samples[second], samples[first])) for first, second, source in pairs])
    columns = list(dict.fromkeys(column for row in table for column in row))
    if len(columns) > len(("attention", "source", "here")):  # the table has a column for each number of steps
        columns = [column for column in columns if column != "here"]
    table = [{column: row.get(column, tables.NOTHING) for column in columns} for row in table]
    points = tables.dots([(title, None, over)])
    chart = Chart("dots", points, message("perplexity / that of {other}", other=other), rule=(1.0, other),
                  alt=message("{title} over {other}: {values}", title=title, other=other, values=listed(
                      (message("{steps:,} steps {value}", steps=steps, value=tables.cell(values, ".3f"))
                       for steps, values in over.items()), "; ")))
    ours = message("{value} (perplexity / that of {other})", value=tables.over_time(over), other=other)
    command = commands.evaluated([f"stories-{key}" for key in (against, name, beside) if key])
    return judged(key, ours, estimate, checks, table, chart if points else None, command, **values)


def _perplexity(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    between, texts = compared(evidence, "selective")
    check = below(message("selective below softmax"), between, texts=texts)
    return _pair("selective-perplexity", perplexities(evidence, ["softmax"], ["selective"]),
                 samples, "selective", [check], message("below 1"), also=("softmax-512", "selective-512"))


def _wide(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    helps, texts_of_help = compared(evidence, "softmax-wide")
    between, texts = compared(evidence, "selective", "softmax-wide")
    checks = [below(message("twice the heads below softmax"), helps, texts=texts_of_help),
              no_worse(message("selective no worse than twice the heads"),
                       between, texts=texts)]
    return _pair("selective-wide", perplexities(evidence, ["selective"], ["softmax-wide"]),
                 samples, "selective", checks, message("1, about"), "softmax-wide",
                 ("softmax", "softmax-wide"), "softmax", margin=TOLERANCE)


def _memory_loss(evidence: Evidence, samples: Mapping[str, Samples]) -> Statement:
    between, texts = compared(evidence, "selective-memory")
    check = no_worse(message("memory loss not above softmax"), between, texts=texts)
    return _pair("selective-loss", perplexities(evidence, ["selective-memory"]),
                 samples, "selective-memory", [check], message("1 or less"))


def _blimp(evidence: Evidence) -> Statement:
    """Judges the accuracy on BLiMP."""
    by_name = {name: study for name in BLIMP if (study := evidence.study(f"stories-{name}", "blimp"))}
    shares = {name: {which: statistics.fmean(map(int, bits)) for which, bits in study["rights"].items()}
              for name, study in by_name.items()}
    behind = None
    if all(evidence.is_compared(f"stories-{name}") for name in ("selective", "softmax")) and "selective" in shares \
            and shares["selective"].keys() == shares.get("softmax", {}).keys():
        behind = [shares["softmax"][which] - share for which, share in shares["selective"].items()]
    check, ours = _over_seeds(evidence, message("selective above softmax"), per_text.paradigms, behind)
    waiting = {name for name in by_name if evidence.waits(f"stories-{name}")}
    rows = [{N_("attention"): message("{name} (to be trained again)", name=name) if name in waiting else name,
             N_("source"): tables.NOTHING,
             N_("here, pairs right"): f"{study['accuracy']:.1%} ± {1.645 * study['accuracy_error']:.1%}",
             N_("pairs"): f"{study['pairs']:,}"} for name, study in by_name.items()]
    return judged(
        "selective-blimp",
        message("pairs right: {values}", values=ours or tables.each([
            (name, f"{by_name[name]['accuracy']:.1%} ± {1.645 * by_name[name]['accuracy_error']:.1%}")
            for name in ("selective", "softmax") if name in by_name])),
        _ahead(evidence, per_text.paradigms), [check], rows,
        _accuracies(by_name, message("pairs right"), 0.5),
        commands.full_seeds("studies.zero_shot.blimp", [f"stories-{name}" for name in by_name or BLIMP], ZERO_SHOT))


def _ahead(evidence: Evidence, read: per_text.Reader) -> Estimate | None:
    softmax, selective = (Side(name, lambda metric: float(read(metric).values.mean()), read) for name in ZERO_SHOT)
    return of_trainings(evidence, [selective], [softmax])


def _over_seeds(evidence: Evidence, what: str, read: per_text.Reader,
                behind: Sequence[float] | None) -> tuple[Check, str]:
    """Returns the check that selective attention is right more often than softmax, and our numbers in words."""
    softmax, selective = (evidence.samples(name, lambda metric: float(read(metric).values.mean()))
                          for name in ZERO_SHOT)
    between = differences(softmax, selective)
    ours = tables.each_over_time([("selective", selective), ("softmax", softmax)], ".1%")
    check = evidence.below_over_seeds(what, between, behind, *((name, read) for name in ZERO_SHOT))
    return check, ours if is_repeated(between) else ""


def _choices(evidence: Evidence) -> Statement:
    """Judges the choice of the next sentence. Items are resampled, the same items for both models."""
    results = {name: sets for name in BLIMP if (sets := evidence.study(f"stories-{name}", "choices").get("sets"))}
    stories = {name: sets[STORIES] for name, sets in results.items() if STORIES in sets}
    behind = None
    if all(evidence.is_compared(f"stories-{name}") and name in stories for name in ("selective", "softmax")):
        softmax, selective = (stories[name]["rights"] for name in ("softmax", "selective"))
        if len(softmax) == len(selective):
            behind = [int(a) - int(b) for a, b in zip(softmax, selective, strict=True)]
    check, ours = _over_seeds(evidence, message("next sentences: selective above softmax"),
                              per_text.chosen(STORIES), behind)
    rows = [{N_("attention"): name, N_("source"): tables.NOTHING,
             N_("here, next sentence of a story"): _share(sets.get(STORIES)),
             N_("here, HellaSwag (ActivityNet)"): _share(sets.get(VIDEOS))} for name, sets in results.items()]
    return judged(
        "selective-choices",
        message("next sentences right: {values}", values=ours or tables.each([
            (name, _share(stories[name])) for name in ("selective", "softmax") if name in stories])),
        _ahead(evidence, per_text.chosen(STORIES)), [check], rows,
        _accuracies(stories, message("right next sentences"), 0.25),
        commands.full_seeds("studies.zero_shot.choices", [f"stories-{name}" for name in results or BLIMP], ZERO_SHOT))


def _accuracies(measured: Mapping[str, Mapping[str, Any]], title: str, chance: float) -> Chart | None:
    points = [{"name": name, "value": round(study["accuracy"] + sign * 1.645 * study["accuracy_error"], 4),
               "which": which} for name, study in measured.items() for which, sign in (
                   (message("here"), 0), (message("90% interval"), -1), (message("90% interval"), 1))]
    return tables.chart("dots", points, title, (
        message("{name} {value:.1%}", name=message(name), value=study["accuracy"]) for name, study in measured.items()),
                        rule=(chance, message("chance")), form=".0%")


def _share(measured: Mapping[str, Any] | None) -> str:
    return f"{measured['accuracy']:.1%} ± {1.645 * measured['accuracy_error']:.1%}" if measured else tables.NOTHING


def _pieces(evidence: Evidence) -> Statement:
    study = evidence.study("stories-selective", "pieces")
    less = [[word - name for name, word in zip(layer["names"], layer["words"], strict=True)]
            for layer in study.get("layers", [])]  # the difference is below 0 if S is larger against a first piece
    best = min(range(len(less)), key=lambda layer: statistics.fmean(less[layer]), default=0)
    rows = [{N_("layer"): str(number), N_("source"): tables.NOTHING,
             N_("votes, name's first piece"): f"{statistics.fmean(layer['names']):.2f}",
             N_("votes, another word's first piece"): f"{statistics.fmean(layer['others']):.2f}",
             N_("votes, word"): f"{statistics.fmean(layer['words']):.2f}"}
            for number, layer in enumerate(study.get("layers", []), 1)]
    points = [{"name": message("layer {layer}", layer=number), "value": round(statistics.fmean(layer[kind]), 4),
               "which": which} for number, layer in enumerate(study.get("layers", []), 1)
              for kind, which in (("names", message("name in pieces")), ("others", message("other word in pieces")),
                                  ("words", message("words")))]
    chart = tables.chart("dots", points, message("votes against the token before"), N_("{name}, {which}: {value:.2f}"))
    more = [name - other for name, other in zip(study["layers"][best]["names"], study["layers"][best]["others"],
                                                strict=True)] if less else None
    return judged(
        "selective-pieces",
        message("votes in layer {layer}: {values}", layer=best + 1, values=tables.each([
            (title, f"{statistics.fmean(study['layers'][best][kind]):.2f}") for kind, title in (
                ("names", message("name in pieces")), ("others", message("other word in pieces")), ("words",
                 message("words")))]
            if less else [])),
        of_texts(more),
        [below_in_texts(message("votes: name's first piece above word, layer {layer}",
                                  layer=best + 1), less[best] if less else None, best_of=max(1, len(less))),
            below_in_texts(message("votes: name's first piece above another word's, same layer"),
                          [other - name for name, other in zip(study["layers"][best]["names"],
                                                               study["layers"][best]["others"], strict=True)]
                          if less else None)],
        rows, chart, "python -m studies.corpus.word_pieces stories-selective")


