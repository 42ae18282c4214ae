"""The Compare page: up to four models of a family on one text, with one selection and one plan for all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import compute, serving
from app.compute import Seen
from app.markdown import literal, plain
from app.panels import companions, effect, frame, heads, rewriting
from app.panels.text import Reading
from app.state import visitor_models
from app.state.lab_state import LabState
from app.texts import _, tip
from components.charts import row_entropy_chart, row_entropy_table
from models import Lab
from models.checkpoint import CheckpointError
from models.foreign import ForeignError
from models.tasks.base import InputError
from models.trace import divergence, row_entropy

FACTS = 56  # pixels


def page() -> None:
    frame.under_header(_draw)


def _draw(first: Lab, reading: Reading, state: LabState) -> None:
    companions.choose(first.name)
    if not state.compared:
        st.info(_("Nothing to compare yet: choose up to three models to stand beside this one."))
    _columns(state, reading.shown)


@dataclass(frozen=True)
class Compared:
    """One of the models with the text as it reads it.

    Attributes:
        state: with the part of the plan and the selection that this model has heads for.
        before, after: as trained and under the plan.
    """

    lab: Lab
    state: LabState
    before: Seen
    after: Seen


def _columns(state: LabState, shown: str) -> None:
    """A row for each thing to compare, so that like stands beside like whatever the models' shapes."""
    names = state.models
    found: list[Compared | None] = []
    for name, column in _beside(names):
        with column:
            found.append(_read(name, state, shown))
            if found[-1] is not None:
                _heads(found[-1], found[0], len(found) - 1)
    for row in (_map, _effect):
        for index, ((name, column), one) in enumerate(zip(_beside(names), found, strict=True)):
            if one is not None:
                serving.give_way()
                with column:
                    st.markdown(f"**{literal(name)}**")
                    row(one, index)
    if any(found):
        _entropies([one for one in found if one is not None])


def _beside(names: Sequence[str]) -> list[tuple[str, DeltaGenerator]]:
    """A column for each model; at least two, so that a first model has its width before a second one comes."""
    return list(zip(names, st.columns(max(2, len(names)), gap="small"), strict=False))


def _read(name: str, state: LabState, shown: str) -> Compared | None:
    """None, with the reason on the page, if the model cannot read this text."""
    st.markdown(f"**{literal(name)}**")
    try:
        lab = visitor_models.with_constants(serving.load(name))
        prompt = compute.read(lab, shown)
    except CheckpointError as error:
        st.error(plain(_(str(error))))
        return None
    except (ForeignError, InputError) as error:  # which hold what somebody typed
        st.error(literal(_(str(error))))
        return None
    if lab.longest == lab.limit and prompt.left_out:
        title = plain(_(lab.kinds[0].attention.title))
        st.warning(_("This text has {count} tokens; {title} has weights for {limit} and no rule for more. It is not "
                     "shown.", count=len(prompt.ids) + prompt.left_out, title=title, limit=lab.limit))
        return None
    fitting = state.alone(name)
    return Compared(lab, fitting, *compute.traces_of(lab, prompt, fitting.plan))


def _heads(one: Compared, first: Compared | None, index: int) -> None:
    with st.container(height=FACTS, border=False):  # one line or two: what follows stays level with its neighbours
        st.caption(facts(one, first))
    heads.grid(one.lab, one.state, one.after, key=f"heads {index}")


def _map(one: Compared, index: int) -> None:
    heads.large(one.lab, one.state, one.after, key=f"map {index}")
    heads.notes(one.lab, one.state)


def _effect(one: Compared, index: int) -> None:
    if rewriting.is_offered(one.before):
        rewriting.draw(one.lab, one.state, one.before, one.after, key=f"written {index}")
    effect.draw(one.lab, one.state, one.before, one.after, key=f"effect {index}")


def _entropies(found: list[Compared]) -> None:
    st.markdown(_("**Entropy of each row** of the selected head, as used; dotted: ln n, the most there can be."),
                help=tip("entropy"))
    rows = {title(one): entropies(one) for one in found}
    table = row_entropy_table(rows, heads.selected(found[0].lab, found[0].state)[0].causal)
    last = "; ".join(f"{name} {values[-1]:.2f}" for name, values in rows.items())
    st.altair_chart(row_entropy_chart(table), alt=_("Entropy of each query's row in nats, a line a model; last: "
                                                    "{last}", last=last))
    st.download_button(_("Entropies as CSV"), table.to_csv(index=False), "compare-entropy.csv", "text/csv",
                       on_click="ignore")


def title(one: Compared) -> str:
    """The model and its selected head: models of other shapes take the nearest one they have."""
    return _("{name}, layer {layer}, head {head}", name=one.lab.name, layer=one.state.selection.layer + 1,
             head=one.state.selection.head + 1)


def entropies(one: Compared) -> list[float]:
    """(N,) nats of the selected head's rows; a row of relu² is made to sum to 1 first."""
    at = one.state.selection
    maps = compute.layer_of(one.lab, one.after, one.state.plan, at.kind, at.layer)
    return row_entropy(maps.weights[at.head]).tolist()


def facts(one: Compared, first: Compared | None) -> str:
    """A model's numbers on this text, in one line."""
    parts = [_(one.lab.kinds[0].attention.title)]
    if not math.isnan(one.after.loss):
        parts.append(_("loss {loss:.3f} nats", loss=one.after.loss))
    if first is not None and first is not one:
        theirs, ours = first.after.output, one.after.output
        if theirs is not None and ours is not None and theirs.position == ours.position:
            parts.append(_("KL from the first model {kl:.3f} nats", kl=divergence(theirs, ours)))
    return plain(" · ".join(parts))
