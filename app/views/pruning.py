"""The Pruning page: prunes heads one after another, in a measured order.

The page shows the predictions without the pruned heads, the loss on held-out texts, and the saved time.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

import streamlit as st

from app import compute
from app.compute import AnyTrace
from app.markdown import plain
from app.panels.measured import measures, pruning, roles
from app.panels.measured.pruning import Choice
from app.panels.page import frame
from app.panels.page.text import Reading
from app.panels.prompt import effect, heads, translation
from app.server import serving
from app.state import session
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.state.pages.pruning_view import ALL, ORDERS
from app.texts import _, tip
from components import dial, figure, mount, spec_of
from components.mounting import OnEvent
from figures.pruning import MULTIPLICATIONS, TIME, TRAINED_ON, Curve, pruning_curves
from models import Lab
from models.analysis.pruning_orders import RANDOM, follows, left_of


def page() -> None:
    frame.under_header(_draw)


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    st.caption(_("This page prunes heads one after another, in an order that was measured, and shows the loss and the "
                 "saving."))
    state = state.for_model(lab.name)
    before, after = compute.traces_of(lab, reading.prompt, state.plan)
    chosen = pruning.choice(lab, state.pruning, before)
    found = pruning.over_texts(lab, chosen)
    measured = measures.over_a_corpus(lab)
    left = left_of(state.plan, chosen.order)
    said = st.container() if translation.is_offered(before) else None
    with st.container(key="work"):  # style.css arranges the parts on a narrow screen, as on Explore
        grid, middle, panel = st.columns([32, 40, 28], gap="medium")
    with grid:
        _example(chosen, left)
        _choose(lab, state, chosen, left)
        heads.grid(lab, state, after, notes=roles.badges(measured, ""))
        _roles(measured, state, chosen)
    with middle:
        _curves(lab, before, chosen, found, left)
    with panel:
        effect.draw(lab, state, before, after)
    if said is not None:
        with said:
            mount(translation.part(lab, state, before, after))


def _example(chosen: Choice, left: int) -> None:
    """Displays a button that prunes half of the heads; it is disabled if heads are pruned already.

    The button stays on the page, because the slider below would otherwise move away from the pointer during a drag.
    """
    count = len(chosen.order)
    st.button(_("Example: prune {n} of {count} heads", n=count // 2, count=count), key="example-pruning",
              disabled=left < count, on_click=head_events.prune_to, args=(chosen.order, count - count // 2))


def _choose(lab: Lab, state: LabState, chosen: Choice, left: int) -> None:
    """Displays the choice of the pruning order, of the heads to prune, and of the number of remaining heads."""
    count = len(chosen.order)
    st.session_state[session.ORDER], st.session_state[session.SCOPE] = chosen.name, chosen.scope
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(_("Pruning order"), [*chosen.orders], key=session.ORDER, format_func=lambda its: _(ORDERS[its]),
                     on_change=head_events.on_order, args=(chosen.orders, chosen.name), help=tip("order"), width=250)
        if len(pruning.scopes_of(lab)) > 1:
            titles = {ALL: _("All"), **{kind.name: _(kind.title) for kind in lab.kinds}}
            st.segmented_control(_("Attention block"), [*titles], key=session.SCOPE, format_func=titles.__getitem__,
                                 required=True, on_change=head_events.on_scope, label_visibility="collapsed")
    told = [_("**{n}** of {count} heads are left.", n=n, count=count) for n in range(count + 1)]
    if not follows(state.plan, chosen.order):
        told[left] = _("**{n}** of {count} heads are left, pruned in another order.", n=left, count=count)
    dial(key="pruning dial", group=_group(chosen), places=range(count + 1), at=left, term="prune", told=told,
         label=_("Heads left, of {count}", count=count), on_event=_hear(chosen))


def _group(chosen: Choice) -> str:
    """Returns the group of slider and charts. Its name includes the scope, because positions depend on it."""
    return f"pruning {chosen.scope}"


def _hear(chosen: Choice) -> OnEvent:
    return partial(head_events.on_left, order=chosen.order)


def _roles(measured: dict[str, Any], state: LabState, chosen: Choice) -> None:
    """Displays the roles of the remaining heads."""
    its = [role for role in measured.get("roles", [])
           if chosen.scope in (ALL, role["kind"])]
    if not its:
        return
    every = Counter(role["role"] for role in its)
    kept = Counter(role["role"] for role in its
                   if state.plan.state(role["kind"], role["layer"], role["head"]).gate > 0)
    st.markdown(_("**Remaining roles**"))
    st.markdown(" · ".join(_("{role} {kept} of {every}", role=f"{roles.in_words(name)} ({roles.short(name)})",
                             kept=kept[name], every=count) for name, count in sorted(every.items())))


def _curves(lab: Lab, before: AnyTrace, chosen: Choice, found: dict[str, Any], left: int) -> None:
    """Displays the loss and the saving at each number of remaining heads, on held-out texts and the input text."""
    panels: list[tuple[str, bool, dict[str, Curve]]] = []
    if found:
        its = pruning.curves(found)
        panels.append((_("Loss on held-out texts, nats"), False, {name: its.get(name, []) for name in ORDERS}))
        scores = found.get("bleu", {}).get("points", [])
        if scores:
            panels.append(("BLEU", False, {found["main"]: scores, TRAINED_ON: pruning.trained_on(lab, chosen)}))
        panels.append((_("Cost of a pass, share of all heads"), True,
                       {name: its[name] for name in (MULTIPLICATIONS, TIME)}))
    serving.give_way()
    typed = pruning.on_this_text(lab, before, chosen)
    if typed:
        panels.append((_("KL divergence on this text, nats"), False, {chosen.name: typed}))
    if panels:
        about = [_measured(found)] if found else []
        about += [_("KL on this text: from the unmodified predictions, in the chosen order.")] if typed else []
        title = _("Effect of pruning in this order")
        figure(key="pruning chart", spec=spec_of(pruning_curves.spec(panels, 0, title)), models=[lab.name],
               what="pruning", title=title, about=about, alt=_told(found, typed, left),
               group=_group(chosen), at=left, here=_("left now"), on_event=_hear(chosen))
        st.caption(plain(" ".join([_("Click a chart to prune to that number of heads."), *about])),
                   help=tip("bleu") if "bleu" in found else None)
    if found:
        dial(key="pruning numbers", group=_group(chosen), places=range(len(chosen.order) + 1), at=left,
             told=_numbers(found, chosen))
    # the corpora are English, so models of other languages and of assignments have no measurements
    elif not lab.task.only_english:
        st.caption(_("Curves over many texts exist only for our language models."))
    else:
        st.caption(_("Not measured yet: `{command}`", command=f"python -m models.studies.corpus.pruning {lab.name}"))


def _measured(found: dict[str, Any]) -> str:
    """Returns sentences about the texts on which the curves were measured."""
    told = _("Here a pruned head is removed from the model instead of multiplied by 0: the answers are the same, and "
             "time is saved. No model is trained again. Loss: {texts:,} held-out texts, {n:,} predictions. Bars: "
             "standard error of the loss difference; for the random order, standard deviation of {draws} draws.",
             texts=found["texts"], n=found["predictions"], draws=found["draws"])
    return told if "bleu" not in found else " ".join([
        told, _("BLEU: {sentences} test sentences, beam {beam}.", sentences=found["sentences"],
                beam=found["bleu"]["beam"])])


def _numbers(found: dict[str, Any], chosen: Choice) -> list[str]:
    """Returns sentences with the measured values, one string per number of remaining heads."""
    its, chance = ({point[0]: point[1] for point in found["curves"].get(name, [])} for name in (chosen.name, RANDOM))
    most = len(chosen.order)
    # an unfinished study lacks some points
    lost = [_lost(its[most], its[left], left, chance.get(left)) if left in its and most in its else ""
            for left in range(most + 1)]
    return ["\n".join(filter(None, (lost[left], _saving(found, left)))) for left in range(most + 1)]


def _lost(before: float, after: float, left: int, chance: float | None) -> str:
    """Returns a sentence with the loss on held-out texts: all heads, the chosen order, and a random order."""
    told = {"before": before, "after": after, "left": left, "chance": chance}
    if chance is None:
        return _("**{left}** heads in this order: loss **{after:.3f}** nats on held-out texts; all heads "
                 "{before:.3f}.", **told)
    return _("**{left}** heads in this order: loss **{after:.3f}** nats on held-out texts; in random order "
             "{chance:.3f}; all heads {before:.3f}.", **told)


def _saving(found: dict[str, Any], left: int) -> str:
    """Returns a sentence with the saving at the nearest number of heads that was timed."""
    near, whole = min(found["costs"], key=lambda its: abs(its["left"] - left)), found["costs"][-1]
    if near is whole:
        return _("With all heads a pass over {tokens} tokens takes {n:.1f} million multiplications and {ms:.1f} "
                 "ms of one processor core.", tokens=found["cost_tokens"], n=whole["multiplications"] / 1e6,
                 ms=1e3 * whole["seconds"])
    return _("With **{left}** heads, the others removed, a pass over {tokens} tokens takes **{part:.0%}** of the "
             "multiplications ({own:.0%} of those of the heads) and **{time:.0%}** of the time: {before:.1f} → "
             "{after:.1f} million, {old:.1f} → {new:.1f} ms of one processor core.",
             left=near["left"], tokens=found["cost_tokens"], part=near["multiplications"] / whole["multiplications"],
             own=near["of_heads"] / max(1, whole["of_heads"]), time=near["seconds"] / whole["seconds"],
             before=whole["multiplications"] / 1e6, after=near["multiplications"] / 1e6,
             old=1e3 * whole["seconds"], new=1e3 * near["seconds"])


def _told(found: dict[str, Any], typed: Curve, left: int) -> str:
    """Returns the values of the chart at the present number of heads, as a sentence."""
    parts = []
    for name, points in found.get("curves", {}).items():
        parts += [_("loss by {order}: {loss:.3f} nats", order=_(ORDERS[name]), loss=its[1])
                  for its in points if its[0] == left]
    parts += [_("KL on this text {kl:.3f} nats", kl=typed[left][1])] if typed else []
    return _("{left} heads left: {told}", left=left, told="; ".join(parts))
