"""Claim 1: constant attention (Hassid et al. 2022, PAPA, arXiv 2211.03495)."""

import math
from collections.abc import Sequence
from itertools import permutations
from statistics import fmean, variance

import numpy
from scipy.stats import norm, rankdata

from models.messages import N_, message
from studies.claims import Chart, Claim, Statement, tables
from studies.claims.contrast import judged, largest
from studies.claims.evidence import Evidence
from studies.claims.tables import percent
from studies.claims.verdict import NO, UNCLEAR, UNKNOWN, YES, Check, Estimate, below, fact
from studies.papa import results
from studies.papa.results import FRACTIONS, LEARNED, RANDOM, REMOVED, Study, Task

AVERAGE, MOST = 0.08, 0.20  # relative drops of the score in the source: mean and largest
LITTLE = 0.02  # our limit of a "little" drop, because the source has curves and no number
REDRAWS, FEW = 2000, 7  # number of resamples of the drops; up to FEW trainings, all permutations are enumerated
EIGHTH = FRACTIONS.index(0.125)  # the orders are compared with this fraction of the heads computed
CHANCE = 0.05  # significance level of the test of the rank correlation
LIVE = ("1", "1/2", "1/8", "1/16", "0")  # fractions of the heads whose pattern is computed, as in the source


def claim(evidence: Evidence) -> Claim:
    """Returns the claim with its judged statements."""
    whole = all_studies(evidence)
    every = [study.of_tasks() for study in whole]
    # A model without a task that counts could not fail, so it is left out. Checkpoints during training, for which only
    # the two endpoints are measured, are shown as points of a scatter plot.
    studies = [study for study in every if (study.is_whole or not study.moment) and study.drops(LEARNED, 0)]
    shown = [study for study in whole if study.name in {each.name for each in studies}]
    return Claim("papa", message("PAPA: constant attention patterns"),
                 "Hassid et al. 2022, arXiv 2211.03495",
                 message("The source: BERT, RoBERTa and DeBERTa, six tasks. Here: smaller encoders, seven open "
                         "tasks, 600 to 1,200 training texts; sentence pairs are only shown. Heads become "
                         "constant in a learned order; new probes read all layers. Only tasks that need attention "
                         "count (decided after first scores)."),
                 tuple(study.name for study in studies if evidence.card(study.name)), "masked",
                 [_average(evidence, studies, shown),
                  _most(evidence, studies, shown), _half(evidence, studies), _order(studies), _better(every)])


def all_studies(evidence: Evidence) -> list[Study]:
    """Returns all studies of the released weights, the smallest model first."""
    studies = [results.of(study) for name in evidence.studied(results.KIND)
               if (study := evidence.study(name, results.KIND))]
    return sorted(studies, key=lambda study: study.parameters)


def _by_seed(what: str, values: Sequence[float], limit: float) -> Check:
    """Tests whether the mean over probes is below the limit."""
    return below(what, {1: dict(enumerate(values))} if values else {}, limit)


def _commands(studies: Sequence[Study]) -> str:
    commands = [study.command for study in studies] or ["python -m studies.papa masked-softmax"]
    return "\n".join([*commands, "python -m studies.claims"])


def _rows(studies: Sequence[Study]) -> list[dict[str, str]]:
    """Returns one table row per model and task, with a column per fraction of computed (not constant) heads."""
    rows = []
    for study in studies:
        for task in study.tasks.values():
            rows.append({N_("model"): study.title, N_("task"): message(task.title)} |
                        {message("live {share}", share=share): _scores(study, task, count)
                         for share, count in zip(LIVE, study.counts, strict=True)})
        rows.append({N_("model"): study.title, N_("task"): message("mean of the drops")} |
                    {message("live {share}", share=share): percent(study.of_tasks().mean_drop_by_seed(LEARNED, count))
                     for share, count in zip(LIVE, study.counts, strict=True)})
    return rows


def _scores(study: Study, task: Task, count: int) -> str:
    scores = task.at(LEARNED, count, study.heads)
    if not scores:
        return tables.NOTHING
    drop = task.drop(LEARNED, count, study.heads)
    lost = "" if drop is None or count == 0 else f" ({_change(-drop)})"
    return f"{fmean(scores):.3f} ± {tables.half(scores):.3f}{lost}"


