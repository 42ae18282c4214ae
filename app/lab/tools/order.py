"""How many heads can go? Loss, BLEU, cost and KL by the number of remaining heads, for each pruning order."""

from app.content import parts
from app.content.tool import Tool
from app.lab.view import View
from app.panels.measured import pruning
from app.panels.measured.pruning import ALL, MULTIPLICATIONS, ORDERS, TIME, Choice, Curve
from app.texts import N_, _
from components.mounting import Content
from models.analysis.pruning_orders import left_of
from studies import store

LOSS, BLEU, COST, KL = "loss", "bleu", "cost", "kl"
QUANTITIES = {LOSS: N_("loss"), BLEU: N_("BLEU"), COST: N_("cost"), KL: N_("KL here")}
ABOUT = {LOSS: N_("loss on held-out texts, nats"), BLEU: N_("BLEU of test sentences"),
         COST: N_("cost of a pass / all heads'"), KL: N_("KL divergence on this text, nats")}
RISE = 1.1  # ratio of perplexities up to which the sentence counts heads
Curves = list[tuple[str, str, Curve]]


def content(view: View, tool: Tool) -> Content:
    """Returns the curves, and the shown order, whose heads the cursor prunes."""
    lab, before = view.lab, view.before
    chosen = pruning.choice(lab, tool.setting(view, "order"), view.state.lab.setting("order.scope", ALL), before)
    name = chosen.name
    measured = pruning.over_texts(lab, chosen)
    known = _known(view, chosen, measured)
    if not known:
        raise ValueError(N_("Not measured for this model."))
    quantity = tool.setting(view, "quantity")
    quantity = quantity if quantity in known else next(iter(known))
    left, count = left_of(view.plan, chosen.order), len(chosen.order)
    choices = [parts.choice(_("Order"), {key: _(ORDERS[key]) for key in chosen.orders}, name, name="order", many=True)]
    if len(scopes := pruning.scopes_of(lab)) > 1:
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


def _known(view: View, chosen: Choice, measured: dict) -> list[str]:
    known = [LOSS, *([BLEU] if measured.get("bleu") else []), COST] if measured else []
    return [*known, *([KL] if pruning.has_curve_on_text(view.lab, view.before) else [])]


def _curves(view: View, chosen: Choice, measured: dict, quantity: str) -> Curves:
    if quantity == KL:
        return [(chosen.name, _(ORDERS[chosen.name]), pruning.on_this_text(view.lab, view.before, chosen))]
    if quantity == BLEU:
        curves: Curves = [("bleu", _(ORDERS[measured["main"]]), measured["bleu"]["points"]),
                          ("trained", _("trained on with learned gates"), pruning.trained_on(view.lab, chosen))]
        return [curve for curve in curves if curve[2]]
    of_all = pruning.curves(measured)
    names = {MULTIPLICATIONS: _("multiplications"), TIME: _("time")} if quantity == COST else {
        key: _(ORDERS[key]) for key in measured["curves"]}
    return [(key, label, sorted(of_all[key], key=lambda point: point[0] or 0)) for key, label in names.items()
            if of_all.get(key)]


def _finding(measured: dict, name: str, count: int) -> str:
    counts = pruning.prunable(measured, RISE) if measured else {}
    if name not in counts:
        return ""
    return _("{n} of {count} can be pruned before held-out perplexity rises by 10%.", n=counts[name],
             count=count)


TOOLS = [Tool("all.order", N_("How many heads can go?"), N_("pruning order"), content, tip="order",
              fits=lambda view: pruning.has_curve_on_text(view.lab, view.before) or bool(view.lab.card) and
              store.is_stored(view.lab.name, "pruning"),
              settings={"order": tuple(ORDERS), "quantity": tuple(QUANTITIES)})]
