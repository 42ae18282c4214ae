"""The Pruning page: prunes heads one after another, in a measured order.

The page shows the predictions without the pruned heads, the loss on held-out texts, and the saved time.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import streamlit as st

from app import compute
from app.compute import AnyTrace
from app.markdown import plain
from app.panels.measured import measures, pruning, roles
from app.panels.measured.pruning import Choice
from app.panels.page import frame, text
from app.panels.page.text import Reading
from app.panels.prompt import effect, heads
from app.panels.writing import translation
from app.server import caches, serving
from app.server.limits import LimitError
from app.state import session, visit, visitor_models
from app.state.handlers import head_events
from app.state.lab_state import LabState
from app.state.pages.pruning_view import ALL, ORDERS
from app.texts import _, tip
from components.dial import dial, paragraph
from components.figure import Spec, figure, spec_of
from components.mounting import OnEvent, Part, mount
from figures.curves.pruning import MULTIPLICATIONS, TIME, TRAINED_ON, Curve, pruning_curves
from models import HeadPlan, Lab
from models.analysis.pruning_orders import RANDOM, follows, left_of
from models.labs.foreign import ForeignError
from models.storage.checkpoint import CheckpointError

RISE = 1.1  # ratio of perplexities up to which the sentence above the charts counts heads


def page() -> None:
    frame.under_header(_draw, direct=DIRECT)


def depends(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the arrangement of the page; see frame.Direct.depends."""
    before = _traces(lab, reading, state)[0]
    chosen = pruning.choice(lab, state.pruning, before)
    return (state.hides_answer, translation.is_offered(before), tuple(chosen.orders), chosen.name, chosen.scope,
            bool(pruning.over_texts(lab, chosen)), pruning.has_curve_on_text(lab, before))


def later(lab: Lab, reading: Reading, state: LabState) -> Hashable:
    """Returns a key that changes with the content of the example button; see frame.Direct.later."""
    chosen = pruning.choice(lab, state.pruning, _traces(lab, reading, state)[0])
    return left_of(state.for_model(lab.name).plan, chosen.addresses) < len(chosen.addresses)


def parts(lab: Lab, reading: Reading, state: LabState) -> list[Part]:
    """Returns the page's components, except `late_parts`."""
    before, after = _traces(lab, reading, state)
    content = [heads.grid_part(lab, state.for_model(lab.name), after,
                               notes=roles.badges(lab, measures.over_a_corpus(lab)))]
    if not state.hides_answer:
        content.append(effect.part(lab, state.for_model(lab.name), before, after))
    return [*content, *(make() for make in _charts(lab, before, state))] if _is_ready(lab, before, state) else content


def late_parts(lab: Lab, reading: Reading, state: LabState) -> list[Callable[[], Part]]:
    """Returns functions that create the components which take longer than the attention maps.

    For a new text these are the slider and the charts, which need forward passes. The translation is always the last.
    """
    before, after = _traces(lab, reading, state)
    charts = [] if _is_ready(lab, before, state) else _charts(lab, before, state)
    return [*charts, *([partial(translation.part, lab, state.for_model(lab.name), before, after)]
                       if translation.is_offered(before) else [])]


DIRECT = frame.Direct(depends, parts, late_parts, later=later)


def _traces(lab: Lab, reading: Reading, state: LabState) -> tuple[AnyTrace, AnyTrace]:
    return compute.traces_of(lab, reading.prompt, state.for_model(lab.name).plan)


def _is_ready(lab: Lab, before: AnyTrace, state: LabState) -> bool:
    return pruning.is_computed(lab, before, pruning.choice(lab, state.pruning, before))


def _charts(lab: Lab, before: AnyTrace, state: LabState) -> list[Callable[[], Part]]:
    """Returns functions that create the slider, the roles, the chart, and the numbers below the chart."""
    chosen = pruning.choice(lab, state.pruning, before)
    state, measured = state.for_model(lab.name), pruning.over_texts(lab, chosen)
    functions: list[Callable[[], Part]] = [partial(_dial, chosen, state)]
    if _with_roles(lab, chosen):
        functions.append(partial(_roles, lab, chosen, state))
    if measured or pruning.has_curve_on_text(lab, before):
        functions.append(partial(_curves, lab, before, chosen, state))
    if measured:
        functions.append(lambda: dial.part(key="pruning numbers", group=_group(chosen),
                                           positions=range(len(chosen.order) + 1),
                                           at=left_of(state.plan, chosen.order), texts=_numbers(measured, chosen)))
    return functions