def _change(share: float) -> str:
    """Returns a signed percentage; `±` if it rounds to 0."""
    percentage = f"{100 * abs(share):.1f}%"
    return f"±{percentage}" if percentage == "0.0%" else f"{'−' if share < 0 else '+'}{percentage}"


def _drop_chart(studies: Sequence[Study]) -> Chart | None:
    points = [{"name": study.title, "x": count / study.heads, "value": round(value, 4), "seed": seed}
              for study in studies for count in study.counts
              for seed, value in enumerate(study.mean_drop_by_seed(LEARNED, count))]
    return tables.chart("lines", points, message("relative drop, mean of the tasks"), (
        message("{name}: {value}", name=study.title, value=percent(study.mean_drop_by_seed(LEARNED, study.heads)))
        for study in studies), message("share of constant heads"),
                        (AVERAGE, message("source, all heads constant")), ".0%")


def _drop(study: Study, tasks: Sequence[Task], scores: Sequence[tuple[float, ...]],
          others: Sequence[tuple[float, ...]] = ()) -> Estimate | None:
    """Returns by what share of the unmodified score the mean over tasks drops, or drops more than with `others`."""
    whole = [task.at(LEARNED, 0, study.heads) for task in tasks]
    sides = (others or whole, scores)
    if not tasks or any(len(values) < 2 for side in (*sides, whole) for values in side):
        return None
    base = fmean(map(fmean, whole))
    less = (fmean(map(fmean, sides[0])) - fmean(map(fmean, sides[1]))) / base
    squares = sum(variance(values) / len(values) for side in sides for values in side)
    freedom = sum(len(values) - 1 for side in sides for values in side)
    return Estimate(less, math.sqrt(squares) / len(tasks) / base, freedom)


def _counted(study: Study) -> list[Task]:
    return [task for task in study.tasks.values() if task.is_informative(study.heads)]


def _pretrained(evidence: Evidence, studies: Sequence[Study]) -> Study | None:
    """Returns the study of MiniLM, the model that was pretrained as the source's are."""
    return next((study for study in studies if not study.moment and not evidence.card(study.name)), None)


def _lost(evidence: Evidence, studies: Sequence[Study], share: float) -> Estimate | None:
    study = _pretrained(evidence, studies)
    if study is None:
        return None
    tasks, count = _counted(study), study.counts[-1 if share == 1 else 1]
    return _drop(study, tasks, [task.at(LEARNED, count, study.heads) for task in tasks])


def _worst(evidence: Evidence, studies: Sequence[Study]) -> Estimate | None:
    study = _pretrained(evidence, studies)
    drops = [_drop(study, [task], [task.at(LEARNED, study.heads, study.heads)]) for task in _counted(study)] \
        if study else []
    return largest(drops) if drops else None


def _gained(studies: Sequence[Study]) -> Estimate | None:
    """Returns by how much the mean score drops more in random orders, of the first model that was measured in both."""
    for study in studies:
        tasks, count = _counted(study), study.counts[EIGHTH]
        if found := _drop(study, tasks, *([task.at(order, count, study.heads) for task in tasks]
                                          for order in (RANDOM, LEARNED))):
            return found
    return None


def _rank(check: Check, trainings: int) -> Estimate | None:
    """Returns the rank correlation with the normal error that has the p-value of its permutation test."""
    if check.value is None or check.p_true is None:
        return None
    least = 1 / math.factorial(min(trainings, FEW))  # probability of one order
    distance = float(norm.isf(min(max(check.p_true, least), 1 - least)))
    return Estimate(check.value, abs(check.value / distance) if distance else math.inf, trainings=trainings)


def _needing(studies: Sequence[Study], limit: float) -> list[Study]:
    """Returns the models that need attention: with all heads pruned, the drop is clearly above the limit."""
    return [study for study in studies
            if _by_seed("", study.mean_drop_by_seed(REMOVED, study.heads), limit).outcome == NO]


def _where_heads_count(studies: Sequence[Study], checks: list[Check]) -> list[Check]:
    """Returns the checks; if there are none, returns one check that names the reason."""
    if checks:
        return checks
    return [Check(message("no model clearly loses more with all heads pruned"), UNCLEAR)] if studies else \
        [fact(message("any model"), None)]


