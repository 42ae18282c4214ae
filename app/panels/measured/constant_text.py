"""The typed text on the Constant page: each head's distance from its constant pattern, and the probe's predictions."""

from __future__ import annotations

import streamlit as st
from torch import Tensor

from app.markdown import literal
from app.panels.choice.labels import model_label
from app.server import caches, limits, serving
from app.state.handlers import head_events
from app.texts import _, ngettext
from components import chart, table
from components.constant_charts import distance_chart
from models import HeadPlan, Lab, catalogue
from models.studies.papa import prompt_study, shipped
from models.studies.papa.probes import Probe
from models.studies.papa.prompt_study import Read, Said
from models.studies.papa.results import Study

FARTHEST = 5  # number of listed heads with the largest and with the smallest distance


def elsewhere(study: Study) -> str:
    """Returns the message for a study of another model than the page's, which cannot be applied to the typed text.

    Args:
        study: the study.

    Returns:
        The message.
    """
    if study.moment:
        return _("This study is of {study}, which does not ship: what it would say of your text cannot be asked.",
                 study=literal(study.title))
    if study.name in catalogue.names():
        return _("This study is of {study}; choose that model above to see it read your text.",
                 study=literal(study.title))
    return _("This study is of {study}; open that model on the page *Your model* to see it read your text.",
             study=literal(study.title))


def draw(lab: Lab, study: Study, text: str, task: str, count: int) -> None:
    """Draws the section.

    Args:
        lab: the study's model.
        study: the study.
        text: the typed text.
        task: probing task.
        count: number of constant heads.
    """
    st.markdown(_("**The text in the box**, read by {model}: what the probes say before, and with {n} heads constant.",
                  model=literal(model_label(lab.name)), n=count))
    loaded = _shipped(study.name, task, _stamp(study.name, task))
    if loaded is None or not {0, count} <= set(loaded[1]):
        st.caption(_("The probes of this number of heads are not here."))
        return
    found = _read(lab, study, text, task, count, loaded)
    if found is None:
        st.caption(_("Shorten or rewrite the text: it is too long, or its words cannot be told apart in the model's "
                     "tokens."))
        return
    _told(found.said)
    _distances(study, task, found)
    heads = [(str(kind), int(layer), int(head)) for kind, layer, head in study.tasks[task].found["order"]][:count]
    st.button(_("Make these heads constant on all pages"), key="constant plan", on_click=head_events.set_plan,
              args=(HeadPlan().with_heads(heads, constant=True),), disabled=not heads or lab.constant is None,
              help=_("Their constants there are means over the model's own training texts, not over this task's."))


def _read(lab: Lab, study: Study, text: str, task: str, count: int,
          loaded: tuple[Tensor, dict[int, Probe]]) -> Read | None:
    key = ("papa", lab.identity, text, task, count, _stamp(study.name, task))
    found = caches.measured.find(key)
    if found is not None:
        return found
    limits.spend(limits.PASSES)
    its = study.tasks[task].found
    order = [(str(kind), int(layer), int(head)) for kind, layer, head in its["order"]]
    with serving.computing():
        found = prompt_study.read(lab, text, task, tuple(its["labels"]), *loaded, order, count)
    if found is not None:
        caches.measured.keep(key, found)
    return found


@caches.remembered(8)
def _shipped(name: str, task: str, stamp: int) -> tuple[Tensor, dict[int, Probe]] | None:
    return shipped.read(name, task)


def _stamp(name: str, task: str) -> int:
    """Returns a value that changes with the file; 0 without a file."""
    path = shipped.path_of(name, task)
    return path.stat().st_mtime_ns if path.exists() else 0


def _told(said: tuple[Said, ...]) -> None:
    """Draws each word with its predicted tag in the baseline and with constant heads; different tags are marked."""
    changed = sum(its.is_changed for its in said)
    st.markdown(ngettext("{n} label has changed.", "{n} labels have changed.", changed) if changed
                else _("No label has changed."))
    table(key="constant said", columns=[_("word"), _("before"), _("after")],
          rows=[[its.word[:60], _label(its.before), _label(its.after)] for its in said],
          strong=[(row, 2) for row, its in enumerate(said) if its.is_changed])


def _label(its: tuple[str, float]) -> str:
    return f"{its[0]} {its[1]:.0%}"


def _distances(study: Study, task: str, found: Read) -> None:
    values = found.distances
    chart(key="constant distances", spec=distance_chart(_("How far each head is from its constant"), values.tolist()),
          title=_("How far each head is from its constant, on this text"), models=[study.name], what="distance",
          about=[_("Total variation between a head's weights and its constant, mean over queries; 0 is equal, 1 is as "
                   "far as can be.")],
          alt=_("Total variation of each head; {least:.2f} to {most:.2f}", least=float(values.min()),
                most=float(values.max())))
    order = sorted((float(values[layer, head]), layer, head) for layer in range(len(values))
                    for head in range(values.shape[1]))
    ends = ((_("nearest"), order[:FARTHEST]), (_("farthest"), order[:-FARTHEST - 1:-1]))
    st.caption("  \n".join(f"{name}: " + ", ".join(f"{layer + 1}.{head + 1} ({value:.2f})"
                                                   for value, layer, head in its) for name, its in ends))
