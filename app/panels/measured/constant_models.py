"""Comparisons of several models on the Constant page: score against drop, and pretraining with Synthesizers."""

from __future__ import annotations

import math
from collections.abc import Sequence

import streamlit as st

from app.markdown import plain
from app.panels.choice.labels import model_label
from app.panels.measured.constant_text import title_of
from app.server import caches
from app.texts import _, number
from components.dial import table
from components.figure import Spec, figure, spec_of
from figures.curves.constants import loss_by_score
from models.storage.damage import CheckpointError
from studies import series, store
from studies.papa import results
from studies.papa.probe_modes import LEARNED
from studies.papa.results import KIND, Study, deviation
from studies.transfer import transfer_study
from studies.transfer.results import cell, common, encoders_of

ENCODERS = "python -m studies.encoders"
RANKED = (f"{ENCODERS} small middle large", "python -m studies.papa masked-small-900 --endpoints")
TRANSFER = (f"{ENCODERS} {' '.join(transfer_study.MODELS)}", "python -m studies.transfer.transfer_study")
Stamp = tuple[tuple[str, tuple[int, ...]], ...]  # (name of a study, a value that changes with the study's file)


def draw(studies: Sequence[Study]) -> None:
    """Displays both sections. A section is only a sentence if there are not enough models to compare."""
    _loss(studies, tuple((study.name, store.stamp(study.name, KIND)) for study in studies))
    _transfer(tuple((name, store.stamp(name, transfer_study.KIND)) for name in transfer_study.MODELS.values()))


def _loss(studies: Sequence[Study], stamp: Stamp) -> None:
    """Displays one point per model or training checkpoint."""
    spec, alt, caption = _ranked(stamp)
    if spec is None:
        st.markdown(f"**{_('Do better models lose more?')}**")
        st.caption(caption)
        return
    figure(key="constant loss", spec=spec, title=_("Do better models lose more?"),
           models=[study.name for study in studies], what="constant-loss", alt=alt)
    st.caption(caption)


@caches.remembered(4, worded=True)
def _ranked(stamp: Stamp) -> tuple[Spec | None, str, str]:
    """Returns the chart, its alternative text and its caption. The chart is None if there are fewer than two points."""
    ranked = results.ranked(study for name, _changed in stamp if (study := results.read(name)) is not None)
    caption = [_("A rank correlation needs {least} trainings, and the current version of this study has measured {n}. "
                 "Measure more with, for example: {command}", least=results.MODELS, n=ranked.trainings,
                 command=_commands(RANKED))]
    if len(ranked.points) < 2:
        return None, "", caption[0]
    points = [(_name(study), quality, drop, deviation(study.mean_drop_by_seed(LEARNED, study.heads)), _moment(study))
              for study, quality, drop in ranked.points]
    alt = "; ".join(f"{title_of(study)}: {quality:.3f}, {number(drop, '.1%')}"
                    for study, quality, drop in ranked.points)
    if ranked.trainings >= results.MODELS:
        caption = [] if math.isnan(ranked.rank) else [_(
            "Spearman's rank correlation over the last checkpoints of {n} trainings: {rank:.2f}. {chance:.1%} of "
            "random orders have a correlation at least as high.", n=ranked.trainings, rank=ranked.rank,
            chance=ranked.chance)]
    if any(study.moment for study, *_numbers in ranked.points):
        caption.append(_("A line joins the checkpoints of one training. masked-small, masked-middle and masked-large "
                         "(2, 4 and 5 layers) were trained only for this chart: {command}", command=f"`{ENCODERS}`"))
    styles = {_name(study): series.style(study.training) for study, *_numbers in ranked.points}
    return spec_of(loss_by_score.spec(points, styles)), alt, " ".join(caption)


def _commands(commands: Sequence[str]) -> str:
    return "; ".join(f"`{command}`" for command in commands)


def _name(study: Study) -> str:
    """Returns the name that the checkpoints of one training share; the title of any other model."""
    return study.training if study.moment else title_of(study)


def _moment(study: Study) -> str:
    return _("after {steps:,} steps", steps=int(study.moment["steps"])) if study.moment else ""


def _transfer(stamp: Stamp) -> None:
    try:
        rows = _rows(stamp)
    except CheckpointError as error:
        st.error(plain(_(str(error))))
        return
    if not rows:
        st.markdown(_("**Transfer of pretrained encoders** has not been measured with the current version of this "
                      "study. Measure it with: {command}", command=_commands(TRANSFER)))
        return
    st.markdown(_("**Transfer of pretrained encoders**: mean score on these tasks, probed and fine-tuned, of encoders "
                  "with the same pretraining and different attention types."))
    table(key="constant transfer", columns=[_("attention"), _("with a probe"), _("fine-tuned")],
          rows=[[model_label(attention), probed, tuned] for attention, probed, tuned in rows])
    st.caption(_("± one standard deviation over three seeds; one pretraining each. The page *Results* shows every task "
                 "and the verdict, under Synthesizer."))


@caches.remembered(4)
def _rows(stamp: Stamp) -> list[tuple[str, str, str]]:
    """Returns (attention type, mean probed score, mean fine-tuned score); empty if fewer than two are measured."""
    encoders = encoders_of(lambda moment: store.read(moment, transfer_study.KIND) or {})
    probed, tuned = ({attention: cell([*encoder.scores(mode, common(encoders, mode)).values()])
                      for attention, encoder in encoders.items()} for mode in transfer_study.WAYS)
    rows = [(attention, probed[attention], tuned[attention]) for attention, encoder in encoders.items()
            if encoder.tasks]
    return rows if len(rows) > 1 else []