def _average(evidence: Evidence, studies: Sequence[Study], shown: Sequence[Study]) -> Statement:
    what = N_("{model} loses at most 8% on average")
    checks = _where_heads_count(studies, [
        _by_seed(message(what, model=study.title), study.mean_drop_by_seed(LEARNED, study.heads), AVERAGE)
        for study in _needing(studies, AVERAGE)])
    return judged(
        "papa-average",
        tables.each([(study.title, percent(study.mean_drop_by_seed(LEARNED, study.heads)))
                     for study in studies if not study.moment]),
        _lost(evidence, studies, 1.0), checks, _rows(shown), _drop_chart(studies), _commands(studies))


def _most(evidence: Evidence, studies: Sequence[Study], shown: Sequence[Study]) -> Statement:
    checks = _where_heads_count(studies, [
        _by_seed(message("{model}, “{task}”, loses at most 20%", model=study.title, task=message(task.title)),
                 task.drops(LEARNED, study.heads, study.heads), MOST)
        for study in studies for task in study.tasks.values()
        if _by_seed("", task.drops(REMOVED, study.heads, study.heads), MOST).outcome == NO])
    points = [{"name": message("{model}, “{task}”", model=study.title, task=message(task.title)),
               "value": round(value, 4), "which": study.title}
              for study in studies for task in study.tasks.values()
              for value in task.drops(LEARNED, study.heads, study.heads)]
    chart = tables.chart("dots", points, message("relative drop with all heads constant"), N_("{name} {value:.1%}"),
                         rule=(MOST, message("maximum in the paper")), form=".0%")
    rows = [{N_("model"): study.title, N_("task"): message(task.title), N_("source"): message("20% at most"),
             N_("here"): percent(task.drops(LEARNED, study.heads, study.heads))}
            for study in shown for task in study.tasks.values()]
    return judged(
        "papa-most",
        tables.each([
            (message("{model}, “{task}”", model=study.title, task=message(task.title)), percent(drops))
            for study in studies if not study.moment for task, drops in [max(
                ((task, task.drops(LEARNED, study.heads, study.heads)) for task in study.tasks.values()),
                key=lambda pair: fmean(pair[1] or [-1.0]))]]),
        _worst(evidence, studies), checks, rows, chart, _commands(studies))


def _half(evidence: Evidence, studies: Sequence[Study]) -> Statement:
    checks = _where_heads_count(studies, [
        _by_seed(message("{model} loses at most 2%, half constant", model=study.title),
                 study.mean_drop_by_seed(LEARNED, study.counts[1]), LITTLE) for study in _needing(studies, LITTLE)])
    rows = [{N_("model"): study.title, N_("source"): message("little or nothing"),
             N_("half constant"): percent(study.mean_drop_by_seed(LEARNED, study.counts[1])),
             N_("all constant"): percent(study.mean_drop_by_seed(LEARNED, study.heads)),
             N_("half pruned"): percent(study.mean_drop_by_seed(REMOVED, study.counts[1])),
             N_("all pruned"): percent(study.mean_drop_by_seed(REMOVED, study.heads))} for study in studies]
    return judged(
        "papa-half",
        tables.each([(study.title, percent(study.mean_drop_by_seed(LEARNED, study.counts[1])))
                     for study in studies if not study.moment]),
        _lost(evidence, studies, 0.5), checks, rows,
        _dots([(study.title, way, study.mean_drop_by_seed(key, study.counts[1])) for study in studies
               for key, way in ((LEARNED, message("half constant")), (REMOVED, message("half pruned")))], LITTLE, "2%"),
        _commands(studies))


def _dots(rows: Sequence[tuple[str, str, Sequence[float]]], limit: float, rule: str) -> Chart | None:
    """Returns a chart of mean drops with one point per probe; `rows` are (model, intervention, drops)."""
    points = [{"name": model, "value": round(value, 4), "which": which} for model, which, values in rows
              for value in values]
    return tables.chart("dots", points, message("relative drop, mean of the tasks"), (
        message("{name}, {which}: {value}", name=model, which=which, value=percent(values))
        for model, which, values in rows), rule=(limit, rule), form=".0%")


def _paired(study: Study) -> list[float]:
    """Returns for each probe and random order the drop with the random order minus the drop with the learned order."""
    count = study.counts[EIGHTH]
    rows = [[random - learned for learned, random in zip(
        task.drops(LEARNED, count, study.heads), task.drops(RANDOM, count, study.heads), strict=False)]
        for task in study.tasks.values()]
    known = [row for row in rows if row]
    return [fmean(drops) for drops in zip(*known, strict=False)]


