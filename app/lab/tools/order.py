"""How many heads can go? Loss, BLEU, cost and KL by the number of remaining heads, for each pruning order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy
import torch
from numpy import ndarray

from app.compute import AnyTrace
from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels import measures
from app.server import caches, limits, serving
from app.texts import N_, _
from components.mounting import Content
from models import Lab
from models.analysis import pruning_orders
from models.analysis.gated_predictions import Gating, Question
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM, Order, left_of
from models.kind import Kind
from models.plan import Address
from studies import store

Curve = Sequence[Sequence[float | None]]  # rows [remaining heads, value] or [remaining heads, value, spread]
MULTIPLICATIONS, TIME = "multiplications", "seconds"  # curves of the cost of a pass
ALL = "all"  # the scope that contains the heads of all attention blocks
TEXT = "text"  # the pruning order by the loss on the input text when each head alone is pruned
ORDERS = {LEARNED: N_("Learned gates"), ALONE: N_("Single-head loss increase"), CONFIDENCE: N_("Confidence"),
          TEXT: N_("Single-head loss increase, on this text"), RANDOM: N_("Random order")}
LOSS, BLEU, COST, KL = "loss", "bleu", "cost", "kl"
QUANTITIES = {LOSS: N_("loss"), BLEU: N_("BLEU"), COST: N_("cost"), KL: N_("KL here")}
ABOUT = {LOSS: N_("loss on held-out texts, nats"), BLEU: N_("BLEU of test sentences"),
         COST: N_("cost of a pass / all heads'"), KL: N_("KL divergence on this text, nats")}
RISE = 1.1  # ratio of perplexities up to which the sentence counts heads
Curves = list[tuple[str, str, Curve]]


@dataclass(frozen=True, eq=False)
class Choice:
    """The pruning orders of a model, and the order that the page shows."""

    scope: str  # attention block, or ALL
    addresses: tuple[Address, ...]  # heads of the scope
    # key of ORDERS -> heads in the order in which they are pruned, the preferred order first. That of TEXT, which takes
    # a pass per head, is empty unless the page shows it.
    orders: Mapping[str, Order]
    name: str  # key of the order that the page shows

    @property
    def order(self) -> Order:
        return self.orders[self.name]


def scopes_of(lab: Lab) -> list[str]:
    """Returns the scopes of a model: all heads and, for several attention blocks, each block."""
    return [ALL, *(kind.name for kind in lab.kinds)] if len(lab.kinds) > 1 else [ALL]


def choice(lab: Lab, name: str, scope: str, before: AnyTrace) -> Choice:
    """Returns the pruning orders of a model and a text; unknown names choose the first order, unknown scopes ALL."""
    scope = scope if scope in scopes_of(lab) else ALL
    kinds = [kind for kind in lab.kinds if scope in (ALL, kind.name)]
    addresses = tuple(address for kind in kinds for address in kind.addresses)
    orders: dict[str, Order] = {LEARNED: pruning_orders.learned((store.read(lab.name, "gates") or {}).get("series", []),
                                                       addresses)}
    for measured, what in ((ALONE, "loss"), (CONFIDENCE, "confidence")):
        values = _values(lab, what, kinds)
        orders[measured] = () if values is None else pruning_orders.by_values(addresses, values)
    orders[RANDOM] = pruning_orders.at_random(addresses)
    known = [key for key in ORDERS if (has_curve_on_text(lab, before) if key == TEXT else orders[key])]
    name = name if name in known else known[0]
    orders[TEXT] = pruning_orders.by_values(addresses, _on_text(lab, before, kinds)) if name == TEXT else ()
    return Choice(scope, addresses, {key: orders[key] for key in known}, name)


def _values(lab: Lab, what: str, kinds: list[Kind]) -> ndarray | None:
    """Returns (heads,) of a measure over a corpus; None without a measurement."""
    by_kind = measures.over_a_corpus(lab).get("kinds", {})
    if not all(what in by_kind.get(kind.name, {}) for kind in kinds):
        return None
    return numpy.concatenate([numpy.array(by_kind[kind.name][what]).reshape(-1) for kind in kinds])


def has_curve_on_text(lab: Lab, before: AnyTrace) -> bool:
    """Returns True if each head can be pruned alone on the input text in about a second."""
    return bool(before.outputs) and measures.is_quick(lab, before.prompt)


def _on_text(lab: Lab, before: AnyTrace, kinds: list[Kind]) -> ndarray:
    """Returns (heads,), the loss on the input text when one head is pruned alone."""
    values = measures.of_text(lab, before)["loss"]
    of_kind = dict(zip((kind.name for kind in lab.kinds), numpy.split(values, numpy.cumsum(
        [kind.layers * kind.heads for kind in lab.kinds])[:-1]), strict=True))
    return numpy.concatenate([of_kind[kind.name] for kind in kinds])


def over_texts(lab: Lab, chosen: Choice) -> dict[str, Any]:
    """Returns the stored results of studies/corpus/pruning.py for these heads."""
    stored = store.read(lab.name, "pruning") or {}
    of_scope = stored.get("scopes", {}).get(chosen.scope)
    if of_scope is None or any(order != pruning_orders.written(chosen.orders.get(name, ()))
                               for name, order in of_scope.get("orders", {}).items()):
        return {}
    return {**stored, **of_scope}


def trained_on(lab: Lab, chosen: Choice) -> Curve:
    """Returns the BLEU scores of models that studies/prune_heads.py fine-tuned with gates on these heads."""
    kinds = {kind for kind, _, _ in chosen.addresses}
    stored = store.read(lab.name, "gates") or {}
    scores: dict[int, list[float]] = {}
    for run in (*stored.get("series", ()), *stored.get("controls", ())):
        if set(run["kinds"]) == kinds:
            scores.setdefault(sum(run["heads_left"].values()), []).append(run["bleu"])
    return [[left, fmean(values), stdev(values) if len(values) > 1 else None] for left,
            values in sorted(scores.items())]


def curves_over_texts(measured: dict[str, Any]) -> dict[str, Curve]:
    whole = measured["costs"][-1]
    return measured["curves"] | {
        MULTIPLICATIONS: [[cost["left"],
                           cost["multiplications"] / whole["multiplications"]] for cost in measured["costs"]],
        TIME: [[cost["left"], cost["seconds"] / whole["seconds"]] for cost in measured["costs"]]}


def prunable(measured: dict[str, Any], factor: float) -> dict[str, int]:
    """Returns how many heads each order prunes before the perplexity on held-out texts rises by a factor."""
    found = {}
    for order, points in measured["curves"].items():
        rows = sorted(([point[0], point[1]] for point in points), reverse=True)
        if not rows or rows[0][0] != max(cost["left"] for cost in measured["costs"]):
            continue  # an unfinished study has no loss with all heads
        most, bound = rows[0][0], rows[0][1] + math.log(factor)
        beyond = next((place for place, (_left, loss) in enumerate(rows) if loss > bound), len(rows))
        found[order] = most - rows[beyond - 1][0]
    return found


def on_this_text(lab: Lab, before: AnyTrace, chosen: Choice) -> Curve:
    """Returns rows [remaining heads, KL in nats] on the text in the shown order, cached; empty if it takes too long."""
    if not has_curve_on_text(lab, before):
        return []
    values: ndarray = caches.measured.get(("pruning", lab.identity, before.prompt, chosen.order),
                                          lambda: _divergences(lab, before, chosen))
    return [[left, value] for left, value in enumerate(values.tolist())]


def _divergences(lab: Lab, before: AnyTrace, chosen: Choice) -> ndarray:
    """Returns (heads + 1,), the KL divergence with 0, 1, ... remaining heads of the pruning order."""
    limits.spend(limits.PASSES, len(chosen.order) + 1)
    with serving.computing():
        gating = Gating.of(lab, before.prompt, Question.of(before))
        place = {address: i for i, address in enumerate(gating.heads)}
        goes = [place[address] for address in chosen.order]
        sets = torch.ones(len(goes) + 1, len(gating.heads))
        for left in range(len(goes) + 1):
            sets[left, goes[:len(goes) - left]] = 0
        return gating.in_parts(gating.divergence, sets).numpy().clip(0)


def content(view: View, tool: Tool) -> Content:
    """Returns the curves, and the shown order, whose heads the cursor prunes."""
    lab, before = view.lab, view.before
    chosen = choice(lab, tool.setting(view, "order"), view.state.lab.setting("order.scope", ALL), before)
    name = chosen.name
    measured = over_texts(lab, chosen)
    known = [LOSS, *([BLEU] if measured.get("bleu") else []), COST] if measured else []
    known += [KL] if has_curve_on_text(lab, before) else []
    if not known:
        raise ValueError(N_("Not measured for this model."))
    quantity = tool.setting(view, "quantity")
    quantity = quantity if quantity in known else next(iter(known))
    left, count = left_of(view.plan, chosen.order), len(chosen.order)
    choices = [parts.choice(_("Order"), {key: _(ORDERS[key]) for key in chosen.orders}, name, name="order", many=True)]
    if len(scopes := scopes_of(lab)) > 1:
        titles = {ALL: _("All"), **{kind.name: _(kind.title) for kind in lab.kinds}}
        choices.append(parts.choice(_("Attention block"), {key: titles[key] for key in scopes}, chosen.scope,
                                    name="scope", many=True))
    if len(known) > 1:
        choices.append(parts.choice(_("Chart"), {key: _(QUANTITIES[key]) for key in known}, quantity, name="quantity"))
    act = {"type": "prune", "heads": [list(address) for address in chosen.order], "left": 0}
    return parts.composed(
        parts.title(_("How many heads can go?"), _(ABOUT[quantity])), parts.row(*choices),
        parts.lines(_(ABOUT[quantity]), _curves(view, chosen, measured, quantity), _("heads left"), at=left, act=act,
                    field="left"),
        parts.note([_("Press the curve: that many heads stay, now {n} of {count}.", n=left, count=count), " ",
                      _finding(measured, name, count)]))


def _curves(view: View, chosen: Choice, measured: dict, quantity: str) -> Curves:
    if quantity == KL:
        return [(chosen.name, _(ORDERS[chosen.name]), on_this_text(view.lab, view.before, chosen))]
    if quantity == BLEU:
        curves: Curves = [("bleu", _(ORDERS[measured["main"]]), measured["bleu"]["points"]),
                          ("trained", _("trained on with learned gates"), trained_on(view.lab, chosen))]
        return [curve for curve in curves if curve[2]]
    of_all = curves_over_texts(measured)
    names = {MULTIPLICATIONS: _("multiplications"), TIME: _("time")} if quantity == COST else {
        key: _(ORDERS[key]) for key in measured["curves"]}
    return [(key, label, of_all[key]) for key, label in names.items()
            if of_all.get(key)]


def _finding(measured: dict, name: str, count: int) -> str:
    counts = prunable(measured, RISE) if measured else {}
    if name not in counts:
        return ""
    return _("{n} of {count} can be pruned before held-out perplexity rises by 10%.", n=counts[name],
             count=count)


TOOLS = [Tool("all.order", N_("How many heads can go?"), N_("pruning order"), content, tip="order",
              fits=lambda view: has_curve_on_text(view.lab, view.before) or bool(view.lab.card) and
              store.is_stored(view.lab.name, "pruning"),
              settings={"order": tuple(ORDERS), "quantity": tuple(QUANTITIES)})]
