"""What is known of a model under pruning: orders in which its heads go, and what each number of heads that are left
costs, on held-out texts and on the typed one."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy
import torch
from numpy import ndarray

from app.compute import Seen
from app.panels.measured import measures
from app.server import caches, limits, serving
from app.state.pages.pruning_view import ALL, BEST, ORDERS, TEXT, PruningView
from components.pruning_chart import MULTIPLICATIONS, TIME, Curve
from models import Lab
from models.analysis import pruning_orders
from models.analysis.gated_predictions import Gating, Question
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM, Order
from models.kind import Kind
from models.plan import Address
from models.studies import store


@dataclass(frozen=True, eq=False)
class Choice:
    """In which orders which heads of a model can go.

    Attributes:
        scope: ALL, or a kind's name.
        addresses: of the heads that may go.
        orders: name, of ORDERS -> order, the first to go first; the best known one first.
        name: of the order that is shown.
    """

    scope: str
    addresses: tuple[Address, ...]
    orders: dict[str, Order]
    name: str

    @property
    def order(self) -> Order:
        """The order that is shown."""
        return self.orders[self.name]


def scopes_of(lab: Lab) -> list[str]:
    """What can be pruned by itself: all heads; of several kinds each of them."""
    return [ALL, *(kind.name for kind in lab.kinds)] if len(lab.kinds) > 1 else [ALL]


def choice(lab: Lab, view: PruningView, before: Seen) -> Choice:
    """What can be chosen of a model and a text, and what is."""
    scope = view.scope if view.scope in scopes_of(lab) else ALL
    kinds = [kind for kind in lab.kinds if scope in (ALL, kind.name)]
    addresses = tuple(address for kind in kinds for address in kind.addresses)
    found: dict[str, Order] = {LEARNED: pruning_orders.learned((store.read(lab.name, "gates") or {}).get("series", []),
                                                       addresses)}
    for name, values in ((ALONE, _values(lab, "loss", kinds)), (CONFIDENCE, _values(lab, "confidence", kinds)),
                         (TEXT, _on_text(lab, before, kinds))):
        found[name] = () if values is None else pruning_orders.by_values(addresses, values)
    found[RANDOM] = pruning_orders.at_random(addresses)
    known = {name: found[name] for name in ORDERS if found[name]}
    wanted = view.order if view.order in known else BEST
    return Choice(scope, addresses, known, wanted or next(iter(known)))


def _values(lab: Lab, what: str, kinds: list[Kind]) -> ndarray | None:
    """(heads,) a measure over a corpus; None if it was not taken."""
    found = measures.over_a_corpus(lab).get("kinds", {})
    if not all(what in found.get(kind.name, {}) for kind in kinds):
        return None
    return numpy.concatenate([numpy.array(found[kind.name][what]).reshape(-1) for kind in kinds])


def _on_text(lab: Lab, before: Seen, kinds: list[Kind]) -> ndarray | None:
    """(heads,) the loss on the typed text when each is pruned alone; None where that takes too long."""
    values = measures.of_text(lab, before).values.get("loss")
    if values is None:
        return None
    of_kind = dict(zip((kind.name for kind in lab.kinds), numpy.split(values, numpy.cumsum(
        [kind.layers * kind.heads for kind in lab.kinds])[:-1]), strict=True))
    return numpy.concatenate([of_kind[kind.name] for kind in kinds])


def over_texts(lab: Lab, chosen: Choice) -> dict[str, Any]:
    """What models/studies/corpus/pruning.py measured of these heads, with what it was measured on; empty if nothing,
    or if they went in other orders, since what those rest on has been measured again."""
    found = store.read(lab.name, "pruning") or {}
    its = found.get("scopes", {}).get(chosen.scope)
    if its is None or any(order != pruning_orders.written(chosen.orders.get(name, ()))
                          for name, order in its.get("orders", {}).items()):
        return {}
    return {**found, **its}


def trained_on(lab: Lab, chosen: Choice) -> Curve:
    """[heads left, BLEU, its standard deviation where several seeds came to that many] of the models that
    models/training/prune_heads.py trained on with gates on these heads; where all are left, without."""
    kinds = {kind for kind, _, _ in chosen.addresses}
    found = store.read(lab.name, "gates") or {}
    scores: dict[int, list[float]] = {}
    for run in (*found.get("series", ()), *found.get("controls", ())):
        if set(run["kinds"]) == kinds:
            scores.setdefault(sum(run["heads_left"].values()), []).append(run["bleu"])
    return [[left, fmean(its), stdev(its) if len(its) > 1 else None] for left, its in sorted(scores.items())]


def curves(found: dict[str, Any]) -> dict[str, Curve]:
    """Name of a series of pruning_chart -> what was measured on held-out texts: losses by order; costs as shares of
    those of the whole model."""
    whole = found["costs"][-1]
    return found["curves"] | {
        MULTIPLICATIONS: [[its["left"], its["multiplications"] / whole["multiplications"]] for its in found["costs"]],
        TIME: [[its["left"], its["seconds"] / whole["seconds"]] for its in found["costs"]]}


def on_this_text(lab: Lab, before: Seen, chosen: Choice) -> Curve:
    """[heads left, KL in nats of the untouched prediction] as the typed text's heads go in the order shown; empty where
    that takes too long or nothing is predicted. Remembered."""
    if not before.outputs or not measures.is_quick(lab, before.prompt):
        return []
    key = ("pruning", lab.identity, before.prompt, chosen.order)
    found = caches.measured.find(key)
    if found is None:
        found = measures.Measured({"kl": _divergences(lab, before, chosen)})
        caches.measured.keep(key, found)
    return [[left, value] for left, value in enumerate(found.values["kl"].tolist())]


def _divergences(lab: Lab, before: Seen, chosen: Choice) -> ndarray:
    """(heads + 1,) KL with 0, 1, ... heads of the order left."""
    limits.spend(limits.PASSES, len(chosen.order) + 1)
    with serving.computing():
        gating = Gating.of(lab, before.prompt, Question.of(before))
        place = {address: i for i, address in enumerate(gating.heads)}
        goes = [place[address] for address in chosen.order]
        sets = torch.ones(len(goes) + 1, len(gating.heads))
        for left in range(len(goes) + 1):
            sets[left, goes[:len(goes) - left]] = 0
        return gating.in_parts(gating.divergence, sets).numpy().clip(0)

