"""Pruning orders, and the loss by the number of remaining heads, on held-out texts and on the input text."""

import functools
import math
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any

import numpy
import torch
from numpy import ndarray

from app.compute import AnyTrace
from app.panels.measured import measures
from app.server import caches, limits, serving
from app.texts import N_
from models import Lab
from models.analysis import pruning_orders
from models.analysis.gated_predictions import Gating, Question
from models.analysis.pruning_orders import ALONE, CONFIDENCE, LEARNED, RANDOM, Order
from models.kind import Kind
from models.plan import Address
from studies import store

Curve = Sequence[Sequence[float | None]]  # rows [remaining heads, value] or [remaining heads, value, spread]
MULTIPLICATIONS, TIME = "multiplications", "seconds"  # curves of the cost of a pass
ALL = "all"  # the scope that contains the heads of all attention blocks
TEXT = "text"  # the pruning order by the loss on the input text when each head alone is pruned
ORDERS = {LEARNED: N_("Learned gates"), ALONE: N_("Single-head loss increase"), CONFIDENCE: N_("Confidence"),
          TEXT: N_("Single-head loss increase, on this text"), RANDOM: N_("Random order")}


class Orders(Mapping[str, Order]):
    """The pruning orders of a model, the preferred one first. Each is computed when it is first read."""

    def __init__(self, makers: Mapping[str, Callable[[], Order]]) -> None:
        self._makers = {name: functools.cache(make) for name, make in makers.items()}

    def __getitem__(self, name: str) -> Order:
        return self._makers[name]()

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


@dataclass(frozen=True, eq=False)
class Choice:
    """The pruning orders of a model, and the order that the page shows.

    Attributes:
        scope: attention block, or ALL.
        addresses: heads of the scope.
        orders: key of ORDERS -> heads in the order in which they are pruned. The preferred order is the first entry.
        name: key of the order that the page shows.
    """

    scope: str
    addresses: tuple[Address, ...]
    orders: Mapping[str, Order]
    name: str

    @property
    def order(self) -> Order:
        """The order that the page shows."""
        return self.orders[self.name]


def scopes_of(lab: Lab) -> list[str]:
    """Returns the scopes of a model: all heads and, for several attention blocks, each block."""
    return [ALL, *(kind.name for kind in lab.kinds)] if len(lab.kinds) > 1 else [ALL]


def choice(lab: Lab, name: str, scope: str, before: AnyTrace) -> Choice:
    """Returns the pruning orders of a model and a text; an unknown name chooses the first order, an unknown scope ALL.
    """
    scope = scope if scope in scopes_of(lab) else ALL
    kinds = [kind for kind in lab.kinds if scope in (ALL, kind.name)]
    addresses = tuple(address for kind in kinds for address in kind.addresses)
    orders: dict[str, Order] = {LEARNED: pruning_orders.learned((store.read(lab.name, "gates") or {}).get("series", []),
                                                       addresses)}
    for name, values in ((ALONE, _values(lab, "loss", kinds)), (CONFIDENCE, _values(lab, "confidence", kinds))):
        orders[name] = () if values is None else pruning_orders.by_values(addresses, values)
    orders[RANDOM] = pruning_orders.at_random(addresses)
    makers: dict[str, Callable[[], Order]] = {name: functools.partial(_given, order) for name, order in orders.items()
                                              if order}
    if has_curve_on_text(lab, before):
        makers[TEXT] = lambda: pruning_orders.by_values(addresses, _on_text(lab, before, kinds))
    known = Orders({name: makers[name] for name in ORDERS if name in makers})
    return Choice(scope, addresses, known, name if name in known else next(iter(known)))


def _given(order: Order) -> Order:
    return order


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
    values = measures.of_text(lab, before).values["loss"]
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


def curves(measured: dict[str, Any]) -> dict[str, Curve]:
    """Returns the curves on held-out texts."""
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
    """Returns rows [remaining heads, KL in nats from the baseline prediction] on the input text, for the shown order.

    Cached; empty if this takes too long or the model has no predictions.
    """
    if not has_curve_on_text(lab, before):
        return []
    key = _curve_key(lab, before, chosen)
    cached = caches.measured.find(key)
    if cached is None:
        cached = measures.Measured({"kl": _divergences(lab, before, chosen)})
        caches.measured.keep(key, cached)
    return [[left, value] for left, value in enumerate(cached.values["kl"].tolist())]


def _curve_key(lab: Lab, before: AnyTrace, chosen: Choice) -> Hashable:
    return "pruning", lab.identity, before.prompt, chosen.order


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