def _order(every: Sequence[Study]) -> Statement:
    studies = [study for study in every if study.has(RANDOM)]
    checks = [_by_seed(message("{model} loses less in the learned order", model=study.title),
                       [-difference for difference in _paired(study)], 0.0)
              for study in studies] or [fact(message("any model"), None)]
    drops = [(study, {order: study.mean_drop_by_seed(order, study.counts[EIGHTH])
                      for order in (LEARNED, RANDOM, REMOVED)}) for study in studies]
    rows = [{N_("model"): study.title, N_("source"): tables.NOTHING, N_("learned order"): percent(drop[LEARNED]),
             N_("random orders"): percent(drop[RANDOM]), N_("pruned, learned order"): percent(drop[REMOVED])}
            for study, drop in drops]
    return judged(
        "papa-order",
        tables.each([(study.title, message("{learned}, random {random}", learned=percent(drop[LEARNED]),
                                           random=percent(drop[RANDOM]))) for study, drop in drops]),
        _gained(studies), checks, rows,
        _dots([(study.title, which, drop[key]) for study, drop in drops
               for key, which in ((LEARNED, message("learned order")), (RANDOM, message("random orders")),
                                  (REMOVED, message("pruned, learned order")))], 0.0, ""),
        _commands(studies))


def _better(studies: Sequence[Study]) -> Statement:
    ranking = results.ranked(studies)
    what = message("score and drop correlate positively")
    if ranking.trainings < results.MODELS or math.isnan(ranking.rank):
        check = fact(what, None)
    else:  # the sign of the correlation is clear at a p-value below CHANCE on either side
        p = _chance_of_order(ranking)
        check = Check(what, YES if p < CHANCE else NO if p > 1 - CHANCE else UNCLEAR, value=ranking.rank, limit=0.0,
                      p_true=p, p_false=1 - p)
    rows = [{N_("model"): study.title, N_("parameters"): f"{study.parameters:,}",
             N_("mean score without changes"): f"{quality:.3f}",
             N_("relative drop with all heads constant"): percent(study.mean_drop_by_seed(LEARNED, study.heads))}
            for study, quality, drop in ranking.points]
    if check.outcome != UNKNOWN:
        rows.append({"model": message("rank correlation of {n} trainings", n=ranking.trainings),
                     "parameters": tables.NOTHING, "mean score without changes": f"{ranking.rank:.2f}",
                     "relative drop with all heads constant": message("p = {chance:.2f}", chance=ranking.chance)})
    points = [{"name": study.training, "x": round(quality, 4), "value": round(drop, 4), "seed": 0}
              for study, quality, drop in ranking.points]
    chart = tables.chart("scatter", points, message("relative drop with all heads constant"), (
        message("{name}: {score:.3f}, {drop:.1%}", name=study.title, score=quality, drop=drop)
        for study, quality, drop in ranking.points), message("mean score without changes"), form=".0%")
    return judged(
        "papa-better",
        tables.NOTHING if check.outcome == UNKNOWN else message(
            "rank correlation {rank:.2f} of {n} trainings (p = {chance:.2f})", rank=ranking.rank, n=ranking.trainings,
            chance=ranking.chance),
        _rank(check, ranking.trainings), [check], rows, chart, _commands(studies))


def _chance_of_order(ranked: results.Ranked) -> float:
    """Returns the one-sided p-value of the rank correlation."""
    last = list({study.training: (quality, drop, study.mean_drop_by_seed(LEARNED, study.heads))
                 for study, quality, drop in ranked.points}.values())
    scores = numpy.array([quality for quality, _, _ in last])
    errors = [results.deviation(tuple(probes)) / math.sqrt(max(1, len(probes))) for *_, probes in last]
    random = numpy.random.default_rng(0)
    redrawn = numpy.array([drop for _, drop, _ in last]) + random.standard_normal((REDRAWS, len(last))) * errors
    orders = rankdata([*permutations(range(len(last)))], axis=1) if len(last) <= FEW else rankdata(
        random.random((REDRAWS, len(last))), axis=1)
    reached = rankdata(redrawn, axis=1) @ rankdata(scores)
    return float((orders @ rankdata(scores) >= reached[:, None] - 1e-9).mean())
