"""Comparisons of models on the Constant page.

Two questions: do better models lose more with constant heads, and how do models pretrained with Synthesizers score on
the same probes?
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from app.markdown import plain
from app.panels.choice.labels import model_label
from app.server import caches
from app.texts import _, number
from components import chart, table
from components.charts import Spec
from components.constant_charts import loss_chart
from models.storage.damage import CheckpointError
from models.studies import series, store
from models.studies.papa import results
from models.studies.papa.probe_modes import LEARNED
from models.studies.papa.results import KIND, Study, deviation
from models.studies.transfer import transfer_study
from models.studies.transfer.results import cell, common, encoders_of

ENCODERS = "python -m models.studies.transfer.encoders"
Stamp = tuple[tuple[str, tuple[int, ...]], ...]  # (study, modification stamp of its file), as a cache key


def draw(studies: Sequence[Study]) -> None:
    """Draws both sections; a section without data to compare is omitted.

    Args:
        studies: the stored studies.
    """
    _loss(studies, tuple((its.name, store.stamp(its.name, KIND)) for its in studies))
    _transfer(tuple((name, store.stamp(name, transfer_study.KIND)) for name in transfer_study.MODELS.values()))


def _loss(studies: Sequence[Study], stamp: Stamp) -> None:
    """Draws a scatter plot with one point per model and training checkpoint."""
    spec, alt, said = _ranked(stamp)
    if spec is None:
        return
    chart(key="constant loss", spec=spec, title=_("Do better models lose more?"),
          models=[its.name for its in studies], what="constant-loss", alt=alt)
    st.caption(said)


@caches.remembered(4, worded=True)
def _ranked(stamp: Stamp) -> tuple[Spec | None, str, str]:
    """Returns the chart, a sentence about it and its evidence; no chart for a single point."""
    ranked = results.ranked(its for name, _changed in stamp if (its := results.read(name)) is not None)
    if len(ranked.points) < 2:
        return None, "", ""
    points = [(study.training, quality, drop, deviation(study.mean_drop_by_seed(LEARNED, study.heads)), _moment(study))
              for study, quality, drop in ranked.points]
    alt = "; ".join(f"{study.title}: {quality:.3f}, {number(drop, '.1%')}" for study, quality, drop in ranked.points)
    said = [] if math.isnan(ranked.rank) else [
        _("Rank correlation of {n} trainings, by the last checkpoint of each: {rank:.2f}; {chance:.1%} of random "
          "orders have one as large.", n=ranked.trainings, rank=ranked.rank, chance=ranked.chance)]
    if any(study.moment for study, *_numbers in ranked.points):
        said.append(_("A line joins checkpoints of one training. masked-small, masked-middle and masked-large, of 2, 4 "
                      "and 5 layers, are trained for this alone: {command}", command=f"`{ENCODERS}`"))
    styles = {name: series.style(name) for name, *_numbers in points}
    return loss_chart(points, styles), alt, " ".join(said)


def _moment(study: Study) -> str:
    return _("after {steps:,} steps", steps=int(study.moment["steps"])) if study.moment else ""


def _transfer(stamp: Stamp) -> None:
    try:
        rows = _rows(stamp)
    except CheckpointError as error:
        st.error(plain(_(str(error))))
        return
    if not rows:
        return
    st.markdown(_("**What a pretraining is worth for these tasks**: mean score of encoders that were pretrained alike, "
                  "with softmax or with Synthesizers, under a probe, and fine-tuned."))
    table(key="constant transfer", columns=[_("attention"), _("probed"), _("fine-tuned")],
          rows=[[model_label(kind), probed, tuned] for kind, probed, tuned in rows])
    st.caption(_("± one standard deviation over three seeds; one pretraining each. Every task and the verdict stand on "
                 "the Results page, under Synthesizer."))


@caches.remembered(4)
def _rows(stamp: Stamp) -> list[tuple[str, str, str]]:
    """Returns rows of attention type and mean score per probe mode; none for a single attention type."""
    encoders = encoders_of(lambda moment: store.read(moment, transfer_study.KIND) or {})
    probed, tuned = ({kind: cell([*its.scores(way, common(encoders, way)).values()]) for kind, its in encoders.items()}
                     for way in transfer_study.WAYS)
    rows = [(kind, probed[kind], tuned[kind]) for kind, its in encoders.items() if its.tasks]
    return rows if len(rows) > 1 else []
