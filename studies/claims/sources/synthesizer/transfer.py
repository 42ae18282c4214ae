"""The last part of claim 2: how well pretrained Synthesizers transfer to other tasks.

studies/transfer/transfer_study.py measures the transfer.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from statistics import fmean

from models.messages import N_, listed, message
from studies.claims import Chart, Statement, tables
from studies.claims.contrast import judged
from studies.claims.evidence import Evidence
from studies.claims.sources.synthesizer.generated import ALONE, MIXED, TITLES
from studies.claims.verdict import Samples, below, differences, no_worse, of_values
from studies.encoders import STEPS
from studies.papa.corpora import CORPORA
from studies.transfer.transfer_study import KIND, MODELS, PROBED, TUNED, WAYS, Encoder, common, encoders_of

GLUE = {"softmax": "83.5", "random": "75.1", "dense": "72.0", "dense-softmax": "82.6", "random-softmax": "84.1"}
WAY_WORDS = {PROBED: N_("with a probe"), TUNED: N_("fine-tuned")}
COMMAND = "\n".join((f"python -m studies.encoders {' '.join(MODELS)}",
                     "python -m studies.transfer.transfer_study", "python -m studies.claims"))


def statements(evidence: Evidence) -> list[Statement]:
    """Returns both statements."""
    encoders = encoders_of(lambda moment: evidence.study(moment, KIND))
    return [_judged(encoders, kinds) for kinds in (ALONE, MIXED)]


def _samples(encoders: Mapping[str, Encoder], kind: str, way: str) -> Samples:
    scores = encoders[kind].scores(way, common(encoders, way))
    return {STEPS: scores} if scores else {}


def _judged(encoders: Mapping[str, Encoder], kinds: Sequence[str]) -> Statement:
    key, test, what = ("synthesizer-transfer", below, N_("{kind}, {way}, below softmax")) if kinds == ALONE else \
        ("synthesizer-together", no_worse, N_("{kind}, {way}, at softmax or better"))
    checks = []
    for kind, way in product(kinds, WAYS):
        sides = (_samples(encoders, kind, way), _samples(encoders, "softmax", way))
        checks.append(test(message(what, kind=TITLES[kind], way=message(WAY_WORDS[way])),
                           differences(*(sides if kinds == ALONE else reversed(sides)))))
    ours = listed((message("{way}: {values}", way=message(WAY_WORDS[way]), values=tables.each([
        (TITLES[kind], tables.spread([*encoders[kind].scores(way, common(encoders, way)).values()], ".3f"))
        for kind in ("softmax", *kinds)])) for way in WAYS), "; ")
    # the fine-tuned score of softmax minus the mean of other types; the seeds are those of the fine-tuning
    plain, *others = ([*_samples(encoders, kind, TUNED).get(STEPS, {}).values()] for kind in ("softmax", *kinds))
    tuned = of_values([own - fmean(each) for own, *each in zip(plain, *others, strict=False)])
    return judged(key, ours, tuned, checks, _rows(encoders), _chart(encoders), COMMAND)


def _rows(encoders: Mapping[str, Encoder]) -> list[dict[str, str]]:
    """Returns one table row per attention type and mode, with the mean over tasks and the score of each task."""
    rows = []
    for kind, encoder in encoders.items():
        for way in WAYS:
            means = [*encoder.scores(way, common(encoders, way)).values()]
            row = {N_("attention"): TITLES[kind], N_("method"): message(WAY_WORDS[way]),
                   N_("source, GLUE"): GLUE.get(kind, tables.NOTHING) if way == TUNED else tables.NOTHING,
                   N_("loss on hidden words"): tables.NOTHING if encoder.loss is None else f"{encoder.loss:.3f}",
                   N_("mean of the tasks"): tables.spread(means, ".3f")}
            row |= {message(corpus.title):
                    tables.spread([*encoder.tasks[key][way].values()], ".3f") if key in encoder.tasks else
                    tables.NOTHING
                    for key, corpus in CORPORA.items() if any(key in each.tasks for each in encoders.values())}
            rows.append(row)
    return rows


def _chart(encoders: Mapping[str, Encoder]) -> Chart | None:
    points = [{"name": TITLES[kind], "value": round(value, 4), "which": message(WAY_WORDS[way])}
              for kind, encoder in encoders.items() for way in WAYS
              for value in encoder.scores(way, common(encoders, way)).values()]
    return tables.chart("dots", points, message("mean score of the tasks"), (
        message("{kind}, {way}: {value}", kind=TITLES[kind], way=message(WAY_WORDS[way]),
                value=tables.spread([*encoder.scores(way, common(encoders, way)).values()], ".3f"))
        for kind, encoder in encoders.items() for way in WAYS))
