"""And in longer texts? Measured values by the length of the text, for each inference scale of this and other models."""

from app import compute
from app.content import parts
from app.content.tool import Tool
from app.content.tools.scale import POLICIES
from app.lab.view import View
from app.panels.choosing import model_label
from app.panels.measured.lengths import QUANTITIES, curves_of
from app.texts import N_, _, number
from components.mounting import Content
from studies import store


def content(view: View, tool: Tool) -> Content:
    """Returns the curves of one quantity, with this text as a point."""
    curves = [curve for name in (view.lab.name, *view.state.compared) for curve in curves_of(name)]
    known = [quantity for quantity in QUANTITIES
             if any(curve.value(n, quantity.key) is not None for curve in curves for n in curve.by_length)]
    if not known:
        raise ValueError(N_("Not measured for this model."))
    chosen = tool.setting(view, "quantity")
    quantity = next((each for each in known if each.key == chosen), known[0])
    lengths = sorted({n for curve in curves for n in curve.by_length})
    several = len({curve.model for curve in curves}) > 1
    lines = [(f"{curve.model} {curve.policy}", (f"{model_label(curve.model)}, " if several else "") +
              _(POLICIES[curve.policy]), [[n, value] for n in sorted(curve.by_length) if (value := curve.value(
                  n, quantity.key)) is not None]) for curve in curves]
    facts = compute.facts_of(view.lab, view.after.prompt, view.state.plan) if view.lab.card else {}
    here, count = facts.get(quantity.key), len(view.after.tokens)
    marks = [{"x": count, "y": here, "label": _("this text")}] if here is not None and count >= lengths[0] else []
    choice = [parts.choice(_("Chart"), {each.key: _(each.title) for each in known}, quantity.key, name="quantity",
                           many=True)] if len(known) > 1 else []
    return parts.composed(
        parts.title(_("And in longer texts?"), _("{unit}; trained on {n} tokens", unit=_(quantity.unit),
                                                 n=view.lab.trained_length), *choice),
        parts.lines(_(quantity.title), [line for line in lines if line[2]], _("tokens"), log=True,
                    xTicks=lengths[::-(-len(lengths) // 8)], at=view.lab.trained_length, marks=marks,
                    percent=quantity.percent),
        parts.note([_("Vertical line: length of the training texts."), *(
            [" ", _("This text: {value}.", value=number(here, ".3f"))] if here is not None else [])]))


TOOLS = [Tool("all.length", N_("And in longer texts?"), N_("length curves"), content,
              fits=lambda view: bool(view.lab.card) and store.is_stored(view.lab.name, "length"),
              settings={"quantity": tuple(quantity.key for quantity in QUANTITIES)})]
