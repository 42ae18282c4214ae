"""What visitors do on the pages Pruning and Heads, as changes of their History."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.state import session
from app.state.company import fit
from app.state.lab_state import TERMS
from app.state.pruning_view import ALL, ORDERS
from app.state.session import history, widget
from models.orders import Order, follows, left_of, pruned


def on_order(orders: Mapping[str, Order], shown: str) -> None:
    """Another order of heads: where the plan is one of the order shown, as many are left in the new one."""
    present, name = history().present, widget(session.ORDER, str, "")
    if name not in ORDERS or name not in orders:
        return
    old, plan = orders.get(shown, ()), present.plan
    if old and follows(plan, old):
        plan = fit(pruned(plan, orders[name], left_of(plan, old)), present.models)[0]
    history().do(replace(present, plan=plan, pruning=replace(present.pruning, order=name)), merge="viewing")


def on_term() -> None:
    """Another sense in which heads differ."""
    if widget(session.TERM, str) in TERMS:
        history().do(replace(history().present, term=widget(session.TERM, str)), merge="viewing")


def on_scope() -> None:
    """Other heads that may go."""
    present, scope = history().present, widget(session.SCOPE, str, "")
    if scope in (ALL, *present.shape):
        history().do(replace(present, pruning=replace(present.pruning, scope=scope)), merge="viewing")


def on_left(event: dict[str, Any], order: Order) -> None:
    """So many heads of an order are left, by the slider or a place in the chart."""
    left = event.get("x")
    if event.get("type") != "at" or not isinstance(left, int) or isinstance(left, bool) or not 0 <= left <= len(order):
        return
    past = history()
    plan = fit(pruned(past.present.plan, order, left), past.present.models)[0]
    past.do(replace(past.present, plan=plan), merge="pruning")  # a drag, or a run of keys
    if event.get("drag") is False:
        past.settle()
