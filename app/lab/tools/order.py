"""How many heads can go? The loss on held-out texts by the number of remaining heads, for each pruning order."""

from __future__ import annotations

from app.lab.tool import Tool
from app.lab.view import View
from app.panels.measured import pruning
from app.state.pages.pruning_view import ALL, ORDERS, PruningView
from app.texts import N_, _
from components.mounting import Content
from models.analysis.pruning_orders import left_of
from studies import store


def content(view: View, tool: Tool) -> Content:
    """Returns the measured curves, and the shown order, whose heads the cursor prunes."""
    chosen = pruning.choice(view.lab, PruningView(scope=ALL), view.before)
    measured = pruning.over_texts(view.lab, chosen)
    if not measured:
        raise ValueError(N_("The pruning orders were not measured for this model."))
    name = tool.setting(view, "order")
    name = name if name in measured["curves"] else next(iter(measured["curves"]))
    curves = {key: sorted([point[0], point[1]] for point in points) for key, points in measured["curves"].items()}
    order = chosen.orders[name]
    return {"order": name, "heads": [list(address) for address in order], "curves": [
        {"key": key, "label": _(ORDERS[key]), "points": points} for key, points in curves.items()],
        "left": left_of(view.plan, order)}, {}


TOOLS = [Tool("all.order", N_("How many heads can go?"), N_("pruning order"), content,
              fits=lambda view: bool(view.lab.card) and store.read_undamaged(view.lab.name, "pruning") is not None,
              settings={"order": tuple(ORDERS)})]