def _draw(lab: Lab, reading: Reading, state: LabState) -> None:
    st.caption(_("This page prunes heads one after another, in an order that was measured. Move the slider and watch "
                 "the loss, the saving and the prediction."))
    before, after = _traces(lab, reading, state)
    chosen = pruning.choice(lab, state.pruning, before)
    serving.give_way()
    components = {part.key: part for part in parts(lab, reading, state)}
    if "pruning dial" not in components:  # a new text
        components |= {part.key: part for part in (make() for make in _charts(lab, before, state))}
    container = st.container() if translation.is_offered(before) else None
    with st.container(key="work"):  # style.css arranges the parts on a narrow screen, as on Explore
        grid, middle, panel = st.columns([32, 40, 28], gap="medium")
    with grid:
        _example(chosen, left_of(state.for_model(lab.name).plan, chosen.order))
        _choose(lab, chosen)
        if "pruning dial" in components:
            mount(components["pruning dial"])
        with st.container():  # also without roles, so that the tiles have a fixed place
            if not state.lesson:  # the step's words need the room above the tiles
                roles.explain_badges(lab, measures.over_a_corpus(lab))
        mount(components["heads"])
        if state.lesson:
            roles.explain_badges(lab, measures.over_a_corpus(lab))
        if "pruning roles" in components:
            mount(components["pruning roles"])
    with middle:
        with st.container():  # also without a sentence, so that the chart has a fixed place
            if (found := _finding(pruning.over_texts(lab, chosen), chosen)) and not state.lesson:
                st.markdown(found)
        if "pruning chart" in components:
            mount(components["pruning chart"])
            _caption(lab, before, chosen)
        if "pruning numbers" in components:
            mount(components["pruning numbers"])
        # the corpora are English, so models of other languages and of assignments have no measurements
        elif not lab.task.only_english:
            st.caption(_("Curves over many texts exist only for our language models."))
        else:
            st.caption(_("Not measured yet: `{command}`",
                         command=f"python -m studies.corpus.pruning {lab.name}"))
    with panel:
        effect.draw(lab, state.for_model(lab.name), before, after)
    if container is not None:
        with container:
            mount(translation.part(lab, state.for_model(lab.name), before, after))


def _present() -> Choice:
    """Returns the pruning orders of the visitor's present text, for the callbacks of Streamlit's widgets.

    The events route may have changed the text since Streamlit displayed the widgets.
    """
    past = visit.current().history
    lab = visitor_models.opened(past.present.model)
    before = compute.traces_of(lab, text.read(lab, past, past.present.text).prompt, HeadPlan())[0]
    return pruning.choice(lab, past.present.pruning, before)


def _prune_half() -> None:
    with contextlib.suppress(LimitError, CheckpointError, ForeignError):  # the page then displays the error
        order = _present().order
        head_events.prune_to(order, len(order) - len(order) // 2)


def _on_order() -> None:
    with contextlib.suppress(LimitError, CheckpointError, ForeignError):  # the page then displays the error
        chosen = _present()
        head_events.on_order(chosen.orders, chosen.name)


def _example(chosen: Choice, left: int) -> None:
    """Displays a button that prunes half of the heads; it is disabled if heads are pruned already.

    The button stays on the page, because the slider below would otherwise move away from the pointer during a drag.
    """
    count = len(chosen.order)
    st.button(_("Example: prune {n} of {count} heads", n=count // 2, count=count), key="example-pruning",
              disabled=left < count, on_click=_prune_half)


def _choose(lab: Lab, chosen: Choice) -> None:
    """Displays the choice of the pruning order and of the heads to prune."""
    st.session_state[session.ORDER], st.session_state[session.SCOPE] = chosen.name, chosen.scope
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.selectbox(_("Pruning order"), [*chosen.orders], key=session.ORDER, filter_mode=None,
                     format_func=lambda order: _(ORDERS[order]),
                     on_change=_on_order, help=tip("order"), width=250)
        if len(pruning.scopes_of(lab)) > 1:
            titles = {ALL: _("All"), **{kind.name: _(kind.title) for kind in lab.kinds}}
            st.segmented_control(_("Attention block"), [*titles], key=session.SCOPE, format_func=titles.__getitem__,
                                 required=True, on_change=head_events.on_scope, label_visibility="collapsed")


def _dial(chosen: Choice, state: LabState) -> Part:
    """Returns the slider of the number of remaining heads."""
    count, left = len(chosen.order), left_of(state.plan, chosen.order)
    texts = [_("**{n}** of {count} heads are left.", n=n, count=count) for n in range(count + 1)]
    if not follows(state.plan, chosen.order):
        texts[left] = _("**{n}** of {count} heads are left, pruned in another order.", n=left, count=count)
    return dial.part(key="pruning dial", group=_group(chosen), positions=range(count + 1), at=left, term="prune",
                     texts=texts, label=_("Heads left, of {count}", count=count), on_event=_hear(chosen))


def _group(chosen: Choice) -> str:
    """Returns the group of slider and charts. Its name includes the scope, because positions depend on it."""
    return f"pruning {chosen.scope}"


def _hear(chosen: Choice) -> OnEvent:
    return partial(head_events.on_left, order=chosen.order)


def _with_roles(lab: Lab, chosen: Choice) -> list[dict[str, Any]]:
    """Returns the measured roles of the heads that can be pruned."""
    return [role for role in roles.shown_roles(lab, measures.over_a_corpus(lab)) if chosen.scope in (ALL, role["kind"])]


def _roles(lab: Lab, chosen: Choice, state: LabState) -> Part:
    """Returns a sentence with the roles of the remaining heads."""
    all_roles = _with_roles(lab, chosen)
    every = Counter(role["role"] for role in all_roles)
    kept = Counter(role["role"] for role in all_roles
                   if state.plan.state(role["kind"], role["layer"], role["head"]).gate > 0)
    listed = " · ".join(_("{role} {kept} of {every}", role=f"{roles.in_words(name)} ({roles.short(name)})",
                          kept=kept[name], every=count) for name, count in sorted(every.items()))
    return paragraph.part(key="pruning roles", text="\n".join((_("**Remaining roles**"), listed)))


def _curves(lab: Lab, before: AnyTrace, chosen: Choice, state: LabState) -> Part:
    """Returns the loss and the saving at each number of remaining heads, on held-out texts and the input text."""
    measured, left = pruning.over_texts(lab, chosen), left_of(state.plan, chosen.order)
    panels: list[tuple[str, bool, dict[str, Curve]]] = []
    if measured:
        curves = pruning.curves(measured)
        panels.append((_("Loss on held-out texts, nats"), False, {name: curves.get(name, []) for name in ORDERS}))
        scores = measured.get("bleu", {}).get("points", [])
        if scores:
            panels.append(("BLEU", False, {measured["main"]: scores, TRAINED_ON: pruning.trained_on(lab, chosen)}))
        panels.append((_("Cost of a pass, share of all heads"), True,
                       {name: curves[name] for name in (MULTIPLICATIONS, TIME)}))
    serving.give_way()
    typed = pruning.on_this_text(lab, before, chosen)
    if typed:
        panels.append((_("KL divergence on this text, nats"), False, {chosen.name: typed}))
    return figure.part(key="pruning chart", spec=_spec(json.dumps(panels)), models=[lab.name], what="pruning",
                       title=_("Effect of pruning in this order"), about=_about(lab, before, measured),
                       alt=_in_words(measured, typed, left), group=_group(chosen), at=left, here=_("left now"),
                       on_event=_hear(chosen))


@caches.remembered(worded=True)
def _spec(panels: str) -> Spec:
    """Returns the chart of these panels, the first argument of figures.curves.pruning.pruning_curves as JSON."""
    return spec_of(pruning_curves.spec(json.loads(panels), 0, _("Effect of pruning in this order")))


def _about(lab: Lab, before: AnyTrace, measured: dict[str, Any]) -> list[str]:
    """Returns sentences about the measurements that the chart shows."""
    on_text = [_("KL divergence on this text, from the predictions of the unmodified model, in the chosen order.")]
    return [*([_measured(measured)] if measured else []), *(on_text if pruning.has_curve_on_text(lab, before) else [])]


def _caption(lab: Lab, before: AnyTrace, chosen: Choice) -> None:
    measured = pruning.over_texts(lab, chosen)
    st.caption(plain(" ".join([_("Click a chart to prune to that number of heads."), *_about(lab, before, measured)])),
               help=tip("bleu") if "bleu" in measured else None)


def _measured(measured: dict[str, Any]) -> str:
    """Returns sentences about the texts on which the curves were measured."""
    note = _("Here a pruned head is removed from the model instead of multiplied by 0: the answers are the same, and "
             "time is saved. No model is trained again. Loss: {texts:,} held-out texts, {n:,} predictions. Bars: "
             "standard error of the loss difference; for the random order, standard deviation of {draws} draws.",
             texts=measured["texts"], n=measured["predictions"], draws=measured["draws"])
    return note if "bleu" not in measured else " ".join([
        note, _("BLEU: {sentences} test sentences, beam {beam}.", sentences=measured["sentences"],
                beam=measured["bleu"]["beam"])])


def _finding(measured: dict[str, Any], chosen: Choice) -> str:
    """Returns a sentence with the number of heads that each order prunes before perplexity rises by 10%."""
    counts = pruning.prunable(measured, RISE) if measured else {}
    if not counts:
        return ""
    first = chosen.name if chosen.name in counts else next(iter(counts))
    lead = _("By *{order}*, **{n} of {count}** heads can be pruned before perplexity rises by 10%.",
             order=_(ORDERS[first]), n=counts[first], count=len(chosen.order))
    others = [_("*{order}* {n}", order=_(ORDERS[name]), n=count) for name, count in counts.items()
              if name != first]
    return " ".join([lead, *([_("In other orders: {orders}.", orders=", ".join(others))] if others else [])])


def _numbers(measured: dict[str, Any], chosen: Choice) -> list[str]:
    """Returns sentences with the measured values, one string per number of remaining heads."""
    curve, chance = ({point[0]: point[1] for point in measured["curves"].get(name, [])} for name in (chosen.name,
                                                                                                     RANDOM))
    most = len(chosen.order)
    # an unfinished study lacks some points
    lost = [_lost(curve[most], curve[left], left, chance.get(left)) if left in curve and most in curve else ""
            for left in range(most + 1)]
    return ["\n".join(filter(None, (lost[left], _saving(measured, left)))) for left in range(most + 1)]


def _lost(before: float, after: float, left: int, chance: float | None) -> str:
    """Returns a sentence with the loss on held-out texts: all heads, the chosen order, and a random order."""
    values = {"before": before, "after": after, "left": left, "chance": chance}
    if chance is None:
        return _("**{left}** heads in this order: loss **{after:.3f}** nats on held-out texts; all heads "
                 "{before:.3f}.", **values)
    return _("**{left}** heads in this order: loss **{after:.3f}** nats on held-out texts; in random order "
             "{chance:.3f}; all heads {before:.3f}.", **values)


def _saving(measured: dict[str, Any], left: int) -> str:
    """Returns a sentence with the saving at the nearest number of heads that was timed."""
    near, whole = min(measured["costs"], key=lambda row: abs(row["left"] - left)), measured["costs"][-1]
    if near is whole:
        return _("With all heads a pass over {tokens} tokens takes {n:.1f} million multiplications and {ms:.1f} "
                 "ms of one processor core.", tokens=measured["cost_tokens"], n=whole["multiplications"] / 1e6,
                 ms=1e3 * whole["seconds"])
    return _("With **{left}** heads, the others removed, a pass over {tokens} tokens takes **{part:.0%}** of the "
             "multiplications ({own:.0%} of those of the heads) and **{time:.0%}** of the time: {before:.1f} → "
             "{after:.1f} million, {old:.1f} → {new:.1f} ms of one processor core.",
             left=near["left"], tokens=measured["cost_tokens"], part=near["multiplications"] / whole["multiplications"],
             own=near["of_heads"] / max(1, whole["of_heads"]), time=near["seconds"] / whole["seconds"],
             before=whole["multiplications"] / 1e6, after=near["multiplications"] / 1e6,
             old=1e3 * whole["seconds"], new=1e3 * near["seconds"])


def _in_words(measured: dict[str, Any], typed: Curve, left: int) -> str:
    """Returns the values of the chart at the present number of heads, as a sentence."""
    parts = []
    for name, points in measured.get("curves", {}).items():
        parts += [_("loss by {order}: {loss:.3f} nats", order=_(ORDERS[name]), loss=point[1])
                  for point in points if point[0] == left]
    parts += [_("KL on this text {kl:.3f} nats", kl=typed[left][1])] if typed else []
    return _("{left} heads left: {values}", left=left, values="; ".join(parts))
